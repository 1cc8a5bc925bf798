/* bank.c -- values of graphs over the question's inputs, at one set of small sizes; terms by the
   key of their values, each in its cheapest spelling. */
#include "generator/discover/answer_inner.h"
#include "generator/discover/weigh.h"
#include "generator/values.h"
#include "graphs/graph_text.h"
#include "graphs/needs.h"
#include "ops/base/random.h"
#include <stdio.h>
#include <string.h>

#define WORK_MOST 20000.0
enum { SIZE_TRIES = 3000, SIZE_LEAST = 12, TOTAL_MOST = 1600 };

/* ---- values */

int count_of(Search *s, TypeId t) {
    int64_t n = type_elements(s->w, type_get(s->w, t), s->small);
    return n > 0 && n <= SEARCH_ELEMENTS ? (int)n : -1;
}

Program *program_of_sig(Search *s, Sig sig, int port) {
    uint32_t at = 4 * sig + (uint32_t)port;
    if (port > 3) return NULL;
    ARENA_GROW(s->a, s->program, s->program_room, at + 1);
    static const Program none;
    if (!s->program[at]) {
        double work = sig_flops(s->w, sig, s->small);
        Program *p =
            work < 0 || work > WORK_MOST ? NULL : program_new(s->w, s->a, sig, port, s->small);
        s->program[at] = p ? p : (Program *)(uintptr_t)&none;
    }
    return s->program[at] == &none ? NULL : s->program[at];
}

/* The same at all points. */
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
    lanes_draw(x, n, random_at(s->o->seed, hash_bytes(name, strlen(name))));
    if (value_is_constant(s, v)) {
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
    s->left--;
    ArenaMark mark = arena_mark(s->w->scratch);
    Lanes *x = arena_alloc_raw(s->a, (size_t)count * sizeof *x);
    s->run.run(p, in, arena_alloc_raw(s->w->scratch, (size_t)p->ntemp * sizeof *x), x);
    arena_reset(s->w->scratch, mark);
    return lanes_known(x, count) ? x : NULL;
}

const Lanes *value_at(Search *s, Value v) {
    static const Lanes none;
    if (v < s->value_room && s->value[v]) return s->value[v] == &none ? NULL : s->value[v];
    Node n = node_get(s->w, value_node(s->w, v));
    int count = count_of(s, value_type_id(s->w, v));
    const char *name = input_name(s->w, v);
    const Lanes *x = count < 0      ? NULL
                     : name         ? input_at(s, v, name, count)
                     : n.op->expand ? composite_at(s, &n, v)
                                    : node_at(s, &n, v, count);
    ARENA_GROW(s->a, s->value, s->value_room, v + 1);
    s->value[v] = x ? x : &none;
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
    ARENA_GROW(s->a, s->cost, s->cost_room, id + 1);
    if (s->cost[id] == 0) {
        double c =
            input_name(s->w, id) || value_is_constant(s, id) ? 0 : node_seconds(s->w, id, s->real);
        s->cost[id] = c < 0 ? 1e9 : c + 1e-12;
    }
    return s->cost[id];
}

double graph_cost(Search *s, int n, const Value v[]) {
    enum { MOST = 64 };
    NodeId met[MOST];
    int nmet = 0;
    double total = 0;
    for (int k = 0; k < n; k++) {
        NodeId id = value_node(s->w, v[k]);
        bool old = false;
        for (int j = 0; j < nmet; j++) old |= met[j] == id;
        if (!old && nmet < MOST) met[nmet++] = id;
    }
    for (int k = 0; k < nmet; k++) {
        Node node = node_get(s->w, met[k]);
        total += node_cost(s, met[k]);
        for (int j = 0; j < node.nin; j++) {
            NodeId id = node.in[j] ? value_node(s->w, node.in[j]) : 0;
            bool old = !id;
            for (int i = 0; i < nmet; i++) old |= met[i] == id;
            if (!old && nmet < MOST) met[nmet++] = id;
        }
    }
    return nmet == MOST ? 1e9 : total;
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
    return (int)intern_find(s->keys[constant], &key, sizeof key) - 1;
}

int term_put(Search *s, Value v, int depth, int size, bool *fresh) {
    bool constant = value_is_constant(s, v);
    double cost = constant ? 0 : graph_cost(s, 1, &v);
    *fresh = false;
    if (constant && s->nconstant >= s->constants_most) return -1;
    if (!constant && depth && cost >= s->price * s->o->worse) return -1;
    const Lanes *x = value_at(s, v);
    if (!x) return -1;
    TypeId type = value_type_id(s->w, v);
    uint64_t key = value_key(type, x, count_of(s, type));
    int old = term_find(s, constant, key);
    if (old >= 0) {
        Found *t = constant ? &s->constant[old] : &s->term[old];
        if (constant || t->v == v || cost >= graph_cost(s, 1, &t->v) * (1 - 1e-9)) return old;
        t->v = v;
        t->cost = cost;
        return old;
    }
    *fresh = true;
    intern_put(s->keys[constant], &key, sizeof key);
    if (intern_find(s->marks, &key, sizeof key)) depth = 0;
    Found t = {v, key, cost, depth, size, constant};
    if (constant) {
        s->constant[s->nconstant] = t;
        return s->nconstant++;
    }
    ARENA_GROW(s->a, s->term, s->term_room, s->nterm + 1);
    s->term[s->nterm] = t;
    return s->nterm++;
}

