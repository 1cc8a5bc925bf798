/* emit_spelling.c -- the export functions of items.def, which write what import/spelling*.c
   reads. */
#include "graphs/onnx/items.h"
#include "ops/core/element.h"
#include <string.h>

bool export_pads_attribute(Draft *d, int attr) { return draft_ints(d, "pads", d->attr[attr].ints); }
bool export_nothing(Draft *d, int attr) { return (void)d, (void)attr, true; }
bool export_never(Draft *d, int attr) {
    return (void)attr, draft_fail(d, "it has another spelling in ONNX");
}
bool export_for_runtime(Draft *d, int attr) {
    (void)attr;
    return model_allows(d->m, "com.microsoft") ||
           draft_fail(d, "operators of the domain com.microsoft are not allowed (--domain)");
}
bool export_broadcasts(Draft *d, int attr) {
    d->broadcasts = BROADCASTS_ALL;
    return (void)attr, true;
}
bool export_broadcasts_batch(Draft *d, int attr) {
    d->broadcasts = BROADCASTS_BATCH;
    return (void)attr, true;
}
bool export_broadcasts_pair(Draft *d, int attr) {
    d->broadcasts = BROADCASTS_PAIR;
    return (void)attr, true;
}
bool export_broadcasts_c(Draft *d, int attr) {
    d->broadcasts = BROADCASTS_C;
    return (void)attr, true;
}

/* In ONNX, a reduction with an empty list of axes reduces all axes, so one over no axes cannot be
   expressed. */
bool export_axes(Draft *d, int attr) {
    return d->attr[attr].ints.n || draft_fail(d, "a reduction over no axes");
}
bool export_axes_or_none(Draft *d, int attr) {
    return d->attr[attr].ints.n || draft_int(d, "noop_with_empty_axes", 1);
}

bool export_axes_spatial(Draft *d, int attr) {
    const Type *x = draft_type(d, 0);
    PolyList axes = d->attr[attr].ints;
    int64_t a;
    if (!d->kept || !x || axes.n != x->dim.n - 2)
        return draft_fail(d, "the reduced axes are not exactly the spatial axes, or are not kept");
    for (int k = 0; k < axes.n; k++)
        if (!poly_constant(d->w, axes.v[k], &a) || a != k + 2)
            return draft_fail(d, "the reduced axes are not exactly the spatial axes");
    return true;
}

bool export_keepdims(Draft *d, int attr) { return (void)attr, draft_int(d, "keepdims", d->kept); }
bool export_kept(Draft *d, int attr) {
    return (void)attr, d->kept || draft_fail(d, "it keeps reduced axes");
}

bool export_axis_last(Draft *d, int attr) {
    const Type *x = draft_type(d, 0);
    int64_t a;
    if (!x || !poly_constant(d->w, d->attr[attr].ints.v[0], &a) ||
        (a < 0 ? a + x->dim.n : a) != x->dim.n - 1)
        return draft_fail(d, "an axis other than the last one");
    return draft_int(d, "axis", x->dim.n - 1);
}

/* Finds the end of a slice along one axis, given a step that is a number. Returns false if it
   cannot be expressed. */
static bool slice_end(Draft *d, Poly start, Poly size, int64_t step, Poly *end) {
    int64_t e;
    *end = poly_add(d->w, start, poly_mul(d->w, size, poly_int(d->w, step)));
    const bool known = poly_constant(d->w, *end, &e);
    if (step > 1 && known && !poly_is(d->w, size, 0))
        *end = poly_add(d->w, *end, poly_int(d->w, 1 - step));
    if (step < 0 && !known) return draft_fail(d, "a backward slice whose end is not a constant");
    if (step < 0 && e < 0) *end = poly_int(d->w, INT32_MIN);
    return true;
}

