/* tabulate_product.c -- sums over whole axes in definitions written as graphs: a reduction or, if a
   product of two parts is summed, a product of matrices. */
#include "generator/discover/tabulate_inner.h"
#include <string.h>

static const Grid none;
enum { FACTORS = 8 };
/* The sum over some axes of the space (`sum`, as bits) of a times b. */
typedef struct SummedProduct {
    Tabulation *x;
    const IndexSpace *s;
    Grid a, b;
    unsigned sum;
} SummedProduct;

static void flatten(Tabulation *x, Ex e, Ex factor[], int *n) {
    ExNode node;
    ex_get(x->w, e, &node);
    if (node.kind == EX_MUL && *n + 1 < FACTORS) {
        flatten(x, node.a, factor, n);
        flatten(x, node.b, factor, n);
    } else if (*n < FACTORS) {
        factor[(*n)++] = e;
    }
}

static int count(unsigned axes) { return table_place(axes, 8 * (int)sizeof axes - 1); }

/* Transposes the table so that its axes are those of set[0], then those of set[1], and so on. */
static Value in_order(const SummedProduct *p, Grid t, int n, const unsigned set[]) {
    int order[TABLE_AXES], m = 0;
    for (int k = 0; k < n; k++)
        for (int axis = 0; axis < p->s->n; axis++)
            if (set[k] >> axis & 1) order[m++] = table_place(t.axes, axis);
    return table_transpose(p->x, t.v, m, order);
}

/* Merges each set of axes into one axis, except the axes in `apart`. */
static Value merged(const SummedProduct *p, Value v, int n, const unsigned set[], unsigned apart) {
    World *w = p->x->w;
    Poly size[2 * TABLE_AXES];
    int m = 0;
    for (int k = 0; k < n; k++) {
        Poly all = poly_int(w, 1);
        for (int axis = 0; axis < p->s->n; axis++) {
            if (!(set[k] >> axis & 1)) continue;
            if (apart >> axis & 1) size[m++] = p->s->size[axis];
            else all = poly_mul(w, all, p->s->size[axis]);
        }
        if (!(set[k] & apart)) size[m++] = all;
    }
    return v ? table_reshape(p->x, v, m, size) : 0;
}

/* Splits the axes of the product again and sorts them. */
static Grid restored(const SummedProduct *p, Value v, int n, const unsigned set[]) {
    Poly size[TABLE_AXES];
    unsigned axes = 0;
    int order[TABLE_AXES], m = 0;
    for (int k = 0; k < n; k++) axes |= set[k];
    for (int k = 0; k < n; k++)
        for (int axis = 0; axis < p->s->n; axis++) {
            if (!(set[k] >> axis & 1)) continue;
            size[m] = p->s->size[axis];
            order[table_place(axes, axis)] = m++;
        }
    if (v) v = table_reshape(p->x, v, m, size);
    return (Grid){v ? table_transpose(p->x, v, m, order) : 0, axes};
}

static Value matmul(const SummedProduct *p, Value a, Value b) {
    return table_node(p->x, &op_matmul, NULL, 2, (Value[]){a, b});
}

/* A product in which b has only the axes of the sum and axes of its own, so that it is not
   repeated. Axes of a before those of the sum are batches if a has axes after them. */
static Grid shared_factor(const SummedProduct *p, unsigned own) {
    const unsigned rest = p->a.axes & ~p->sum;
    unsigned before = 0;
    for (int axis = 0; axis < p->s->n && !(p->sum >> axis & 1); axis++) before |= rest & 1u << axis;
    const unsigned after = rest & ~before;
    if (after) {
        const unsigned left[] = {own, p->sum}, right[] = {before, p->sum, after},
                       out[] = {before, own, after};
        const Value b = merged(p, in_order(p, p->b, 2, left), 2, left, 0),
                    a = merged(p, in_order(p, p->a, 3, right), 3, right, before);
        return restored(p, a && b ? matmul(p, b, a) : 0, 3, out);
    }
    const unsigned left[] = {before, p->sum}, right[] = {p->sum, own}, out[] = {before, own};
    const Value a = merged(p, in_order(p, p->a, 2, left), 2, left, before),
                b = merged(p, in_order(p, p->b, 2, right), 2, right, 0);
    return restored(p, a && b ? matmul(p, a, b) : 0, 2, out);
}

/* A product in which both factors have the batch axes. */
static Grid batched(const SummedProduct *p, unsigned batch, unsigned own_a, unsigned own_b) {
    const unsigned rows[] = {batch, own_a, p->sum}, columns[] = {batch, p->sum, own_b},
                   out[] = {batch, own_a, own_b};
    const Value a = merged(p, in_order(p, p->a, 3, rows), 3, rows, batch),
                b = merged(p, in_order(p, p->b, 3, columns), 3, columns, batch);
    return restored(p, a && b ? matmul(p, a, b) : 0, 3, out);
}