/* ---- opening */

static bool needs_hold(Search *s, LitList needs, Sizes sizes) {
    int64_t v;
    for (int k = 0; k < needs.n; k++)
        if (!poly_eval(s->w, needs.v[k].p, sizes, &v) || (needs.v[k].eq ? v != 0 : v < 0))
            return false;
    return true;
}

/* Every value has elements, all together not too many, and none takes too much work. */
static bool sizes_fit(Search *s, int64_t *total) {
    *total = 0;
    for (int k = 0; k < s->live.n; k++) {
        Node n = node_get(s->w, s->live.v[k]);
        if (n.op->define && sig_flops(s->w, n.sig, s->small) > WORK_MOST) return false;
        for (Value v = n.out; v < n.out + (Value)n.nout; v++) {
            int count = count_of(s, value_type_id(s->w, v));
            if (count < 0) return false;
            *total += count;
        }
    }
    return *total <= TOTAL_MOST;
}

/* How much more constants there are than makes unknowns like them easy to solve for. */
static int64_t surplus(Search *s) {
    enum { EASY = 40 };
    int64_t n = 0;
    for (int k = 0; k < s->g.nin; k++)
        if (value_is_constant(s, s->g.in[k])) n += count_of(s, value_type_id(s->w, s->g.in[k]));
    return n > EASY ? (n - EASY) / 4 : 0;
}

/* How much more work the question's own nodes are than leaves room for answers that do more. */
static int64_t labour(Search *s) {
    const double easy = WORK_MOST / 8, each = WORK_MOST / 40;
    double work = 0;
    for (int k = 0; k < s->live.n; k++) {
        const Node n = node_get(s->w, s->live.v[k]);
        const double own = n.op->define ? sig_flops(s->w, n.sig, s->small) : 0;
        work += own > 0 ? own : 0;
    }
    return work > easy ? (int64_t)((work - easy) / each) : 0;
}

/* Axes of data that are of one place now and of several where the question was asked. */
static int64_t degenerate(Search *s) {
    enum { EACH = 6 };
    int64_t n = 0, now, then;
    for (int k = 0; k < s->g.nin; k++) {
        const Type *t = value_type(s->w, s->g.in[k]);
        for (int d = 0; d < t->dim.n && !value_is_constant(s, s->g.in[k]); d++)
            n += poly_eval(s->w, t->dim.v[d], s->small, &now) && now == 1 &&
                 poly_eval(s->w, t->dim.v[d], s->real, &then) && then > 1;
    }
    return EACH * n;
}

/* Small sizes in the order of the real ones while that can be, as unlike each other as can be; the
   values of the first input have some elements more than one. */
static bool draw_sizes(Search *s, int n, const Symbol symbol[], const int64_t real[],
                       LitList needs) {
    int64_t *v = (int64_t *)(uintptr_t)s->small.value, best[LIFT_SYMBOLS], score = INT64_MIN;
    for (int try = 0; try < SIZE_TRIES && !(score > INT64_MIN && try > SIZE_TRIES / 6); try++) {
        int64_t total, unlike = 0;
        for (int k = 0; k < n; k++) {
            uint64_t r = random_at(s->o->seed + 77, (uint64_t)try * LIFT_SYMBOLS + (uint64_t)k);
            int64_t most = try % 4 == 3 ? 7 : try % 4 == 2 ? 3 : 5;
            v[symbol[k]] = real[k] <= 0              ? real[k]
                           : real[k] == 1 && try % 2 ? 1
                                                     : 1 + (int64_t)(r >> 8) % most;
        }
        if (!needs_hold(s, needs, s->small) || !sizes_fit(s, &total)) continue;
        for (int k = 0; k < n; k++) {
            unlike += v[symbol[k]] > 1 ? 3 : 0;
            for (int j = 0; j < k; j++) {
                unlike += v[symbol[k]] != v[symbol[j]];
                unlike += (v[symbol[k]] < v[symbol[j]]) == (real[k] < real[j]);
            }
        }
        if (total < SIZE_LEAST) unlike = 0;
        unlike -= surplus(s) + degenerate(s) + labour(s);
        if (unlike <= score) continue;
        score = unlike;
        for (int k = 0; k < n; k++) best[k] = v[symbol[k]];
    }
    for (int k = 0; k < n && score > INT64_MIN; k++) v[symbol[k]] = best[k];
    return score > INT64_MIN;
}

