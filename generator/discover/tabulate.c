/* tabulate.c -- writes definitions as graphs: arithmetic and functions, and expressions that are
   shared between offsets of an axis. */
#include "generator/discover/tabulate_inner.h"
#include "graphs/needs.h"
#include <string.h>

static const Grid none;

Grid table_number(Tabulation *x, Ex e) {
    const AttrDef *defs = op_fill.attrs;
    Attr attr[ATTRS_MAX] = {0};
    attr[attrs_find(defs, "value")].real = e;
    attr[attrs_find(defs, "dtype")].enum_value = (int)x->dtype;
    return (Grid){table_node(x, &op_fill, attr, 0, NULL), 0};
}

Grid table_join(Tabulation *x, const IndexSpace *s, const Op *op, Grid a, Grid b) {
    const unsigned axes = a.axes | b.axes;
    if (!a.v || !b.v) return none;
    const Value in[2] = {table_stretch(x, s, a, axes), table_stretch(x, s, b, axes)};
    return (Grid){table_node(x, op, NULL, 2, in), axes};
}

static Grid apply(Tabulation *x, const Op *op, Grid a) {
    return (Grid){a.v ? table_node(x, op, NULL, 1, &a.v) : 0, a.axes};
}

/* The operator that applies each Function; NULL: there is none. */
static const Op *const function_op[FN_COUNT] = {
    [FN_RECIP] = &op_reciprocal, [FN_EXP] = &op_exp,     [FN_LOG] = &op_log,
    [FN_SQRT] = &op_sqrt,        [FN_ERF] = &op_erf,     [FN_TANH] = &op_tanh,
    [FN_SIGMOID] = &op_sigmoid,  [FN_ABS] = &op_abs,     [FN_FLOOR] = &op_floor,
    [FN_CEIL] = &op_ceil,        [FN_ROUND] = &op_round, [FN_SIGN] = &op_sign,
    [FN_SIN] = &op_sin,          [FN_COS] = &op_cos,
};

/* ---- the elements that an expression reads */

static void collect_reads(Tabulation *x, Ex e, Reads *r) {
    ExNode n;
    ex_get(x->w, e, &n);
    if (n.kind == EX_AT) {
        r->all &= r->n < TABLE_READS;
        if (r->all) r->v[r->n++] = n;
    }
    for (int k = 0; k < ex_children(n.kind); k++) collect_reads(x, n.child[k], r);
}

void table_reads(Tabulation *x, Ex e, Reads *r) {
    *r = (Reads){.all = true};
    collect_reads(x, e, r);
}

const char *table_key(Tabulation *x, Ex e) {
    Text t = text_new(x->a);
    ex_print(x->w, e, &t);
    return t.data;
}

/* ---- offsets */

/* Whether every element that depends on this axis is read at its index plus an offset. *offset
   becomes the first of these offsets, and *size the length of the axis for which the expression can
   be computed once. */
static bool offset_of(Tabulation *x, const IndexSpace *s, Ex e, int axis, Poly *offset,
                      Poly *size) {
    Reads *r = ARENA_NEW(x->a, Reads, 1);
    bool any = false;
    table_reads(x, e, r);
    for (int k = 0; k < r->n; k++)
        for (int d = 0; d < r->v[k].n; d++) {
            int at;
            int64_t c;
            Poly rest;
            if (!poly_mentions(x->w, r->v[k].dims[d], s->index[axis])) continue;
            if (!table_affine(x, s, r->v[k].dims[d], &at, &c, &rest) || at != axis || c != 1)
                return false;
            if (!any) *offset = rest;
            const Type *t = value_type(x->w, x->node.in[r->v[k].word]);
            const Poly beyond = poly_sub(x->w, rest, *offset),
                       room = poly_sub(x->w, t->dim.v[d], beyond);
            if (!facts_entail(x->facts, (Lit){beyond, false})) return false;
            if (!any || facts_entail(x->facts, (Lit){poly_sub(x->w, *size, room), false}))
                *size = room;
            else if (!facts_entail(x->facts, (Lit){poly_sub(x->w, room, *size), false}))
                return false;
            any = true;
        }
    return any && r->all;
}

static Ex without_offset(Tabulation *x, const IndexSpace *s, Ex e, int axis, Poly offset) {
    const Poly index = poly_sub(x->w, poly_symbol(x->w, s->index[axis]), offset);
    return ex_subst(x->w, e, 1, &s->index[axis], &index, NULL, 0);
}

static bool may_share(const Tabulation *x, ExKind kind) {
    const bool sums = kind == EX_ADD || kind == EX_SUM;
    return x->share == SHARE_FUNCTIONS ? sums || kind == EX_FN : x->share == SHARE_SUMS && sums;
}

/* The offsets at which the expression occurs along this axis; *moved is the expression without its
   offset. Returns NULL if it cannot be moved. */