static Grid reduced(Tabulation *x, const IndexSpace *s, Grid t, unsigned sum, const Op *reduce) {
    Poly axes[TABLE_AXES];
    int n = 0;
    Attr attr[ATTRS_MAX] = {0};
    if (!t.v || (t.axes & sum) != sum) return none;
    for (int axis = 0; axis < s->n; axis++)
        if (sum >> axis & 1) axes[n++] = poly_int(x->w, table_place(t.axes, axis));
    attr[0].ints = table_list(x, n, axes);
    return (Grid){table_node(x, reduce, attr, 1, &t.v), t.axes & ~sum};
}

/* Splits the factors into two parts that should both depend on all axes of the sum, and those that
   depend on none of them. The sum of the two parts' product is a matrix product if possible,
   otherwise a reduction. */
static Grid of_product(Tabulation *x, const IndexSpace *s, int n, const Ex factor[], unsigned sum) {
    Grid a = none, b = none, other = none;
    for (int k = 0; k < n; k++) {
        const Grid t = table_of(x, s, factor[k]);
        if (!t.v) return none;
        Grid *to = !(t.axes & sum) ? &other : !a.v ? &a : &b;
        *to = to->v ? table_join(x, s, &op_mul, *to, t) : t;
        if (!to->v) return none;
    }
    Grid y;
    if (!a.v) return none;
    const SummedProduct p = {x, s, a, b, sum};
    const unsigned batch = a.axes & b.axes & ~sum, own_a = a.axes & ~sum & ~batch,
                   own_b = b.axes & ~sum & ~batch;
    if (!b.v) y = reduced(x, s, a, sum, &op_reduce_sum);
    else if ((a.axes & sum) != sum || (b.axes & sum) != sum || (!own_a && !own_b))
        y = reduced(x, s, table_join(x, s, &op_mul, a, b), sum, &op_reduce_sum);
    else y = !batch && count(own_a) ? shared_factor(&p, own_b) : batched(&p, batch, own_a, own_b);
    return other.v && y.v ? table_join(x, s, &op_mul, y, other) : y;
}

/* The position for the axis of `index`: in the first element read whose indices contain it, the
   last axis of the space among the indices before it, -1 if there is none. */
static int axis_before(Tabulation *x, const IndexSpace *s, Ex body, Symbol index) {
    Reads *r = ARENA_NEW(x->a, Reads, 1);
    table_reads(x, body, r);
    for (int k = 0; k < r->n; k++)
        for (int d = 0; d < r->v[k].n; d++) {
            if (!poly_mentions(x->w, r->v[k].dims[d], index)) continue;
            int after = -1, axis;
            int64_t c;
            Poly rest;
            for (int j = 0; j < d; j++)
                if (table_affine(x, s, r->v[k].dims[j], &axis, &c, &rest) && axis > after)
                    after = axis;
            return after;
        }
    return s->n - 1;
}

static void insert_axis(Tabulation *x, IndexSpace *s, int at, Symbol index) {
    for (int k = s->n++; k > at; k--) {
        s->index[k] = s->index[k - 1];
        s->size[k] = s->size[k - 1];
    }
    s->index[at] = index;
    s->size[at] = symbol_def(x->w, index).arg[0];
}

static unsigned axes_without(unsigned axes, unsigned sum) {
    unsigned y = 0;
    for (int axis = 0, to = 0; axis < TABLE_AXES; axis++) {
        if (sum >> axis & 1) continue;
        y |= (axes >> axis & 1) << to++;
    }
    return y;
}

Grid table_total(Tabulation *x, const IndexSpace *s, int n, const Symbol index[], Ex body,
                 const Op *reduce) {
    IndexSpace all = *s;
    unsigned sum = 0;
    Ex factor[FACTORS];
    int factors = 0;
    if (!n) return table_of(x, s, body);
    if (s->n + n > TABLE_AXES) return none;
    for (int k = 0; k < n; k++)
        insert_axis(x, &all, axis_before(x, &all, body, index[k]) + 1, index[k]);
    for (int axis = 0; axis < all.n; axis++)
        for (int k = 0; k < n; k++) sum |= (unsigned)(all.index[axis] == index[k]) << axis;
    flatten(x, body, factor, &factors);
    Grid y = reduce == &op_reduce_sum && factors > 1
                 ? of_product(x, &all, factors, factor, sum)
                 : reduced(x, &all, table_of(x, &all, body), sum, reduce);
    y.axes = axes_without(y.axes, sum);
    return y;
}
