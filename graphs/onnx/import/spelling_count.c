/* spelling_count.c -- import functions of items.def for sizes that depend on data. If the data is
   at hand, the results are counted: the node itself is run with the greatest number of results
   there can be, and rows that it does not need are recognized by a -1 or, for Unique, by a count of
   0. Otherwise such a size is a symbol of its own, made once for each node. */
#include "graphs/onnx/items.h"
#include "ops/core/element.h"

static bool give_count(Import *s, int attr, Poly n) {
    give_ints(s, attr, 1, &n);
    return true;
}
static bool unknown_count(Import *s, int attr) {
    if (!s->n->count) s->n->count = poly_symbol(s->w, symbol_data(s->w));
    return give_count(s, attr, s->n->count);
}

/* Computes the last result of the node with that many rows. Returns false if the data is not at
   hand. */
static bool computed_rows(Import *s, int attr, Poly most, int nin, int nout, Type *t,
                          const void **bytes) {
    Attr given[ATTRS_MAX];
    bool is_given[ATTRS_MAX];
    const char *why;
    int64_t limit;
    if (!s->m->open.value || !poly_constant(s->w, most, &limit) || limit > INT32_MAX) return false;
    give_count(s, attr, most);
    for (int k = 0; k < ATTRS_MAX; k++) given[k] = s->attr[k], is_given[k] = s->given[k];
    if (!node_attrs(s->w, s->op, s->in[0], is_given, given, &why)) return false;
    Value v = node_make(s->w, s->op, given, nin, s->in, nout, &why);
    return v && import_data(s, v + (Value)(nout - 1), t, bytes);
}

bool import_count_nonzero(Import *s, int attr) {
    const Type *x = s->nin ? import_type(s, s->in[0]) : NULL;
    Type t;
    const void *bytes;
    int64_t most, n = 0;
    if (!x) return false;
    if (x->dim.n == 0 || !computed_rows(s, attr, type_count(s->w, x), 1, 1, &t, &bytes))
        return unknown_count(s, attr);
    poly_constant(s->w, t.dim.v[1], &most);
    while (n < most && element_integer(t.dtype, bytes, n) >= 0) n++;
    return give_count(s, attr, poly_int(s->w, n));
}

bool import_count_compress(Import *s, int attr) {
    Type t;
    const void *bytes;
    int64_t all, n = 0;
    if (s->nin < 2 || !import_type(s, s->in[1]) || !import_type(s, s->in[0])) return false;
    if (!import_data(s, s->in[1], &t, &bytes) || !poly_constant(s->w, type_count(s->w, &t), &all))
        return unknown_count(s, attr);
    for (int64_t k = 0; k < all; k++) n += element_integer(t.dtype, bytes, k) != 0;
    return give_count(s, attr, poly_int(s->w, n));
}

/* Without an axis, the node works on x flattened to a list. */
bool import_axis_list(Import *s, int attr) {
    const Type *x = s->nin && !s->given[attr] ? import_type(s, s->in[0]) : NULL;
    if (!x) return s->given[attr];
    Value *in = arena_copy(s->w->arena, s->in, sizeof(Value) * (size_t)s->nin);
    in[0] = reshape_to(s, in[0], (Dims){1, {type_count(s->w, x)}});
    return s->in = in, in[0] != 0;
}

/* Counts the rows whose number of occurrences is not 0: each distinct element occurs at least once,
   and rows that are not needed have the count 0. */
bool import_count_unique(Import *s, int attr) {
    const Type *x = s->nin ? import_type(s, s->in[0]) : NULL;
    Type t;
    const void *bytes;
    int64_t most, n = 0;
    int at = op_attr_index(s->op, "axis"), axis;
    if (!x || !(s->given[at] ? import_axis_of(s, s->attr[at].ints, 0, x->dim.n, &axis)
                             : import_axis(s, 0, x->dim.n, &axis)))
        return false;
    if (!computed_rows(s, attr, x->dim.v[axis], 1, 4, &t, &bytes)) return unknown_count(s, attr);
    poly_constant(s->w, t.dim.v[0], &most);
    while (n < most && element_integer(t.dtype, bytes, n) > 0) n++;
    return give_count(s, attr, poly_int(s->w, n));
}

bool import_count_nms(Import *s, int attr) {
    const Type *scores = s->nin > 1 && import_type(s, s->in[0]) ? import_type(s, s->in[1]) : NULL;
    int most = op_attr_index(s->op, "most");
    Type t;
    const void *bytes;
    int64_t rows, n = 0, limit, boxes;
    if (!scores || scores->dim.n != 3) return import_fail(s, "scores of the wrong rank");
    Poly each = s->given[most] ? s->attr[most].ints.v[0] : 0;
    if (poly_constant(s->w, each, &limit) && poly_constant(s->w, scores->dim.v[2], &boxes) &&
        limit > boxes)
        each = scores->dim.v[2];
    Poly all = poly_mul(s->w, each, poly_mul(s->w, scores->dim.v[0], scores->dim.v[1]));
    if (!computed_rows(s, attr, all, 2, 1, &t, &bytes)) return unknown_count(s, attr);
    poly_constant(s->w, t.dim.v[0], &rows);
    while (n < rows && element_integer(t.dtype, bytes, 3 * n) >= 0) n++;
    return give_count(s, attr, poly_int(s->w, n));
}
