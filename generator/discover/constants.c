/* constants.c -- terms over the question's constants, which cost nothing: views of constants,
   operators of the question applied to them, and operators on two constants that are linear in one
   of them or in both together. */
#include "generator/discover/answer_inner.h"
#include "graphs/resize.h"
#include "graphs/rewrite.h"
#include <string.h>

enum { EVALUATIONS = 1500 };

static void put(Search *s, Sig sig, const Value in[], int size) {
    bool fresh;
    Value v = sig_node(s, sig, in);
    if (v) term_put(s, v, 0, size, &fresh);
}

static void grow_one(Search *s, BankTerm t) {
    TypeId type = value_type_id(s->w, t.v);
    const FittingOps *m = fitting_ops(s, 1, &type);
    for (int k = 0; k < m->npreferred; k++) put(s, m->v[k], &t.v, t.size + 1);
}

static void grow_two(Search *s, BankTerm a, BankTerm b) {
    const Value in[2] = {a.v, b.v};
    const TypeId type[2] = {value_type_id(s->w, a.v), value_type_id(s->w, b.v)};
    const FittingOps *m = fitting_ops(s, 2, type);
    for (int k = 0; k < m->n; k++) {
        Sig sig = m->v[k];
        if (op_in_question(s, sig_info(s->w, sig)->op) || sig_linear(s, sig, 0) ||
            sig_linear(s, sig, 1) || sig_linear(s, sig, LINEAR_ALL))
            put(s, m->v[k], in, a.size + b.size + 1);
    }
}

/* Applies any operator that is linear in each of two inputs to two constants of the question:
   products of matrices, and of kernels. */
static void put_products(Search *s, int given) {
    for (int k = 0; k < given; k++)
        for (int j = 0; j < given; j++) {
            const Value in[2] = {s->bank.constant[k].v, s->bank.constant[j].v};
            const TypeId type[2] = {value_type_id(s->w, in[0]), value_type_id(s->w, in[1])};
            if (k == j || !input_name(s->w, in[0]) || !input_name(s->w, in[1])) continue;
            const FittingOps *m = fitting_ops_of_all(s, 2, type);
            for (int i = 0; i < m->n; i++)
                if (sig_linear(s, m->v[i], 0) && sig_linear(s, m->v[i], 1)) put(s, m->v[i], in, 1);
        }
}

/* Enters the numbers in the question's attributes, and 0 and 1. */
static void put_numbers(Search *s) {
    Attr attr[ATTRS_MAX];
    const char *why;
    bool fresh;
    for (int k = -2; k < s->live.n; k++) {
        const AttrDef *fill = op_fill.attrs;
        Node n = k < 0 ? (Node){.op = &op_fill} : node_get(s->w, s->live.v[k]);
        if (k >= 0) sig_attr(s->w, n.sig, attr);
        for (int j = 0; j < attrs_count(n.op->attrs); j++) {
            if (n.op->attrs[j].kind != A_REAL) continue;
            Attr number[ATTRS_MAX] = {0};
            number[attrs_find(fill, "value")].real =
                k < 0 ? ex_rational(s->w, k + 2, 1) : attr[j].real;
            number[attrs_find(fill, "dtype")].enum_value = DT_FLOAT;
            Value v = node_make(s->w, &op_fill, number, 0, NULL, 1, &why);
            if (v) term_put(s, v, 0, 0, &fresh);
        }
    }
}

/* ---- the question's nodes applied to numbers: a part that is affine in the data has its shift at
   0, and its scale is its value at 1 less that */

static Value number_of_type(Search *s, const Type *t, int64_t number) {
    const AttrDef *defs = op_fill.attrs;
    Attr attr[ATTRS_MAX] = {0};
    const char *why;
    attr[attrs_find(defs, "value")].real = ex_rational(s->w, number, 1);
    attr[attrs_find(defs, "shape")].ints = (PolyList){t->dim.n, t->dim.v};
    attr[attrs_find(defs, "dtype")].enum_value = (int)t->dtype;
    return node_make(s->w, &op_fill, attr, 0, NULL, 1, &why);
}

