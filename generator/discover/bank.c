/* bank.c -- values of graphs over the question's inputs, at one set of small sizes, and the bank:
   terms by the key of their values, each in its cheapest form. */
#include "generator/discover/answer_inner.h"
#include "generator/discover/weigh.h"
#include "generator/values.h"
#include "ops/base/random.h"
#include <string.h>

#define COST_NONE 1e9    /* seconds assumed where no estimate is possible, too many for an answer */
#define COST_LEAST 1e-12 /* seconds of what is free, since 0 stands for a cost not known yet */

/* ---- values */

int count_of(Search *s, TypeId t) {
    int64_t n = type_elements(s->w, type_get(s->w, t), s->small);
    return n > 0 && n <= SEARCH_ELEMENTS ? (int)n : -1;
}

Program *program_of_sig(Search *s, Sig sig, int port) {
    enum { PORTS = 4 };
    uint32_t at = PORTS * sig + (uint32_t)port;
    if (port >= PORTS) return NULL;
    ARENA_GROW(s->a, s->values.program, s->values.program_room, at + 1);
    static const Program none;
    if (!s->values.program[at]) {
        double work = sig_flops(s->w, sig, s->small);
        Program *p =
            work < 0 || work > SEARCH_WORK ? NULL : program_new(s->w, s->a, sig, port, s->small);
        s->values.program[at] = p ? p : (Program *)(uintptr_t)&none;
    }
    return s->values.program[at] == &none ? NULL : s->values.program[at];
}

/* Makes the values equal at all points. */
static void flatten(Lanes *x, int n) {
    for (int k = 0; k < n; k++)
        for (int l = 1; l < LANES; l++)
            x[k].p[l] = x[k].p[0], x[k].q[l] = x[k].q[0], x[k].order[l] = x[k].order[0];
}

static void make_positive(Lanes *x, int n) {
    for (int k = 0; k < n; k++)
        for (int l = 0; l < LANES; l++) {
            if (!(x[k].order[l] < 0)) continue;
            x[k].p[l] = (RESIDUE_P - x[k].p[l]) % RESIDUE_P;
            x[k].q[l] = (RESIDUE_Q - x[k].q[l]) % RESIDUE_Q;
            x[k].order[l] = -x[k].order[l];
        }
}

static const Lanes *input_at(Search *s, Value v, const char *name, int n) {
    Lanes *x = arena_alloc_raw(s->a, (size_t)n * sizeof *x);
    const DType type = value_type(s->w, v)->dtype;
    lanes_draw_type(x, n, random_at(s->o->seed, hash_bytes(name, strlen(name))), type, false,
                    LANES_REACH);
    if (value_is_constant(s, v) && type != DT_BOOL) {
        flatten(x, n);
        if (s->positive) make_positive(x, n);
    }
    return x;
}

static const Lanes *composite_at(Search *s, const Node *n, Value v) {
    Value *out = ARENA_NEW(s->a, Value, n->nout);
    Error ignored = {0};
    if (!node_expand(s->w, s->a, n->out, out, &ignored)) return NULL;
    return value_at(s, out[v - n->out]);
}

static const Lanes *node_at(Search *s, const Node *n, Value v, int count) {
    const Lanes *in[PROGRAM_INPUTS] = {0};
    if (n->nin > PROGRAM_INPUTS) return NULL;
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] && !(in[k] = value_at(s, n->in[k]))) return NULL;
    Program *p = program_of_sig(s, n->sig, value_port(s->w, v));
    if (!p) return NULL;
    s->stats->evaluated++;
    s->evaluations_left--;
    ArenaMark mark = arena_mark(s->w->scratch);
    Lanes *x = arena_alloc_raw(s->a, (size_t)count * sizeof *x);
    s->values.run.run(p, in, arena_alloc_raw(s->w->scratch, (size_t)p->ntemp * sizeof *x), x);
    arena_reset(s->w->scratch, mark);
    return lanes_known(x, count) ? x : NULL;
}

const Lanes *value_at(Search *s, Value v) {
    static const Lanes none;
    if (v < s->values.value_room && s->values.value[v])
        return s->values.value[v] == &none ? NULL : s->values.value[v];
    Node n = node_get(s->w, value_node(s->w, v));
    int count = count_of(s, value_type_id(s->w, v));
    const char *name = input_name(s->w, v);
    const Lanes *x = count < 0      ? NULL
                     : name         ? input_at(s, v, name, count)
                     : n.op->expand ? composite_at(s, &n, v)
                                    : node_at(s, &n, v, count);
    ARENA_GROW(s->a, s->values.value, s->values.value_room, v + 1);
    s->values.value[v] = x ? x : &none;
    return x;
}

uint64_t value_key(TypeId type, const Lanes *x, int n) {
    uint64_t h = random_at(type, (uint64_t)n);
    for (int k = 0; k < n; k++)
        for (int l = 0; l < LANES; l++) h = (h ^ x[k].p[l]) * 0x9e3779b97f4a7c15ull + (h >> 29);
    return random_at(h, 1);
}