static Offsets *offsets_of(Tabulation *x, const IndexSpace *s, Ex e, int axis, Poly *offset,
                           Poly *size, Ex *moved) {
    if (!offset_of(x, s, e, axis, offset, size)) return NULL;
    *moved = without_offset(x, s, e, axis, *offset);
    const char *key = arena_format(x->a, "%d %s", axis, table_key(x, *moved));
    const uint32_t id = intern_put(x->keys, key, strlen(key));
    ARENA_GROW(x->a, x->offsets, x->offsets_room, (int)id);
    return &x->offsets[id - 1];
}

/* Notes the offsets at which the expression and its parts occur. */
static void note_offsets(Tabulation *x, const IndexSpace *s, Ex e) {
    ExNode n;
    ex_get(x->w, e, &n);
    for (int axis = 0; axis < s->n && may_share(x, n.kind); axis++) {
        Poly offset = 0, size = 0;
        Ex moved;
        Offsets *o = offsets_of(x, s, e, axis, &offset, &size, &moved);
        bool old = !o || o->n == TABLE_TERMS;
        for (int k = 0; o && k < o->n; k++) old |= o->v[k] == offset;
        if (!old) o->v[o->n++] = offset;
    }
    for (int k = 0; k < ex_children(n.kind) && n.kind != EX_SUM; k++)
        note_offsets(x, s, n.child[k]);
}

/* Computes an expression that occurs at several offsets for the whole axis, and takes the slice
   that is needed here. */
static Grid shared(Tabulation *x, const IndexSpace *s, Ex e) {
    World *w = x->w;
    for (int axis = 0; axis < s->n; axis++) {
        Poly offset = 0, size = 0, start[TABLE_AXES] = {0}, part[TABLE_AXES], one[TABLE_AXES];
        Ex moved;
        const Offsets *o = offsets_of(x, s, e, axis, &offset, &size, &moved);
        if (!o || o->n < 2 || table_same(x, size, s->size[axis])) continue;
        const Poly covered = poly_scale(w, s->size[axis], o->n + 1);
        if (!facts_entail(x->facts, (Lit){poly_sub(w, covered, size), false})) continue;
        IndexSpace all = *s;
        all.index[axis] = symbol_bound(w, size);
        all.size[axis] = size;
        const Poly index = poly_symbol(w, all.index[axis]);
        moved = ex_subst(w, moved, 1, &s->index[axis], &index, NULL, 0);
        const Grid t = table_of(x, &all, moved);
        if (!t.v || !(t.axes >> axis & 1)) return none;
        int n = 0;
        for (int k = 0; k < s->n; k++) {
            if (!(t.axes >> k & 1)) continue;
            if (k == axis) start[n] = offset;
            part[n] = s->size[k];
            one[n++] = poly_int(w, 1);
        }
        return (Grid){table_slice(x, t.v, start, part, one), t.axes};
    }
    return none;
}

/* ---- kinds */

/* Computes a before b, so that nodes have the same numbers whatever the compiler's order of
   evaluation. */
static Grid joined(Tabulation *x, const IndexSpace *s, const Op *op, Ex left, Ex right) {
    const Grid a = table_of(x, s, left), b = a.v ? table_of(x, s, right) : none;
    return table_join(x, s, op, a, b);
}

/* A power. If the exponent is a few quarters, it is a product of roots. */
static Grid power(Tabulation *x, const IndexSpace *s, const ExNode *n) {
    ExNode by;
    ex_get(x->w, n->b, &by);
    const Grid base = table_of(x, s, n->a);
    enum { QUARTERS = 16 };
    int64_t quarters = by.kind == EX_NUM && 4 % by.q == 0 ? by.p * (4 / by.q) : 0;
    if (!quarters || quarters > QUARTERS || quarters < -QUARTERS)
        return table_join(x, s, &op_pow, base, table_of(x, s, n->b));
    const bool below = quarters < 0;
    quarters = below ? -quarters : quarters;
    const Grid half = quarters % 4 ? apply(x, &op_sqrt, base) : none,
               quarter = quarters % 2 ? apply(x, &op_sqrt, half) : none;
    Grid y = none;
    for (int64_t k = 0; k < quarters / 4; k++) y = y.v ? table_join(x, s, &op_mul, y, base) : base;
    if (quarters & 2) y = y.v ? table_join(x, s, &op_mul, y, half) : half;
    if (quarters & 1) y = y.v ? table_join(x, s, &op_mul, y, quarter) : quarter;
    return below ? apply(x, &op_reciprocal, y) : y;
}

/* A product. a * 1/b is a quotient unless b is a number. */
static Grid product(Tabulation *x, const IndexSpace *s, const ExNode *n) {
    ExNode b, under;
    const Grid mean = table_mean(x, s, n);
    if (mean.v) return mean;
    ex_get(x->w, n->b, &b);
    if (b.kind == EX_FN && b.word == FN_RECIP) {
        ex_get(x->w, b.a, &under);
        if (under.kind != EX_NUM && under.kind != EX_REAL && under.kind != EX_SIZE)
            return joined(x, s, &op_div, n->a, b.a);
    }
    return joined(x, s, &op_mul, n->a, n->b);
}

