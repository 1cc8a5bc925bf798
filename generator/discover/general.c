/* general.c -- generalizes a part of a model by building it again over placeholders.

   Every size of an input is a symbol, and so are attribute lists where the operator accepts
   symbols. The needs that shape() then states are solved for these symbols (lift.h). A list that
   gives the sizes of a result shares the sizes that it takes over from the input, so that a reshape
   says which axes it splits. general_sizes.c draws the consequences of the solution for the
   sizes. */
#include "generator/discover/general_inner.h"
#include "generator/discover/part_text.h"
#include "graphs/constants.h"
#include "graphs/needs.h"
#include "graphs/resize.h"
#include "ops/core/element.h"
#include <string.h>

/* ---- sizes */

/* The size of an earlier constant with as many axes that is n on this axis; 0 if there is none. */
static Poly tied_dim(const General *g, int rank, int axis, int64_t n) {
    int64_t m;
    for (int k = 0; k < g->nin && axis > 0 && g->keep >= KEEP_TIES; k++) {
        const Type *t = value_type(g->w, g->in[k]);
        if (*input_name(g->w, g->in[k]) != 'k' || t->dim.n != rank) continue;
        const Type *old = value_type(g->w, g->old[k]);
        if (general_real(g, old->dim.v[axis], &m) && m == n) return t->dim.v[axis];
    }
    return 0;
}

static bool input_dim(General *g, Value v, int axis, Poly *out) {
    int64_t n;
    const Type *t = value_type(g->w, v);
    if (!general_real(g, t->dim.v[axis], &n)) return false;
    if (constant_get(g->w, v, NULL, NULL) && (*out = tied_dim(g, t->dim.n, axis, n))) return true;
    bool number = n == 0 || (n == 1 && (g->nones >= ONES || !g->one[g->nones]));
    if (n == 1) g->nones++;
    *out = number ? poly_int(g->w, n) : general_fresh(g, n, false);
    return *out || n == 0;
}

/* ---- numbers */

/* Finds small p and q with v = p/q. */
static bool small_ratio(double v, int64_t *p, int64_t *q) {
    for (*q = 1; *q <= DENOMINATOR; ++*q)
        for (int side = 0; side < 2; side++) {
            *p = (int64_t)(v * (double)*q + (v < 0 ? -0.5 : 0.5));
            if (v * v > NUMERATOR * NUMERATOR || *p > NUMERATOR || *p < -NUMERATOR) return false;
            double near = (double)*p / (double)*q;
            if (near == v || (double)(float)near == v) return true;
        }
    return false;
}

/* Whether an element becomes a number in the rule: a float that is a small ratio, a truth value, or
   the integer 0 of 8 bits. Other zero points differ from place to place, so each would make a
   question of its own. */
static bool number_of(DType t, const void *bytes, int64_t *p, int64_t *q) {
    const char class = dtype_class(t);
    if (class == 'F') return small_ratio(element_real(t, bytes, 0), p, q);
    if (class != 'B' && (!dtype_is_integer(t) || dtype_bits(t) != 8)) return false;
    *p = element_integer(t, bytes, 0), *q = 1;
    return class == 'B' || *p == 0;
}

/* A `fill` for a constant whose elements are all the same such number; 0 if it is none. */
static Value fill_of(General *g, Value v) {
    Type t;
    const void *bytes;
    int64_t p, q;
    const char *why;
    if (!constant_plain(g->w, v) || !constant_get(g->w, v, &t, &bytes)) return 0;
    if (!number_of(t.dtype, bytes, &p, &q)) return 0;
    Attr attr[ATTRS_MAX] = {0};
    const AttrDef *defs = op_fill.attrs;
    attr[attrs_find(defs, "value")].real = ex_rational(g->w, p, q);
    for (int k = 0; k < t.dim.n; k++)
        if (poly_constant(g->w, t.dim.v[k], &p) && p > 1 &&
            !(t.dim.v[k] = general_fresh(g, p, true)))
            return 0;
    attr[attrs_find(defs, "shape")].ints = (PolyList){t.dim.n, t.dim.v};
    attr[attrs_find(defs, "dtype")].enum_value = (int)t.dtype;
    return node_make(g->w, &op_fill, attr, 0, NULL, 1, &why);
}