/* Whether the question has one result, which is 0 if the data is 0. */
static bool is_proportional(Search *s, Value x, const Type *t) {
    const Value zero = number_of_type(s, t, 0);
    Error ignored = {0};
    Graph y;
    if (s->g.nout != 1 || !zero ||
        !graph_substitute(s->w, s->a, &s->g, &(Substitution){1, &x, &zero}, &y, NULL, &ignored))
        return false;
    const Lanes *v = value_at(s, y.out[0]);
    for (int k = 0; v && k < count_of(s, value_type_id(s->w, y.out[0])); k++)
        for (int l = 0; l < LANES; l++)
            if (v[k].p[l]) return false;
    return v != NULL;
}

/* Enters the nodes of g with x replaced by a tensor of one number, as far as they type. */
static void put_probe(Search *s, const Graph *g, Value x, const Type *t, int64_t number) {
    ValueMap map = value_map_new(s->w, s->a);
    NodeList live = graph_live(s->w, s->a, g);
    Error ignored = {0};
    bool fresh;
    map.to[x] = number_of_type(s, t, number);
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(s->w, live.v[k]);
        bool moved = false;
        for (int j = 0; j < n.nin; j++) moved |= n.in[j] && map_value(&map, n.in[j]) != n.in[j];
        if (!moved) continue;
        Value v = node_mapped(s->w, s->a, live.v[k], &map, &ignored);
        ignored.kind = E_NONE;
        if (!v || !sig_fits(s, node_get(s->w, value_node(s->w, v)).sig)) return;
        for (int port = 0; port < n.nout; port++) {
            map.to[n.out + (Value)port] = v + (Value)port;
            if (value_is_constant(s, v)) term_put(s, v + (Value)port, 0, 1, &fresh);
        }
    }
}

/* The question with the axes of x other than `axis` at size 1, as far as no constant has these
   sizes. */
static bool resized(Search *s, Value x, int axis, Graph *g) {
    const Type *t = value_type(s->w, x);
    Symbol from[RANK_MAX];
    Poly to[RANK_MAX];
    int n = 0;
    Error ignored = {0};
    for (int d = 0; d < t->dim.n; d++) {
        Symbol symbol = poly_is_symbol(s->w, t->dim.v[d]);
        bool free = d != axis && symbol && t->dim.v[d] != t->dim.v[axis];
        for (int k = 0; k < s->g.nin && free; k++) {
            const Type *c = value_type(s->w, s->g.in[k]);
            for (int j = 0; j < c->dim.n && s->g.in[k] != x; j++)
                free &= !poly_mentions(s->w, c->dim.v[j], symbol);
        }
        if (!free) continue;
        from[n] = symbol;
        to[n++] = poly_int(s->w, 1);
    }
    return graph_resize(s->w, s->a, &s->g, (NewSizes){n, from, to}, g, &ignored);
}

static void put_probes(Search *s) {
    Value x = 0;
    int at = 0;
    for (int k = 0; k < s->g.nin; k++) {
        if (value_is_constant(s, s->g.in[k])) continue;
        if (x) return;
        x = s->g.in[k];
        at = k;
    }
    const Type *t = x ? value_type(s->w, x) : NULL;
    if (!t || dtype_class(t->dtype) != 'F') return;
    s->proportional = is_proportional(s, x, t);
    for (int number = 0; number < 2; number++) {
        for (int from = 0; from <= t->dim.n; from++) {
            Type y = {.dtype = t->dtype, .known = true, .dim = {.n = t->dim.n - from}};
            memcpy(y.dim.v, t->dim.v + from, (size_t)y.dim.n * sizeof *y.dim.v);
            if (from) put_probe(s, &s->g, x, &y, number);
        }
        for (int axis = 0; axis < t->dim.n; axis++) {
            Graph g;
            if (resized(s, x, axis, &g))
                put_probe(s, &g, g.in[at], value_type(s->w, g.in[at]), number);
        }
    }
}