bool export_slice(Draft *d, int attr) {
    const Type *x = draft_type(d, 0);
    PolyList start = draft_list(d, "starts"), size = draft_list(d, "sizes"),
             step = draft_list(d, "steps");
    Poly *ends = ARENA_NEW(d->w->arena, Poly, start.n),
         *axes = ARENA_NEW(d->w->arena, Poly, start.n),
         *from = ARENA_NEW(d->w->arena, Poly, start.n), *by = ARENA_NEW(d->w->arena, Poly, start.n);
    bool old = model_version(d->m) < 10, unit = true;
    int n = 0;
    (void)attr;
    for (int k = 0; k < start.n; k++) {
        int64_t st;
        if (!poly_constant(d->w, step.v[k], &st))
            return draft_fail(d, "a step that is not a constant");
        if (st == 1 && size.v[k] == x->dim.v[k]) continue;
        if (!slice_end(d, start.v[k], size.v[k], st, &ends[n])) return false;
        unit &= st == 1;
        axes[n] = poly_int(d->w, k), by[n] = step.v[k], from[n++] = start.v[k];
    }
    if (old && !unit) return draft_fail(d, "steps, which Slice supports only from version 10 on");
    if (old)
        return draft_ints(d, "starts", (PolyList){n, from}) &&
               draft_ints(d, "ends", (PolyList){n, ends}) &&
               draft_ints(d, "axes", (PolyList){n, axes});
    if (!draft_list_slot(d, 1, (PolyList){n, from}) ||
        !draft_list_slot(d, 2, (PolyList){n, ends}) || !draft_list_slot(d, 3, (PolyList){n, axes}))
        return false;
    return unit || draft_list_slot(d, 4, (PolyList){n, by});
}

bool export_pads(Draft *d, int attr) {
    int value = draft_attr(d, "value");
    if (model_version(d->m) < 11)
        return draft_ints(d, "pads", d->attr[attr].ints) &&
               (value < 0 || draft_put(d, "value", value));
    return draft_list_slot(d, 1, d->attr[attr].ints) && (value < 0 || draft_real_slot(d, 2, value));
}

/* The sizes of a reshape with 0 for a size that is that of the same axis of x, and -1 for a size
   that is neither that nor a number. */
typedef struct ShortSizes {
    PolyList list;
    int holes; /* how many are -1 */
    bool open; /* one of those written as 0 is not a number */
    bool zero; /* one is the number 0, which is not meant as a copy */
} ShortSizes;

static ShortSizes short_sizes(const Draft *d, int attr) {
    const Type *x = draft_type(d, 0);
    const PolyList list = d->attr[attr].ints;
    Poly *v = ARENA_NEW(d->w->arena, Poly, list.n);
    ShortSizes s = {.list = {list.n, v}};
    bool zero = false, copied = true; /* copied: every 0 stands where x has one */
    for (int k = 0; k < list.n; k++) {
        int64_t c;
        const bool same = x && k < x->dim.n && x->dim.v[k] == list.v[k];
        v[k] = list.v[k];
        if (poly_constant(d->w, v[k], &c)) {
            zero |= c == 0, copied &= c != 0 || same;
            continue;
        }
        v[k] = poly_int(d->w, same ? 0 : -1);
        s.holes += !same, s.open |= same;
    }
    s.zero = zero && (s.holes || !copied);
    return s;
}

static bool put_sizes(Draft *d, PolyList list) {
    return model_version(d->m) < 5 ? draft_ints(d, "shape", list) : draft_list_slot(d, 1, list);
}

/* A runtime cannot infer a size given as -1 if another one is 0. */
bool export_reshape(Draft *d, int attr) {
    const ShortSizes s = short_sizes(d, attr);
    if (s.zero && model_version(d->m) < 14) return draft_fail(d, "a size of 0");
    if (s.zero) return draft_int(d, "allowzero", 1) && draft_list_slot(d, 1, d->attr[attr].ints);
    if (s.holes > 1 || (s.holes && s.open)) return draft_fail(d, "sizes that have to be computed");
    return put_sizes(d, s.list);
}

/* Before version 14 a computed size of 0 would be a copy: there the node fails at open sizes of 0
   that x does not have on the same axis. */
bool export_reshape_computed(Draft *d, int attr) {
    const ShortSizes s = short_sizes(d, attr);
    const bool old = model_version(d->m) < 14;
    if (s.zero) return draft_fail(d, "a size of 0");
    if (old) return put_sizes(d, s.holes > 1 ? d->attr[attr].ints : s.list);
    return draft_int(d, "allowzero", 1) && draft_list_slot(d, 1, d->attr[attr].ints);
}

/* Writes as `axes` those of size 1 that `more` has and `less` lacks; fails if more is missing. */
static bool axes_of_ones(Draft *d, PolyList more, PolyList less) {
    Poly *axes = ARENA_NEW(d->w->arena, Poly, more.n);
    int n = 0, at = 0;
    for (int k = 0; k < more.n; k++) {
        if (at < less.n && more.v[k] == less.v[at]) at++;
        else if (poly_is(d->w, more.v[k], 1)) axes[n++] = poly_int(d->w, k);
        else return draft_fail(d, "sizes that have to be computed");
    }
    if (at < less.n || !n) return draft_fail(d, "sizes that have to be computed");
    PolyList out = {n, axes};
    return model_version(d->m) < 13 ? draft_ints(d, "axes", out) : draft_list_slot(d, 1, out);
}
bool export_squeeze(Draft *d, int attr) {
    const Dims x = draft_type(d, 0)->dim;
    return axes_of_ones(d, (PolyList){x.n, x.v}, d->attr[attr].ints);
}
bool export_unsqueeze(Draft *d, int attr) {
    const Dims x = draft_type(d, 0)->dim;
    return axes_of_ones(d, d->attr[attr].ints, (PolyList){x.n, x.v});
}

