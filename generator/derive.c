/* derive.c -- given rules as terms of the set. Inputs try the kinds of their rank; what the kinds leave open in
   attributes tries small numbers and the set's sizes. A rule follows when each of its results does, at the first types
   at which it is made of the set's operators. */
#include "generator/derive.h"
#include "graphs/rewrite.h"
#include <string.h>

enum { OPEN_MAX = 12, TRIES_MAX = 4000, LIMIT = 256 };
typedef struct Derive {
    Space *s;
    Basis *basis;
    Arena *arena;
    const Instance *i;
    int kind[TERM_VARS], nbound, nopen, tries;
    Symbol from[128];
    Poly to[128];
    Symbol open[OPEN_MAX];
    Term like, left[TERM_PORTS], right[TERM_PORTS];
} Derive;

/* ---- graphs as terms */

static int op_of(Derive *d, const Node *node, const ShapeId arg[], Typing **t) {
    for (int op = 0; op < d->s->nop; op++) {
        if (d->s->op[op].op != node->op || d->s->form[op].nout != node->nout) continue;
        *t = space_type(d->s, op, arg);
        if (*t && (*t)->sig == node->sig) return op;
    }
    return -1;
}

static bool side_terms(Derive *d, const Graph *g, Term out[]) {
    World *w = d->s->w;
    NodeList live = graph_live(w, d->arena, g);
    TermBuild b = {.most = TERM_OPS};
    uint32_t n = node_count(w) + 64;
    Ref *ref = ARENA_NEW(d->arena, Ref, n);
    ShapeId *shape = ARENA_NEW(d->arena, ShapeId, n);
    for (int k = 0; k < g->nin; k++) {
        ref[g->in[k]] = (Ref)k;
        shape[g->in[k]] = d->s->kind[d->kind[k]].shape;
    }
    for (int k = 0; k < live.n; k++) {
        Node node = node_get(w, live.v[k]);
        Instr in = {0};
        ShapeId arg[TERM_ARGS] = {0};
        Typing *t = NULL;
        int at;
        if (input_name(w, node.out)) continue;
        for (int j = 0; j < node.nin && node.in[j]; j++) {
            if (j == TERM_ARGS) return false;
            in.arg[j] = ref[node.in[j]];
            arg[j] = shape[node.in[j]];
        }
        int op = op_of(d, &node, arg, &t);
        if (op < 0) return false;
        in.op = (uint8_t)op;
        if (!build_add(d->s->form, &b, &in, &at)) return false;
        for (int p = 0; p < node.nout; p++) {
            ref[node.out + (Value)p] = ref_out(at, p);
            shape[node.out + (Value)p] = t->out[p];
        }
    }
    for (int k = 0; k < g->nout; k++)
        if (!build_finish(d->s->form, &b, ref[g->out[k]], &d->like, &out[k])) return false;
    return true;
}

/* ---- types */

static bool resized(Derive *d, const Graph *g, Graph *out) {
    Error e = {0};
    if (!graph_resize(d->s->w, d->arena, g, d->nbound, d->from, d->to, out, &e)) return false;
    for (int k = 0; k < out->nin; k++)
        if (value_type_id(d->s->w, out->in[k]) != space_shape(d->s, d->s->kind[d->kind[k]].shape)->type) return false;
    return true;
}

static bool fits(Derive *d) {
    Graph from, to;
    ArenaMark mark = arena_mark(d->arena);
    d->s->w->overflow = false;
    bool ok = resized(d, &d->i->from, &from) && resized(d, &d->i->to, &to) && side_terms(d, &from, d->left) && side_terms(d, &to, d->right);
    arena_reset(d->arena, mark);
    return ok;
}

/* Of a free list (S_1, S_2, ..), not a size. */
static bool is_entry(const Derive *d, Symbol s) {
    char c = world_text(d->s->w, symbol_def(d->s->w, s).word)[0];
    return c >= 'A' && c <= 'Z';
}