/* Combines constants in pairs: one of numbers `from` up to `to`, the other below `other`. */
static void grow_pairs(Search *s, int from, int to, int other) {
    for (int k = from; k < to && s->evaluations_left > 0; k++)
        for (int j = 0; j < other && j <= k && s->evaluations_left > 0; j++) {
            grow_two(s, s->bank.constant[k], s->bank.constant[j]);
            if (k != j) grow_two(s, s->bank.constant[j], s->bank.constant[k]);
        }
}

static void grow_views(Search *s, int from, int to) {
    for (int k = from; k < to && s->evaluations_left > 0; k++) grow_one(s, s->bank.constant[k]);
}

/* Begins stage n of four, each of which has its share of the room and of the evaluations. */
static void stage(Search *s, int n) {
    s->evaluations_left = EVALUATIONS;
    s->bank.constants_most = SEARCH_CONSTANTS / 4 * n;
}

void constants_grow(Search *s) {
    stage(s, 1);
    put_numbers(s);
    int given = s->bank.nconstant;
    put_probes(s);
    int probes = s->bank.nconstant;
    put_products(s, given);
    grow_pairs(s, 0, given, given);
    int one = s->bank.nconstant;
    stage(s, 2);
    grow_pairs(s, probes, one, given);
    stage(s, 3);
    int joined = s->bank.nconstant;
    grow_views(s, 0, probes);
    grow_views(s, joined, s->bank.nconstant);
    grow_views(s, probes, joined);
    stage(s, 4);
    grow_pairs(s, one, s->bank.nconstant, given);
}

/* Explains c as a known constant joined with a further one. */
static Value with_one(Search *s, TypeId type, const Lanes *c, int n, int depth);

static Value look_up(Search *s, TypeId type, const Lanes *c, int n, int depth) {
    int k = term_find(s, true, value_key(type, c, n));
    if (k >= 0) return s->bank.constant[k].v;
    return depth ? with_one(s, type, c, n, depth) : 0;
}

static Value with_one(Search *s, TypeId type, const Lanes *c, int n, int depth) {
    Lanes *y = arena_alloc_raw(s->l->arena, (size_t)n * sizeof *y);
    for (int k = 0; k < s->bank.nconstant; k++) {
        Value v = s->bank.constant[k].v;
        TypeId t = value_type_id(s->w, v);
        int m = count_of(s, t);
        const Lanes *x = value_at(s, v);
        if (s->bank.constant[k].size > (depth > 1 ? 1 : 2) || (t != type && m != 1) || !x) continue;
        if (type_get(s->w, t)->dim.n && t != type) continue;
        for (Joining by = 0; by < JOININGS; by++) {
            bool zero = false;
            for (int j = 0; j < n; j++) {
                const uint32_t w = x[m == 1 ? 0 : j].p[0];
                zero |= !w || w == RESIDUE_NONE;
                const uint32_t r = zero ? 0 : residue_missing(c[j].p[0], w, by);
                for (int l = 0; l < LANES; l++) y[j].p[l] = r;
            }
            Value rest = zero ? 0 : look_up(s, type, y, n, depth - 1);
            if (!rest) continue;
            const bool first = by == JOIN_SUB_FROM;
            const Value in[2] = {first ? v : rest, first ? rest : v};
            const char *why;
            Value found = node_make(s->w, joining_op(by), NULL, 2, in, 1, &why);
            if (found && value_type_id(s->w, found) == type) return found;
        }
    }
    return 0;
}

Value constant_explain(Search *s, TypeId type, const Lanes *c) {
    int n = count_of(s, type);
    ArenaMark mark = arena_mark(s->l->arena);
    Value v = 0;
    for (int depth = 0; depth < 2 && !v; depth++) v = look_up(s, type, c, n, depth);
    if (!v) v = constant_rearranged(s, type, c);
    arena_reset(s->l->arena, mark);
    return v;
}
