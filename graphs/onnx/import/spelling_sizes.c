/* spelling_sizes.c -- import functions of items.def that compute sizes: fill, range, resize,
   transposed convolution. */
#include "graphs/onnx/items.h"
#include "ops/core/element.h"
#include "ops/operator/value.h"
#include <math.h>
#include <string.h>

/* The greatest size that may result from floating-point arithmetic. */
static const double SIZE_MOST = 1e9;

static bool give_int(Import *s, const char *name, Poly p) {
    int k = op_attr_index(s->op, name);
    if (k >= 0) give_ints(s, k, 1, &p);
    return k >= 0;
}
static void give_dtype(Import *s, DType d) {
    int k = op_attr_index(s->op, "dtype");
    if (k >= 0) s->attr[k].enum_value = (int)d, s->given[k] = true;
}

/* Gets the type and the bytes of the attribute `value`, a tensor with one number. */
static bool value_tensor(Import *s, DType *dtype, const void **bytes) {
    OnnxAttr t;
    FileTensor tensor;
    Value v = 0;
    Type type;
    Error e = {0};
    if (!onnx_attr(s, "value", &t)) return import_fail(s, "a value is missing");
    Wire w = wire_new(t.tensor, s->m->x.bytes.at, node_place(s->m, s->n), &e);
    if (t.kind != ONNX_ATTR_TENSOR || !tensor_read(s->w->arena, w, &tensor) || tensor.count != 1 ||
        !tensor_constant(s->m, &tensor, &v, &e) || !constant_get(s->w, v, &type, bytes))
        return import_fail(s, "a value that is not a single number");
    *dtype = type.dtype;
    return element_readable(*dtype) || import_fail(s, "a value of an unsupported type");
}
/* Whether an attribute can be this element. */
static bool is_number(DType t, const void *bytes, double *out) {
    return element_exact(t, bytes, 0, out) && isfinite(*out);
}
bool import_value_tensor(Import *s, int attr) {
    OnnxAttr t;
    DType dtype;
    const void *bytes;
    double number;
    if (!onnx_attr(s, "value", &t)) return true;
    if (!value_tensor(s, &dtype, &bytes)) return false;
    if (!is_number(dtype, bytes, &number))
        return import_fail(s, "a value that is not finite, or an integer that no double holds");
    s->attr[attr].real = element_number(s->w, dtype, number);
    s->given[attr] = true;
    give_dtype(s, dtype);
    return true;
}
bool import_value_input(Import *s, int attr) {
    OnnxAttr t;
    DType dtype;
    const void *bytes;
    double number;
    (void)attr;
    if (!onnx_attr(s, "value", &t) || !value_tensor(s, &dtype, &bytes) ||
        is_number(dtype, bytes, &number))
        return false;
    give_list(s, 0, dtype, (Dims){0}, bytes);
    return true;
}

bool import_range(Import *s, int attr) {
    PolyList start, limit, delta;
    int64_t step, none;
    (void)attr;
    if (!input_list(s, 0, &start) || !input_list(s, 1, &limit) || !input_list(s, 2, &delta) ||
        start.n != 1 || limit.n != 1 || delta.n != 1)
        return import_fail(s, "a range whose bounds or step are not known integers");
    if (!number_at(s, delta, 0, &step) || step == 0 || step == INT64_MIN)
        return import_fail(s, "a range whose step is 0, beyond 64 bits or not a known number");
    Poly length =
        step > 0 ? poly_sub(s->w, limit.v[0], start.v[0]) : poly_sub(s->w, start.v[0], limit.v[0]);
    int64_t by = step > 0 ? step : -step;
    Poly n = poly_floor(s->w, poly_add(s->w, length, poly_int(s->w, by - 1)), poly_int(s->w, by));
    if (poly_constant(s->w, n, &none)) n = poly_int(s->w, none < 0 ? 0 : none);
    else if (!value_natural_by_cases(s->w, n))
        n = poly_sub(s->w, n, poly_min(s->w, n, poly_int(s->w, 0)));
    give_dtype(s, value_type(s->w, s->in[0])->dtype);
    return give_int(s, "start", start.v[0]) && give_int(s, "n", n) &&
           give_int(s, "step", delta.v[0]);
}

/* Multiplies a size by a factor, exactly or not at all. The factor is written as p / q with q a
   power of two up to 4096. */
