/* spelling_shape.c -- import functions of items.def for nodes that state the sizes of their
   result. */
#include "graphs/onnx/items.h"

/* Infers the one size given as -1 from the number of elements, `total`. */
static bool infer_hole(Import *s, Dims *d, int hole, Poly total) {
    Poly rest = poly_int(s->w, 1);
    int64_t n;
    for (int k = 0; k < d->n; k++)
        if (k != hole) rest = poly_mul(s->w, rest, d->v[k]);
    if (poly_constant(s->w, rest, &n) && n == 0)
        return import_fail(s, "a -1 together with a size of 0");
    if (!poly_divide(s->w, total, rest, &d->v[hole])) d->v[hole] = poly_floor(s->w, total, rest);
    return true;
}

bool import_reshape(Import *s, int attr) {
    PolyList list;
    const Dims *x = import_dims(s, 0);
    bool allow = onnx_attr_int(s, "allowzero", 0) == 1;
    if (!x || !list_from(s, "shape", 1, &list) || list.n > RANK_MAX)
        return import_fail(s, "too few or too many sizes");
    Dims d = {.n = list.n};
    int hole = -1;
    for (int k = 0; k < list.n; k++) {
        int64_t v = 1;
        bool constant = poly_constant(s->w, d.v[k] = list.v[k], &v);
        if (constant && v == 0 && !allow) {
            if (k >= x->n) return import_fail(s, "a 0 for an axis that the input does not have");
            d.v[k] = x->v[k];
        }
        if (constant && v < 0 && (v < -1 || hole >= 0)) return import_fail(s, "a size below 0");
        if (constant && v < 0) hole = k;
    }
    if (hole >= 0 && !infer_hole(s, &d, hole, type_count(s->w, value_type(s->w, s->in[0]))))
        return false;
    return give_ints(s, attr, d.n, d.v), true;
}

bool import_squeeze(Import *s, int attr) {
    PolyList axes;
    const Dims *x = import_dims(s, 0);
    bool drop[RANK_MAX] = {0};
    if (!x) return false;
    bool some = list_from(s, "axes", 1, &axes);
    if (s->why || (some && !import_distinct_axes(s, axes, x->n, drop))) return false;
    Dims d = {0};
    for (int k = 0; k < x->n; k++) {
        int64_t n = 0;
        bool constant = poly_constant(s->w, x->v[k], &n);
        if (!some && !constant)
            return import_fail(s,
                               "squeeze of all axes of size 1 where a size is not a known number");
        if (!some) drop[k] = n == 1;
        if (!drop[k]) d.v[d.n++] = x->v[k];
    }
    return give_ints(s, attr, d.n, d.v), true;
}

bool import_unsqueeze(Import *s, int attr) {
    PolyList axes;
    const Dims *x = import_dims(s, 0);
    bool added[RANK_MAX] = {0};
    if (!x || !list_from(s, "axes", 1, &axes)) return import_fail(s, "axes are missing");
    Dims d = {.n = x->n + axes.n};
    if (d.n > RANK_MAX) return import_fail(s, "more than %d axes", RANK_MAX);
    if (!import_distinct_axes(s, axes, d.n, added)) return false;
    for (int k = 0, from = 0; k < d.n; k++) d.v[k] = added[k] ? poly_int(s->w, 1) : x->v[from++];
    return give_ints(s, attr, d.n, d.v), true;
}

bool import_flatten(Import *s, int attr) {
    const Dims *x = import_dims(s, 0);
    const int64_t at = onnx_attr_int(s, "axis", 1);
    Dims matrix;
    return x && import_matrix(s, x, at, &matrix) && (give_ints(s, attr, 2, matrix.v), true);
}

/* The node returns its input, like Identity. Dropout does so too: its inputs ratio and mode are
   dropped, and a training mode that is not false fails, since another operator covers it. */
bool import_same(Import *s, int attr) {
    s->is_identity = s->nin && s->in[0] && !value_type(s->w, s->in[0])->known;
    const Dims *x = s->is_identity ? NULL : import_dims(s, 0);
    if (!import_training(s, false)) return false;
    if (x) give_ints(s, attr, x->n, x->v);
    return x || s->is_identity;
}

bool import_expand(Import *s, int attr) {
    PolyList list;
    const Dims *x = import_dims(s, 0);
    if (!x || !list_from(s, NULL, 1, &list) || list.n > RANK_MAX)
        return import_fail(s, "too few or too many sizes");
    Dims d = {.n = list.n};
    for (int k = 0; k < list.n; k++) d.v[k] = list.v[k];
    if (!dims_stretch(s, *x, d, &d)) return false;
    return give_ints(s, attr, d.n, d.v), true;
}

bool import_to_like(Import *s, int attr) {
    const Type *t = s->nin > 1 && s->in[1] ? value_type(s->w, s->in[1]) : NULL;
    if (!t || !t->dtype) return import_fail(s, "the element type of input 1 is not known");
    import_take(s, 1), s->attr[attr].enum_value = (int)t->dtype;
    return s->given[attr] = true;
}
