/* tabulate_read.c -- views in definitions written as graphs: the elements of an input at the
   indices of a space, and tables with other axes. */
#include "generator/discover/tabulate_inner.h"
#include <string.h>

static const Grid none;

Value table_node(Tabulation *x, const Op *op, const Attr *attr, int n, const Value in[]) {
    const char *why;
    for (int k = 0; k < n; k++)
        if (!in[k]) return 0;
    if (!op || x->left <= 0) return 0;
    const NodeId last = value_last(x->w);
    const Value v = node_make(x->w, op, attr, n, in, 1, &why);
    x->left -= v > last;
    return v;
}

PolyList table_list(Tabulation *x, int n, const Poly v[]) {
    return (PolyList){n, arena_copy(x->a, v, (size_t)n * sizeof *v)};
}

bool table_same(Tabulation *x, Poly a, Poly b) {
    return a == b || facts_reduce(x->facts, poly_sub(x->w, a, b)) == 0;
}

int table_place(unsigned axes, int axis) {
    int n = 0;
    for (int k = 0; k < axis; k++) n += (int)(axes >> k & 1u);
    return n;
}

Value table_slice(Tabulation *x, Value v, const Poly start[], const Poly size[],
                  const Poly step[]) {
    const Dims dim = value_type(x->w, v)->dim;
    const AttrDef *defs = op_slice.attrs;
    Attr attr[ATTRS_MAX] = {0};
    bool whole = true;
    for (int k = 0; k < dim.n; k++)
        whole &= !start[k] && poly_is(x->w, step[k], 1) && table_same(x, size[k], dim.v[k]);
    if (whole) return v;
    attr[attrs_find(defs, "starts")].ints = table_list(x, dim.n, start);
    attr[attrs_find(defs, "sizes")].ints = table_list(x, dim.n, size);
    attr[attrs_find(defs, "steps")].ints = table_list(x, dim.n, step);
    return table_node(x, &op_slice, attr, 1, &v);
}

Value table_pad(Tabulation *x, Value v, const Poly front[], const Poly back[]) {
    const int n = value_type(x->w, v)->dim.n;
    const AttrDef *defs = op_pad.attrs;
    Attr attr[ATTRS_MAX] = {0};
    Poly both[2 * RANK_MAX];
    bool any = false;
    for (int k = 0; k < n; k++) {
        both[k] = front[k];
        both[k + n] = back[k];
        any |= front[k] || back[k];
    }
    if (!any) return v;
    attr[attrs_find(defs, "pads")].ints = table_list(x, 2 * n, both);
    attr[attrs_find(defs, "value")].real = ex_rational(x->w, 0, 1);
    return table_node(x, &op_pad, attr, 1, &v);
}

Value table_reshape(Tabulation *x, Value v, int n, const Poly size[]) {
    const Dims dim = value_type(x->w, v)->dim;
    Attr attr[ATTRS_MAX] = {0};
    bool same = dim.n == n;
    for (int k = 0; k < n && same; k++) same = dim.v[k] == size[k];
    if (same) return v;
    const Node before = node_get(x->w, value_node(x->w, v));
    if (before.op == &op_reshape) return table_reshape(x, before.in[0], n, size);
    attr[0].ints = table_list(x, n, size);
    return table_node(x, &op_reshape, attr, 1, &v);
}

static bool was_transposed(Tabulation *x, Value v, int n, const int p[], Value *in, int by[]) {
    const Node before = node_get(x->w, value_node(x->w, v));
    Attr attr[ATTRS_MAX];
    if (before.op != &op_transpose) return false;
    sig_attr(x->w, before.sig, attr);
    *in = before.in[0];
    for (int k = 0; k < n; k++) {
        int64_t axis = 0;
        poly_constant(x->w, attr[0].ints.v[p[k]], &axis);
        by[k] = (int)axis;
    }
    return true;
}

Value table_transpose(Tabulation *x, Value v, int n, const int p[]) {
    Attr attr[ATTRS_MAX] = {0};
    Poly perm[RANK_MAX];
    bool same = true;
    Value in;
    int by[RANK_MAX];
    if (was_transposed(x, v, n, p, &in, by)) return table_transpose(x, in, n, by);
    for (int k = 0; k < n; k++) {
        perm[k] = poly_int(x->w, p[k]);
        same &= p[k] == k;
    }
    if (same) return v;
    attr[0].ints = table_list(x, n, perm);
    return table_node(x, &op_transpose, attr, 1, &v);
}

bool table_affine(Tabulation *x, const IndexSpace *s, Poly p, int *axis, int64_t *c, Poly *rest) {
    World *w = x->w;
    const Poly one = poly_int(w, 1);
    *axis = -1;
    *rest = p;
    for (int k = 0; k < s->n; k++) {
        if (!poly_mentions(w, p, s->index[k])) continue;
        if (*axis >= 0) return false;
        *axis = k;
    }
    if (*axis < 0) return true;
    const Symbol index = s->index[*axis];
    const Poly nought = 0;
    *rest = poly_subst(w, p, 1, &index, &nought);
    const Poly step = poly_sub(w, poly_subst(w, p, 1, &index, &one), *rest);
    return poly_constant(w, step, c) && *c > 0 &&
           p == poly_add(w, poly_scale(w, poly_symbol(w, index), *c), *rest);
}

Grid table_read(Tabulation *x, const IndexSpace *s, const ExNode *n) {
    World *w = x->w;
    const Padding *padding = &x->padding[n->word];
    Value v = x->node.in[n->word];
    Poly start[RANK_MAX], size[RANK_MAX], step[RANK_MAX], left[RANK_MAX];
    int of[RANK_MAX], order[RANK_MAX], m = 0, axis;
    unsigned axes = 0;
    if (value_type(w, v)->dtype != x->dtype || value_type(w, v)->dim.n != n->n) return none;
    if (padding->is) v = table_pad(x, v, padding->front, padding->back);
    for (int d = 0; d < n->n && v; d++) {
        int64_t c = 1;
        if (!table_affine(x, s, n->dims[d], &axis, &c, &start[d])) return none;
        if (padding->is) start[d] = poly_add(w, start[d], padding->front[d]);
        size[d] = axis < 0 ? poly_int(w, 1) : s->size[axis];
        step[d] = poly_int(w, c);
        if (axis < 0) continue;
        if (axes >> axis & 1) return none;
        axes |= 1u << axis;
        left[m] = size[d];
        of[m++] = axis;
    }
    if (v) v = table_slice(x, v, start, size, step);
    if (v) v = table_reshape(x, v, m, left);
    for (int k = 0; k < m; k++) order[table_place(axes, of[k])] = k;
    if (v) v = table_transpose(x, v, m, order);
    return (Grid){v, axes};
}

Value table_stretch(Tabulation *x, const IndexSpace *s, Grid t, unsigned to) {
    Poly with_ones[TABLE_AXES], full[TABLE_AXES];
    int n = 0;
    bool missing = false, begun = false;
    if (!t.v) return 0;
    for (int k = 0; k < s->n; k++) {
        const bool has = t.axes >> k & 1;
        begun |= has;
        if (!begun || !(to >> k & 1)) continue;
        missing |= !has;
        with_ones[n] = has ? s->size[k] : poly_int(x->w, 1);
        full[n++] = s->size[k];
    }
    if (!missing) return t.v;
    const Value v = table_reshape(x, t.v, n, with_ones);
    Attr attr[ATTRS_MAX] = {0};
    attr[0].ints = table_list(x, n, full);
    return v ? table_node(x, &op_broadcast, attr, 1, &v) : 0;
}