uint32_t residue_inverse(uint64_t x) {
    uint64_t y = 1;
    for (uint64_t e = RESIDUE_P - 2; e; e >>= 1, x = x * x % RESIDUE_P)
        if (e & 1) y = y * x % RESIDUE_P;
    return (uint32_t)y;
}

uint32_t residue_missing(uint32_t wanted, uint32_t known, Joining by) {
    const uint64_t p = RESIDUE_P, u = wanted, v = known;
    switch (by) {
    case JOIN_ADD: return (uint32_t)((u + p - v) % p);
    case JOIN_SUB: return (uint32_t)((u + v) % p);
    case JOIN_SUB_FROM: return (uint32_t)((v + p - u) % p);
    default: return (uint32_t)(u * residue_inverse(v) % p);
    }
}

const Op *joining_op(Joining by) {
    return by == JOIN_ADD ? &op_add : by == JOIN_MUL ? &op_mul : &op_sub;
}

/* ---- cost */

bool value_is_constant(Search *s, Value v) {
    const char *name = input_name(s->w, v);
    if (name) return *name == 'k';
    Node n = node_get(s->w, value_node(s->w, v));
    for (int k = 0; k < n.nin; k++)
        if (n.in[k] && !value_is_constant(s, n.in[k])) return false;
    return true;
}

static double node_cost(Search *s, NodeId id) {
    ARENA_GROW(s->a, s->values.cost, s->values.cost_room, id + 1);
    if (s->values.cost[id] == 0) {
        double c =
            input_name(s->w, id) || value_is_constant(s, id) ? 0 : node_seconds(s->w, id, s->real);
        s->values.cost[id] = c < 0 ? COST_NONE : c + COST_LEAST;
    }
    return s->values.cost[id];
}

/* A set of nodes. A value that needs this many is not worth having as an answer. */
typedef struct NodeSet {
    int n;
    NodeId v[64];
} NodeSet;
enum { NODES_MOST = sizeof((NodeSet *)NULL)->v / sizeof(NodeId) };
static void node_set_add(NodeSet *set, NodeId id) {
    for (int k = 0; k < set->n; k++)
        if (set->v[k] == id) return;
    if (set->n < NODES_MOST) set->v[set->n++] = id;
}

double graph_cost(Search *s, int n, const Value v[]) {
    NodeSet met = {0};
    double total = 0;
    for (int k = 0; k < n; k++) node_set_add(&met, value_node(s->w, v[k]));
    for (int k = 0; k < met.n; k++) {
        const Node node = node_get(s->w, met.v[k]);
        total += node_cost(s, met.v[k]);
        for (int j = 0; j < node.nin; j++)
            if (node.in[j]) node_set_add(&met, value_node(s->w, node.in[j]));
    }
    return met.n == NODES_MOST ? COST_NONE : total;
}

/* ---- terms */

Value sig_node(Search *s, Sig sig, const Value in[]) {
    Attr attr[ATTRS_MAX];
    const SigInfo *i = sig_info(s->w, sig);
    const char *why;
    sig_attr(s->w, sig, attr);
    return node_make(s->w, i->op, attr, i->nin, in, i->nout, &why);
}

int term_find(const Search *s, bool constant, uint64_t key) {
    return (int)intern_find(s->bank.keys[constant], &key, sizeof key) - 1;
}

int term_put(Search *s, Value v, int depth, int size, bool *fresh) {
    bool constant = value_is_constant(s, v);
    double cost = constant ? 0 : graph_cost(s, 1, &v);
    *fresh = false;
    if (constant && s->bank.nconstant >= s->bank.constants_most) return -1;
    if (!constant && depth && cost >= s->price * s->o->cost_ratio_most) return -1;
    const TypeId type = value_type_id(s->w, v);
    if (count_of(s, type) > SEARCH_ELEMENTS_OF_TERM) return -1;
    const Lanes *x = value_at(s, v);
    if (!x) return -1;
    uint64_t key = value_key(type, x, count_of(s, type));
    int old = term_find(s, constant, key);
    if (old >= 0) {
        BankTerm *t = constant ? &s->bank.constant[old] : &s->bank.term[old];
        if (constant || t->v == v || cost >= graph_cost(s, 1, &t->v) * (1 - 1e-9)) return old;
        t->v = v;
        t->cost = cost;
        return old;
    }
    *fresh = true;
    intern_put(s->bank.keys[constant], &key, sizeof key);
    if (intern_find(s->bank.marks, &key, sizeof key)) depth = 0;
    BankTerm t = {v, key, cost, depth, size, constant};
    if (constant) {
        s->bank.constant[s->bank.nconstant] = t;
        return s->bank.nconstant++;
    }
    ARENA_GROW(s->a, s->bank.term, s->bank.term_room, s->bank.nterm + 1);
    s->bank.term[s->bank.nterm] = t;
    return s->bank.nterm++;
}