static bool each_choice(Derive *d, int k) {
    if (k == d->nopen) return d->tries++ < TRIES_MAX && fits(d);
    d->from[d->nbound] = d->open[k];
    d->nbound++;
    int most = is_entry(d, d->open[k]) ? 2 : 2 + 2 * d->s->nsize;
    for (int v = 0; v < most && d->tries < TRIES_MAX; v++) {
        Poly p = v < 2 ? poly_int(d->s->w, 1 - v) : poly_scale(d->s->w, poly_symbol(d->s->w, d->s->size[(v - 2) / 2]), 1 + v % 2);
        d->to[d->nbound - 1] = p;
        if (each_choice(d, k + 1)) return true;
    }
    d->nbound--;
    return false;
}

/* Sizes that are names take those of the kind. */
static bool bind_type(Derive *d, const Type *rule, const Type *kind) {
    if (rule->dim.n != kind->dim.n || rule->dtype != kind->dtype) return false;
    for (int k = 0; k < rule->dim.n; k++) {
        Symbol s = poly_is_symbol(d->s->w, rule->dim.v[k]);
        int j = 0;
        if (!s) continue;
        while (j < d->nbound && d->from[j] != s) j++;
        if (j < d->nbound && d->to[j] != kind->dim.v[k]) return false;
        d->from[j] = s;
        d->to[j] = kind->dim.v[k];
        d->nbound += j == d->nbound;
    }
    return true;
}

static bool each_kind(Derive *d, int input) {
    if (input == d->i->ninput) {
        d->nopen = 0;
        for (int k = 0; k < d->i->nsymbol; k++) {
            int j = 0;
            while (j < d->nbound && d->from[j] != d->i->symbol[k]) j++;
            if (j == d->nbound && d->nopen == OPEN_MAX) return false;
            if (j == d->nbound) d->open[d->nopen++] = d->i->symbol[k];
        }
        return each_choice(d, 0);
    }
    int bound = d->nbound;
    for (int k = 0; k < d->s->nkind; k++, d->nbound = bound) {
        const Type *t = type_get(d->s->w, space_shape(d->s, d->s->kind[k].shape)->type);
        d->kind[input] = k;
        d->like.kind[input] = (uint8_t)k;
        if (bind_type(d, value_type(d->s->w, d->i->input[input]), t) && each_kind(d, input + 1)) return true;
    }
    return false;
}

/* Symbols of the rule that are named like the set's sizes must not be taken for them. */
static bool instance(Derive *d, const Rule *rule, const int length[], Instance *i) {
    Error e = {0};
    return rule_instance_apart(d->s->w, d->arena, rule, length, i, &e) && i->ninput <= TERM_VARS && i->from.nout <= TERM_PORTS;
}

static int steps_between(Derive *d, const Term *a, const Term *b) {
    int most = a->n > b->n ? a->n : b->n;
    most = most < TERM_OPS ? most + 1 : TERM_OPS;
    int forward = basis_derive(d->basis, a, b, LIMIT, most);
    return forward >= 0 ? forward : basis_derive(d->basis, b, a, LIMIT, most);
}

Derived derive_rule(Space *s, Basis *basis, Arena *arena, const Rule *rule, int *steps) {
    int length[RULE_BLOCKS];
    rule_lengths_first(rule, length);
    do {
        Instance i;
        Derive d = {.s = s, .basis = basis, .arena = arena, .i = &i};
        if (!instance(&d, rule, length, &i)) continue;
        d.like.nvar = (uint8_t)i.ninput;
        if (!each_kind(&d, 0)) continue;
        *steps = 0;
        for (int k = 0; k < i.from.nout; k++) {
            int n = steps_between(&d, &d.left[k], &d.right[k]);
            if (n < 0) return DERIVED_NO;
            *steps += n;
        }
        return DERIVED_YES;
    } while (rule_lengths_next(rule, length));
    return DERIVED_OUTSIDE;
}