/* "a=1 b=64" */
static int parse_at(Search *s, Symbol symbol[], int64_t real[]) {
    int n = 0, used = 0;
    char name[64];
    long long v;
    for (const char *at = s->q->at;
         n < LIFT_SYMBOLS && sscanf(at, " %63[^= ]=%lld%n", name, &v, &used) == 2; at += used) {
        symbol[n] = symbol_named(s->w, name);
        real[n++] = v;
    }
    return n;
}

static Sizes no_sizes(Search *s) {
    enum { ROOM = 1 << 16 };
    int64_t *v = ARENA_NEW(s->a, int64_t, ROOM);
    for (int k = 0; k < ROOM; k++) v[k] = SIZE_UNKNOWN;
    return (Sizes){ROOM, v};
}

static void put_type(Search *s, TypeId t) {
    for (int k = 0; k < s->ntype; k++)
        if (s->type[k] == t) return;
    if (s->ntype < SEARCH_TYPES) s->type[s->ntype++] = t;
}

/* Sizes of 1 around a constant of few axes, as a broadcast wants them. */
static void put_padded_types(Search *s) {
    int most = 0;
    for (int k = 0; k < s->ntype; k++) {
        int rank = type_get(s->w, s->type[k])->dim.n;
        most = rank > most ? rank : most;
    }
    for (int k = 0; k < s->g.nin; k++) {
        Type x = *value_type(s->w, s->g.in[k]), t = x;
        t.dim.n = 0;
        for (int d = 0; d < x.dim.n; d++)
            if (!poly_is(s->w, x.dim.v[d], 1)) t.dim.v[t.dim.n++] = x.dim.v[d];
        if (!value_is_constant(s, s->g.in[k]) || t.dim.n != 1) continue;
        put_type(s, type_intern(s->w, &t));
        while (t.dim.n < most) {
            t.dim.v[t.dim.n++] = poly_int(s->w, 1);
            put_type(s, type_intern(s->w, &t));
        }
    }
}

/* How many elements of the results are known at all points; -1: one result is known at none. */
static int known_elements(Search *s) {
    int n = 0;
    for (int k = 0; k < s->g.nout; k++) {
        const Lanes *x = value_at(s, s->g.out[k]);
        if (!x) return -1;
        for (int e = 0; e < count_of(s, value_type_id(s->w, s->g.out[k])); e++) {
            bool known = true;
            for (int l = 0; l < LANES; l++) known &= x[e].p[l] != RESIDUE_NONE;
            n += known;
        }
    }
    return n;
}

static int drawn_again(Search *s, bool positive) {
    s->positive = positive;
    s->value_room = 0;
    return known_elements(s);
}

bool search_open(Search *s, Error *e) {
    Symbol symbol[LIFT_SYMBOLS];
    int64_t real[LIFT_SYMBOLS];
    Names names = {.arena = s->a};
    Scan scan = scan_new(s->q->id, s->q->graph, strlen(s->q->graph), e);
    const char *name;
    if (!graph_parse(s->w, s->a, &scan, &name, &s->g, &names, e)) return false;
    s->live = graph_live(s->w, s->a, &s->g);
    s->real = no_sizes(s);
    s->small = no_sizes(s);
    int n = parse_at(s, symbol, real);
    for (int k = 0; k < n; k++) ((int64_t *)(uintptr_t)s->real.value)[symbol[k]] = real[k];
    LitList needs = graph_needs(s->w, s->a, &s->g);
    s->facts = graph_facts(s->w, s->a, &s->g);
    if (!needs_hold(s, needs, s->real))
        return error_set(e, E_INVALID, s->q->id,
                         "its sizes ('at') are incomplete, or no sizes of its graph");
    if (!draw_sizes(s, n, symbol, real, needs)) return false;
    s->price = graph_cost(s, s->g.nout, s->g.out);
    s->best = s->price * s->o->worse;
    int any = drawn_again(s, false), positive = drawn_again(s, true);
    if (positive <= any && drawn_again(s, false) < 0) return false;
    for (int k = 0; k < s->live.n; k++) {
        Node node = node_get(s->w, s->live.v[k]);
        for (Value v = node.out; v < node.out + (Value)node.nout; v++) {
            bool fresh, output = false;
            put_type(s, value_type_id(s->w, v));
            for (int j = 0; j < s->g.nout; j++) output |= s->g.out[j] == v;
            if (!output) term_put(s, v, 0, 0, &fresh);
        }
    }
    put_padded_types(s);
    for (int k = 0; k < s->live.n; k++) {
        int rank = value_type(s->w, s->live.v[k])->dim.n;
        if (value_is_constant(s, s->live.v[k]) && rank > s->rank) s->rank = rank;
    }
    return true;
}