static Value placeholder(General *g, Value v) {
    Type t = *value_type(g->w, v);
    if (g->keep >= KEEP_CONSTANTS) {
        Value number = fill_of(g, v);
        if (number) return g->to[v] = number;
    }
    if (g->nin == INPUTS || !t.known) return 0;
    for (int k = 0; k < t.dim.n; k++)
        if (!input_dim(g, v, k, &t.dim.v[k])) return 0;
    int rank = g->rank[g->nin];
    const char *name = arena_format(g->a, "%c%d", constant_get(g->w, v, NULL, NULL) ? 'k' : 'x',
                                    rank ? rank : 100 + g->nin);
    g->old[g->nin] = v;
    return g->to[v] = g->in[g->nin++] = graph_input(g->w, name, &t);
}

/* ---- attributes */

static bool is_dim_of(const General *g, Value y, int nout, Poly p) {
    for (int k = 0; k < nout; k++) {
        const Type *t = value_type(g->w, y + (Value)k);
        for (int d = 0; d < t->dim.n; d++)
            if (t->dim.v[d] == p) return true;
    }
    return false;
}

/* Where a list gives the sizes of the result, entries that equal the input's size at the same
   position, counted from the front or from the end, become that size. */
static void tie_entries(const General *g, const Node *n, Value arg, PolyList number, Poly *entry) {
    const Type *old = value_type(g->w, n->in[0]), *now = value_type(g->w, arg);
    int64_t size, mine;
    int front = 0, rank = old->dim.n;
    for (; front < number.n && front < rank; front++) {
        if (!general_real(g, old->dim.v[front], &size) ||
            !poly_constant(g->w, number.v[front], &mine) || size != mine)
            break;
        entry[front] = now->dim.v[front];
    }
    for (int k = 1; k <= number.n - front && k <= rank - front; k++) {
        if (!general_real(g, old->dim.v[rank - k], &size) ||
            !poly_constant(g->w, number.v[number.n - k], &mine) || size != mine)
            break;
        entry[number.n - k] = now->dim.v[rank - k];
    }
}

/* Turns list k of the attributes into symbols if the operator accepts them. */
static void free_list(General *g, const Node *n, const Value in[], Attr attr[], int k) {
    const PolyList number = attr[k].ints;
    for (int j = 0; j < g->nlist; j++) {
        const struct FreeList *old = &g->list[j];
        if (old->op != n->op || old->attr != k || old->number.n != number.n) continue;
        if (memcmp(old->number.v, number.v, (size_t)number.n * sizeof *number.v)) continue;
        attr[k].ints = old->entry;
        return;
    }
    int symbols = g->nsymbol, attributes = g->l->nattribute;
    bool sizes = true;
    const char *why;
    Poly *entry = ARENA_NEW(g->a, Poly, number.n);
    for (int j = 0; j < number.n; j++) {
        int64_t v;
        if (!poly_constant(g->w, number.v[j], &v) || !(entry[j] = general_fresh(g, v, true)))
            return;
    }
    attr[k].ints.v = entry;
    Value y = node_make(g->w, n->op, attr, n->nin, in, n->nout, &why);
    for (int j = 0; y && j < number.n; j++) sizes &= is_dim_of(g, y, n->nout, entry[j]);
    if (y && sizes && n->nin && number.n == value_type(g->w, y)->dim.n) {
        tie_entries(g, n, in[0], number, entry);
        y = node_make(g->w, n->op, attr, n->nin, in, n->nout, &why);
    }
    if (y && (sizes || g->keep < KEEP_ATTRIBUTES)) {
        if (!sizes && g->nlist < LISTS)
            g->list[g->nlist++] = (struct FreeList){n->op, k, number, attr[k].ints};
        return;
    }
    attr[k].ints = number;
    g->nsymbol = symbols;
    g->l->nattribute = attributes;
}

/* Whether all entries are 1 and that is the attribute's default. */
static bool all_one(const General *g, const AttrDef *def, PolyList list) {
    for (int k = 0; k < list.n; k++)
        if (!poly_is(g->w, list.v[k], 1)) return false;
    return def->init && !strcmp(def->init, "1");
}

/* Sets the attributes of a node to their numbers at the place. */
static bool attributes_of(General *g, const Node *n, Attr attr[]) {
    int64_t v;
    sig_attr(g->w, n->sig, attr);
    for (int k = 0; k < attrs_count(n->op->attrs); k++) {
        Poly *list = ARENA_NEW(g->a, Poly, attr[k].ints.n);
        for (int j = 0; j < attr[k].ints.n; j++) {
            if (!general_real(g, attr[k].ints.v[j], &v)) return false;
            list[j] = poly_int(g->w, v);
        }
        attr[k].ints.v = list;
    }
    return true;
}