static bool scaled_size(Import *s, Poly size, double factor, Poly *out) {
    int64_t p, q = 1;
    while (factor != floor(factor) && q < 4096) factor *= 2, q *= 2;
    if (factor != floor(factor) || factor < 1 || factor > 1e6)
        return import_fail(s, "a scale that does not give a whole number for every size");
    p = (int64_t)factor;
    Poly product = poly_scale(s->w, size, p);
    return q == 1 ? (*out = product, true)
                  : poly_divide(s->w, product, poly_int(s->w, q), out) ||
                        import_fail(s, "a scale that does not give a whole number for every size");
}

static bool scales_of(Import *s, int *n, double factor[]) {
    OnnxAttr t;
    Type type;
    const void *bytes;
    int64_t count = 0;
    int k = s->n->version < 11 ? 1 : 2;
    if (onnx_attr(s, "scales", &t) && t.kind == ONNX_ATTR_FLOATS && t.n <= RANK_MAX) {
        for (*n = 0; *n < t.n; ++*n) factor[*n] = (double)t.floats[*n];
        return true;
    }
    if (k >= s->nin || !s->in[k] || !import_data(s, s->in[k], &type, &bytes))
        return import_fail(s, "scales that are not constant");
    if (!poly_constant(s->w, type_count(s->w, &type), &count) || count > RANK_MAX ||
        type.dtype != DT_FLOAT)
        return import_fail(s, "scales that are not a list of at most %d numbers", RANK_MAX);
    for (*n = 0; *n < count; ++*n) factor[*n] = element_real(type.dtype, bytes, *n);
    return *n > 0 || import_fail(s, "no scales");
}

/* What a Resize node says about sizes: for n of the axes, all different, a size or a scale. */
typedef struct Scaling {
    Dims from;  /* the sizes of the input */
    bool sized; /* sizes are given, not scales */
    int n, axis[RANK_MAX];
    PolyList sizes;          /* by k < n, if `sized` */
    double factor[RANK_MAX]; /* by k < n, if not `sized` */
} Scaling;
static bool read_scaling(Import *s, Scaling *z) {
    const Type *x = s->nin ? import_type(s, s->in[0]) : NULL;
    const uint64_t taken =
        s->consumed_inputs; /* the caller decides whether these inputs are taken */
    bool seen[RANK_MAX] = {0};
    PolyList axes = {0};
    if (!x) return false;
    *z = (Scaling){.from = x->dim, .sized = s->nin > 3 && s->in[3]};
    const bool some = list_from(s, "axes", -1, &axes);
    if (s->why || (z->sized ? !input_list(s, 3, &z->sizes) : !scales_of(s, &z->n, z->factor)))
        return false;
    s->consumed_inputs = taken;
    if (z->sized) z->n = z->sizes.n;
    if (z->n != (some ? axes.n : x->dim.n))
        return import_fail(s, "a wrong number of sizes or scales");
    if (some && !import_distinct_axes(s, axes, x->dim.n, seen)) return false;
    for (int k = 0; k < z->n; k++) {
        z->axis[k] = k;
        if (some && !import_axis_of(s, axes, k, x->dim.n, &z->axis[k])) return false;
    }
    return true;
}
/* Computes the sizes of the result; `scaled` multiplies a size by a scale. */
static bool resized(Import *s, const Scaling *z,
                    bool (*scaled)(Import *, Poly size, double factor, Poly *out), Dims *out) {
    *out = z->from;
    for (int k = 0; k < z->n; k++) {
        Poly *size = &out->v[z->axis[k]];
        if (z->sized) *size = z->sizes.v[k];
        else if (!scaled(s, *size, z->factor[k], size)) return false;
    }
    return true;
}

bool import_resize(Import *s, int attr) {
    Scaling z;
    Dims d;
    if (!read_scaling(s, &z) || !resized(s, &z, scaled_size, &d)) return false;
    for (int k = 1; k < s->nin; k++) import_take(s, k);
    return give_ints(s, attr, d.n, d.v), !s->why;
}

/* Applies keep_aspect_ratio_policy: all these axes get the same scale, the smallest or the largest
   of those that the sizes ask for. */
static bool keep_aspect(Import *s, const char *policy, const Scaling *z, Dims *d) {
    int64_t from[RANK_MAX], to;
    double scale = 0;
    for (int k = 0; k < z->n; k++) {
        if (!poly_constant(s->w, z->from.v[z->axis[k]], &from[k]) ||
            !poly_constant(s->w, d->v[z->axis[k]], &to) || from[k] < 1)
            return import_fail(s, "keeping the aspect ratio where sizes are not known numbers");
        double f = (double)to / (double)from[k];
        if (!k || (strcmp(policy, "not_larger") == 0 ? f < scale : f > scale)) scale = f;
    }
    for (int k = 0; k < z->n; k++) {
        const double size = scale * (double)from[k] + 0.5;
        if (!(size >= 0 && size < SIZE_MOST)) return import_fail(s, "a scale that is too large");
        d->v[z->axis[k]] = poly_int(s->w, (int64_t)size);
    }
    return true;
}