bool export_flatten(Draft *d, int attr) {
    const Dims x = draft_type(d, 0)->dim;
    const PolyList y = d->attr[attr].ints;
    for (int axis = 0; y.n == 2 && axis <= x.n; axis++) {
        Poly side[2] = {poly_int(d->w, 1), poly_int(d->w, 1)};
        for (int k = 0; k < x.n; k++) side[k >= axis] = poly_mul(d->w, side[k >= axis], x.v[k]);
        if (side[0] == y.v[0] && side[1] == y.v[1]) return draft_int(d, "axis", axis);
    }
    return draft_fail(d, "sizes that have to be computed");
}

/* Writes the axis of x for each axis of the result: the next one of size 1 for a size of 1, and the
   next other one for another size. */
bool export_moved_ones(Draft *d, int attr) {
    const Dims x = draft_type(d, 0)->dim;
    const PolyList y = d->attr[attr].ints;
    Poly *perm = ARENA_NEW(d->w->arena, Poly, y.n);
    int at[2] = {0, 0};
    for (int k = 0; k < y.n; k++) {
        const bool one = poly_is(d->w, y.v[k], 1);
        while (at[one] < x.n && poly_is(d->w, x.v[at[one]], 1) != one) at[one]++;
        if (x.n != y.n || at[one] == x.n || x.v[at[one]] != y.v[k])
            return draft_fail(d, "sizes that have to be computed");
        perm[k] = poly_int(d->w, at[one]++);
    }
    return draft_ints(d, "perm", (PolyList){y.n, perm});
}

bool export_expand(Draft *d, int attr) { return draft_list_slot(d, 1, d->attr[attr].ints); }
bool export_stretched(Draft *d, int attr) {
    const Dims x = draft_type(d, 0)->dim;
    const PolyList repeats = d->attr[attr].ints;
    for (int k = 0; k < x.n; k++)
        if (!poly_is(d->w, repeats.v[k], 1) && (k == x.n - 1 || !poly_is(d->w, x.v[k], 1)))
            return draft_fail(d, "a repetition of more than one element");
    return draft_list_slot(d, 1, repeats);
}

/* Writes whole factors as scales, the only form that older versions have. */
static bool export_scales(Draft *d, PolyList list) {
    const Type *x = draft_type(d, 0);
    float *v = ARENA_NEW(d->w->arena, float, list.n);
    if (model_version(d->m) < 9) return draft_fail(d, "scales as an attribute");
    for (int k = 0; k < list.n; k++) {
        Poly factor;
        int64_t c;
        if (!poly_divide(d->w, list.v[k], x->dim.v[k], &factor) ||
            !poly_constant(d->w, factor, &c) || c < 1 || c > 1 << 20)
            return draft_fail(d, "sizes that are not whole multiples, which Resize supports only "
                                 "from version 11 on");
        v[k] = (float)c;
    }
    return draft_slot(d, 1,
                      constant_copied(d->w, DT_FLOAT, (Dims){1, {poly_int(d->w, list.n)}}, v));
}

bool export_resize(Draft *d, int attr) {
    if (model_version(d->m) < 11) return export_scales(d, d->attr[attr].ints);
    const Value empty = model_version(d->m) < 13
                            ? constant_copied(d->w, DT_FLOAT, (Dims){1, {poly_int(d->w, 0)}}, "")
                            : 0;
    return draft_slot(d, 1, empty) && draft_slot(d, 2, empty) &&
           draft_list_slot(d, 3, d->attr[attr].ints);
}

bool export_value_tensor(Draft *d, int attr) {
    int at = draft_attr(d, "dtype");
    double value;
    DType dtype = at < 0 ? DT_FLOAT : (DType)d->attr[at].enum_value;
    if (!ex_number(d->w, d->attr[attr].real, &value) || !element_readable(dtype))
        return draft_fail(d, "a number that is a symbolic variable");
    char *bytes = arena_alloc(d->w->arena, 16);
    int64_t one = 1;
    Type type = {.dtype = dtype, .known = true, .dim = {1, {poly_int(d->w, 1)}}};
    Text t = text_new(d->w->arena);
    element_set_real(dtype, bytes, 0, value);
    tensor_put(&t, NULL, &type, &one, bytes, element_bytes(dtype, 1));
    draft_new(d, "value", ONNX_ATTR_TENSOR)->tensor = text_slice(&t);
    return true;
}