static Grid size_number(Tabulation *x, Poly size) {
    int64_t v;
    return poly_constant(x->w, size, &v) ? table_number(x, ex_rational(x->w, v, 1)) : none;
}

static Grid function(Tabulation *x, const IndexSpace *s, const ExNode *n) {
    ExNode a;
    int64_t v;
    ex_get(x->w, n->a, &a);
    if (n->word == FN_RECIP && a.kind == EX_SIZE && poly_constant(x->w, a.size, &v) && v > 0)
        return table_number(x, ex_rational(x->w, 1, v));
    return apply(x, function_op[n->word], table_of(x, s, n->a));
}

Grid table_of(Tabulation *x, const IndexSpace *s, Ex e) {
    ExNode n;
    ex_get(x->w, e, &n);
    if (x->left <= 0) return none;
    if (may_share(x, n.kind)) {
        const Grid t = shared(x, s, e);
        if (t.v) return t;
    }
    switch (n.kind) {
    case EX_NUM:
    case EX_REAL: return table_number(x, e);
    case EX_SIZE: return size_number(x, n.size);
    case EX_AT: return table_read(x, s, &n);
    case EX_ADD: return joined(x, s, &op_add, n.a, n.b);
    case EX_MUL: return product(x, s, &n);
    case EX_MAX2: return joined(x, s, &op_max, n.a, n.b);
    case EX_MIN2: return joined(x, s, &op_min, n.a, n.b);
    case EX_POW: return power(x, s, &n);
    case EX_FN: return function(x, s, &n);
    case EX_SUM:
    case EX_MAXIMUM: return table_sum(x, s, &n);
    default: return none;
    }
}

/* The table with all axes, in the type of the result. */
static Value as_result(Tabulation *x, const IndexSpace *s, Grid t, Value out) {
    const Dims want = value_type(x->w, out)->dim;
    if (!t.v) return 0;
    const unsigned all = (1u << s->n) - 1;
    Value v = table_stretch(x, s, t, all);
    if (v && value_type(x->w, v)->dim.n < s->n) { /* leading axes are still missing */
        Attr attr[ATTRS_MAX] = {0};
        attr[0].ints = table_list(x, want.n, want.v);
        v = table_node(x, &op_broadcast, attr, 1, &v);
    }
    if (v && s->n < want.n) v = table_reshape(x, v, want.n, want.v);
    return v && value_type_id(x->w, v) == value_type_id(x->w, out) ? v : 0;
}

/* Sets the space of a definition's indices. Axes of size 1 are left out: their index is replaced by
   0. */
static Ex indices(Tabulation *x, Ex define, Value out, IndexSpace *s) {
    const Dims dim = value_type(x->w, out)->dim;
    Symbol from[RANK_MAX];
    Poly to[RANK_MAX] = {0};
    int n = 0;
    *s = (IndexSpace){0};
    for (int k = 0; k < dim.n; k++) {
        const Symbol index = symbol_index(x->w, (uint32_t)k);
        if (poly_is(x->w, dim.v[k], 1)) {
            from[n++] = index;
            continue;
        }
        s->index[s->n] = index;
        s->size[s->n++] = dim.v[k];
        const Poly last =
            poly_sub(x->w, dim.v[k], poly_add(x->w, poly_symbol(x->w, index), poly_int(x->w, 1)));
        facts_assume(x->facts, (Lit){last, false});
    }
    return n ? ex_subst(x->w, define, n, from, to, NULL, 0) : define;
}

bool node_tabulate(World *w, Arena *a, const Graph *of, NodeId id, TabulateShare share, int most,
                   Value out[]) {
    const Node node = node_get(w, id);
    Tabulation x = {.w = w, .a = a, .node = node, .share = share, .left = most};
    bool good = node.op->define != NULL;
    x.padding = ARENA_NEW(a, Padding, node.nin);
    x.keys = intern_new(a);
    for (int round = 0; round < 2 && good; round++)
        for (int k = 0; k < node.nout && good; k++) {
            IndexSpace s;
            const Value v = node.out + (Value)k;
            Ex define = sig_define(w, node.sig, k);
            x.dtype = value_type(w, v)->dtype;
            good = define && dtype_class(x.dtype) == 'F';
            if (!good) break;
            /* The meaning of the indices differs between outputs. */
            x.facts = graph_facts(w, a, of);
            define = indices(&x, define, v, &s);
            if (round == 0) note_offsets(&x, &s, define);
            else good = (out[k] = as_result(&x, &s, table_of(&x, &s, define), v)) != 0;
        }
    intern_free(x.keys);
    return good;
}