/* Computes floor(size * scale), with the product rounded to float as ONNX Runtime does. */
static bool scaled_down(Import *s, Poly size, double factor, Poly *out) {
    int64_t n;
    if (!poly_constant(s->w, size, &n)) return scaled_size(s, size, factor, out);
    double product = (double)((float)n * (float)factor);
    if (!(product >= 0 && product < SIZE_MOST)) return import_fail(s, "a scale that is too large");
    return *out = poly_int(s->w, (int64_t)floor(product)), true;
}

bool import_resample(Import *s, int attr) {
    Scaling z;
    Dims d;
    if (!read_scaling(s, &z) || !resized(s, &z, scaled_down, &d)) return false;
    const char *policy =
        z.sized ? onnx_attr_text(s, "keep_aspect_ratio_policy", "stretch") : "stretch";
    if (s->why || (strcmp(policy, "stretch") && !keep_aspect(s, policy, &z, &d))) return false;
    return give_ints(s, attr, d.n, d.v), true;
}

static Poly list_entry(Import *s, const char *name, int k, int64_t otherwise) {
    int a = op_attr_index(s->op, name);
    return a >= 0 && s->given[a] && k < s->attr[a].ints.n ? s->attr[a].ints.v[k]
                                                          : poly_int(s->w, otherwise);
}

/* The size of the result along spatial axis k, without pads, for an input of this size and a kernel
   of `taps` elements. */
static Poly transposed_size(Import *s, int k, Poly size, Poly taps, Poly extra) {
    World *w = s->w;
    const Poly one = poly_int(w, 1);
    const Poly kernel =
        poly_add(w, poly_mul(w, poly_sub(w, taps, one), list_entry(s, "dilations", k, 1)), one);
    const Poly moves = poly_mul(w, list_entry(s, "strides", k, 1), poly_sub(w, size, one));
    return poly_add(w, poly_add(w, moves, kernel), extra);
}

/* Sets the pads of a transposed convolution. They add up to the difference between the full size
   and the wanted size; if the full size is smaller, the difference is added at the end (attribute
   extra). */
bool import_pads_transposed(Import *s, int attr) {
    PolyList pads, shape;
    const Type *x = s->nin > 1 ? import_type(s, s->in[0]) : NULL,
               *w = x ? import_type(s, s->in[1]) : NULL;
    if (!w || x->dim.n < 3 || w->dim.n != x->dim.n) return import_fail(s, "too few axes");
    int n = x->dim.n - 2;
    const char *how = onnx_attr_text(s, "auto_pad", "NOTSET");
    bool automatic = strcmp(how, "NOTSET") != 0, listed = list_from(s, "pads", -1, &pads),
         shaped = list_from(s, "output_shape", -1, &shape);
    if (s->why) return false;
    if (!automatic && !shaped) return !listed || (give_ints(s, attr, pads.n, pads.v), true);
    Poly v[2 * RANK_MAX] = {0}, extra[RANK_MAX] = {0};
    bool valid = !shaped && strcmp(how, "VALID") == 0,
         upper = automatic && strcmp(how, "SAME_UPPER") == 0;
    if (shaped && shape.n != n) return import_fail(s, "output_shape has the wrong length");
    for (int k = 0; k < n && !valid; k++) {
        const Poly size = x->dim.v[k + 2];
        extra[k] = list_entry(s, "extra", k, 0);
        const Poly full = transposed_size(s, k, size, w->dim.v[k + 2], extra[k]),
                   want =
                       shaped ? shape.v[k] : poly_mul(s->w, size, list_entry(s, "strides", k, 1));
        int64_t all;
        if (!poly_constant(s->w, poly_sub(s->w, full, want), &all))
            return import_fail(s, "pads of a transposed convolution that are not known numbers");
        if (all < 0 && automatic) /* runtimes differ on where they add what is missing */
            return import_fail(s, "auto_pad with strides that pass over whole elements");
        if (all < 0) extra[k] = poly_add(s->w, extra[k], poly_int(s->w, -all)), all = 0;
        import_halves(s->w, all, upper, &v[k], &v[k + n]);
    }
    if (!valid) give_ints(s, op_attr_index(s->op, "extra"), n, extra);
    return give_ints(s, attr, 2 * n, v), true;
}