static Value cast_value(World *w, Value v, DType dtype) {
    Attr attr[ATTRS_MAX] = {{.enum_value = 0}};
    bool given[ATTRS_MAX] = {0};
    const char *why;
    const int to = attrs_find(op_cast.attrs, "to");
    attr[to].enum_value = (int)dtype;
    given[to] = true;
    return v && node_attrs(w, &op_cast, v, given, attr, &why)
               ? node_make(w, &op_cast, attr, 1, &v, 1, &why)
               : 0;
}

static Value scalar_value(Draft *d, Poly p, DType dtype) {
    int64_t v;
    if (poly_constant(d->w, p, &v)) return constant_integer(d->w, dtype, v);
    const Value list = draft_size(d, p);
    if (!list) return draft_fail(d, "a size that no value in the model has"), 0;
    const Value number =
        node_call(d->w, &op_reshape, 1, &list, (NamedList[]){{"shape", {0, NULL}}, {0}});
    return dtype == DT_INT64 ? number : cast_value(d->w, number, dtype);
}
bool export_range(Draft *d, int attr) {
    PolyList start = draft_list(d, "start"), n = draft_list(d, "n"), step = draft_list(d, "step");
    DType dtype = (DType)d->attr[draft_attr(d, "dtype")].enum_value;
    (void)attr;
    Poly limit = poly_add(d->w, start.v[0], poly_mul(d->w, n.v[0], step.v[0]));
    Value a = scalar_value(d, start.v[0], dtype), b = scalar_value(d, limit, dtype),
          c = scalar_value(d, step.v[0], dtype);
    return a && b && c && draft_slot(d, 0, a) && draft_slot(d, 1, b) && draft_slot(d, 2, c);
}

bool export_hidden(Draft *d, int attr) { return draft_put(d, "hidden_size", attr); }
/* Writes output_dtype, unless the element type is the one that the node has by default. */
static bool output_dtype(Draft *d, int attr, DType itself) {
    if ((DType)d->attr[attr].enum_value == itself) return true;
    return model_version(d->m) >= 21 ? draft_int(d, "output_dtype", d->attr[attr].enum_value)
                                     : draft_fail(d, "another element type");
}
bool export_to_quantized(Draft *d, int attr) {
    return output_dtype(d, attr, draft_type(d, 2) ? draft_type(d, 2)->dtype : DT_UINT8);
}
bool export_to_scale(Draft *d, int attr) { return output_dtype(d, attr, draft_type(d, 1)->dtype); }
bool export_trains_by_attribute(Draft *d, int attr) {
    return (void)attr, draft_int(d, "training_mode", 1);
}
/* tanh is the default, which is not written. */
bool export_activation(Draft *d, int attr) {
    static const char *const relu[] = {"Relu", "Relu"};
    enum { BIDIRECTIONAL = 2 };
    if (!d->attr[attr].enum_value) return true;
    const int direction = d->attr[draft_attr(d, "direction")].enum_value;
    OnnxAttr *t = draft_new(d, "activations", ONNX_ATTR_TEXTS);
    t->texts = relu, t->n = direction == BIDIRECTIONAL ? 2 : 1;
    return true;
}
bool export_trains_by_input(Draft *d, int attr) {
    (void)attr;
    return draft_slot(d, 2, constant_integer(d->w, DT_BOOL, true));
}
bool export_shape_like(Draft *d, int attr) {
    const Value zero = constant_real(d->w, DT_FLOAT, 0);
    const Value like =
        node_call(d->w, &op_broadcast, 1, &zero, (NamedList[]){{"shape", d->attr[attr].ints}, {0}});
    return like ? draft_slot(d, 0, like) : draft_fail(d, "sizes that cannot be written");
}
bool export_dtype(Draft *d, int attr) { return draft_put(d, "dtype", attr); }
bool export_axis_dft(Draft *d, int attr) { return draft_input(d, attr, 2, false); }
bool export_length_stft(Draft *d, int attr) {
    return !d->attr[attr].ints.v[0] || draft_input(d, attr, 3, false);
}
bool export_length_dft(Draft *d, int attr) {
    return d->attr[attr].ints.v[0] ? draft_input(d, attr, 1, false) : draft_slot(d, 1, 0);
}