static bool build_node(General *g, NodeId id) {
    Node n = node_get(g->w, id);
    Attr attr[ATTRS_MAX];
    const char *why;
    Value *in = ARENA_NEW(g->a, Value, n.nin);
    for (int k = 0; k < n.nin; k++) {
        if (!n.in[k]) continue;
        in[k] = g->to[n.in[k]] ? g->to[n.in[k]] : placeholder(g, n.in[k]);
        if (!in[k]) return false;
    }
    if (!attributes_of(g, &n, attr)) return false;
    for (int k = 0; k < attrs_count(n.op->attrs); k++) {
        AttrKind kind = n.op->attrs[k].kind;
        const bool stays =
            n.op->attrs[k].axes || (g->multiple && all_one(g, &n.op->attrs[k], attr[k].ints));
        if ((kind == A_INT || kind == A_INTS) && !stays && attr[k].ints.n)
            free_list(g, &n, in, attr, k);
    }
    Value y = node_make(g->w, n.op, attr, n.nin, in, n.nout, &why);
    for (int k = 0; y && k < n.nout; k++) g->to[n.out + (Value)k] = y + (Value)k;
    return y != 0;
}

/* Builds the part with the current choices, in the arena. */
static bool build_part(General *g, Graph *y) {
    Lift *l = g->l;
    Poly eq[LIFT_EQUATIONS];
    int n = 0;
    Error ignored = {0};
    Overflow overflow = overflow_begin(g->w);
    g->nin = g->nones = g->nsymbol = g->nlist = 0;
    l->nfresh = l->nattribute = l->nsolved = 0;
    for (int k = 0; k < g->p->n; k++) {
        Node node = node_get(g->w, g->p->node[k]);
        for (int j = 0; j < node.nin; j++) g->to[node.in[j]] = 0;
    }
    bool good = true;
    for (int k = 0; k < g->p->n && good; k++) good = build_node(g, g->p->node[k]);
    if (good) {
        Value *out = ARENA_NEW(g->a, Value, g->p->nout), *in = ARENA_NEW(g->a, Value, g->nin);
        for (int k = 0; k < g->p->nout; k++) out[k] = g->to[g->p->out[k]];
        memcpy(in, g->in, (size_t)g->nin * sizeof *in);
        Graph built = {g->nin, g->p->nout, in, out};
        LitList needs = graph_needs(g->w, g->a, &built);
        for (int k = 0; k < needs.n && n < LIFT_EQUATIONS; k++)
            if (needs.v[k].eq) eq[n++] = needs.v[k].p;
        good =
            lift_solve(l, n, eq) && general_solved(g) &&
            graph_resize(g->w, g->a, &built, (NewSizes){l->nsolved, l->from, l->to}, y, &ignored) &&
            (!g->multiple || general_multiple(g, y)) && general_holds(g, y);
    }
    return !overflow_end(g->w, overflow) && good;
}

/* Makes each size of 1 a symbol unless the part cannot be built then. */
static void free_ones(General *g, WorldMark mark) {
    Graph y;
    int n = g->nones < ONES ? g->nones : ONES;
    for (int k = 0; k < n; k++) g->one[k] = true;
    bool all = build_part(g, &y);
    world_reset(g->w, mark);
    for (int k = 0; k < n && !all; k++) g->one[k] = false;
    for (int k = 0; k < n && !all; k++) {
        g->one[k] = true;
        g->one[k] = build_part(g, &y);
        world_reset(g->w, mark);
    }
}

/* ---- all */

bool part_generalize(World *w, const Part *p, Sizes real, Keep keep, Text *graph, Text *at) {
    WorldMark start = world_mark(w);
    Lift *l = lift_over(w, 1);
    WorldMark mark = world_mark(w);
    Value most = 0;
    for (int k = 0; k < p->n; k++) {
        Node n = node_get(w, p->node[k]);
        most = n.out + (Value)n.nout > most ? n.out + (Value)n.nout : most;
    }
    General *g = ARENA_NEW(l->arena, General, 1);
    *g = (General){.w = w, .a = l->arena, .l = l, .p = p, .real = real, .keep = keep};
    if (keep >= KEEP_EVEN) g->keep = KEEP_NOTHING, g->multiple = 2 + (int)(keep - KEEP_EVEN);
    g->to = ARENA_NEW(l->arena, Value, most + 1);
    Graph y;
    build_part(g, &y);
    world_reset(w, mark);
    if (g->keep < KEEP_ATTRIBUTES) free_ones(g, mark);
    bool good = build_part(g, &y) && part_order(w, &y, g->rank);
    world_reset(w, mark);
    good = good && build_part(g, &y) && part_print(w, g->a, &y, general_values(g), graph, at);
    world_reset(w, mark);
    lift_free(l);
    world_reset(w, start);
    return good;
}
