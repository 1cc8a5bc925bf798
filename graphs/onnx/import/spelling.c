/* spelling.c -- import functions of items.def for attributes that ONNX states in another form than
   we do. Sizes may be polynomials. Where ONNX clamps a size, the polynomial does so with min;
   nothing is assumed about sizes that a valid model need not fulfil. */
#include "graphs/onnx/items.h"
#include "ops/operator/value.h"
#include <string.h>

static Poly whole_number(Import *s, int64_t v) { return poly_int(s->w, v); }
static bool given_attr(Import *s, const char *name, PolyList *out) {
    int k = op_attr_index(s->op, name);
    if (k < 0 || !s->given[k]) return false;
    return *out = s->attr[k].ints, true;
}
static Poly greatest(Import *s, Poly a, Poly b) {
    return poly_sub(s->w, poly_add(s->w, a, b), poly_min(s->w, a, b));
}
/* The smaller and the larger of two sizes. If one of them is the larger one for all sizes, the
   result is that one, without a min. */
static bool covers(Import *s, Poly a, Poly b) {
    return value_natural_by_cases(s->w, poly_sub(s->w, a, b));
}
static Poly min_size(Import *s, Poly a, Poly b) {
    return covers(s, b, a) ? a : covers(s, a, b) ? b : poly_min(s->w, a, b);
}
static Poly max_size(Import *s, Poly a, Poly b) {
    return covers(s, a, b) ? a : covers(s, b, a) ? b : greatest(s, a, b);
}

/* Finds the pads of one axis for SAME_UPPER and SAME_LOWER, which make the number of windows the
   size divided by the stride, rounded up. */
typedef struct AxisWindows { /* along one axis */
    Poly size, kernel, stride, dilation;
} AxisWindows;
static bool same_pads(Import *s, const AxisWindows *a, bool upper, Poly *begin, Poly *end) {
    int64_t k, st, d, n = 0, all;
    if (!poly_constant(s->w, a->kernel, &k) || !poly_constant(s->w, a->stride, &st) ||
        !poly_constant(s->w, a->dilation, &d) || st < 1)
        return import_fail(s, "auto_pad where sizes are not known numbers");
    if (k < 1 || k > INT32_MAX || st > INT32_MAX || d < 1 || d > INT32_MAX)
        return import_fail(s, "a kernel size, stride or dilation below 1 or beyond 32 bits");
    if (!poly_constant(s->w, a->size, &n) && st != 1)
        return import_fail(s, "auto_pad with strides on an axis whose size is not a known number");
    all = st == 1 ? (k - 1) * d : ((n + st - 1) / st - 1) * st + (k - 1) * d + 1 - n;
    /* Where the formula of the specification gives a negative padding, some runtimes crop the input
       and others do not pad. For -1 both mean the same, since the cropped element is at the end,
       where no window reads it. */
    if (all < -1) return import_fail(s, "auto_pad with strides that pass over whole elements");
    if (all < 0) all = 0;
    import_halves(s->w, all, upper, begin, end);
    return true;
}

bool import_auto_pad(Import *s, int attr) {
    PolyList pads, kernel = {0}, stride, dilation;
    const Dims *x = import_dims(s, 0), *w;
    if (!x || x->n < 2) return import_fail(s, "too few axes");
    int n = x->n - 2;
    const char *how = onnx_attr_text(s, "auto_pad", "NOTSET");
    bool automatic = strcmp(how, "NOTSET") != 0, listed = list_from(s, "pads", -1, &pads);
    if (s->why) return false;
    if (!automatic && !listed) return true;
    if (!automatic && pads.n != 2 * n) return import_fail(s, "a wrong number of pads");
    if (!automatic) return give_ints(s, attr, pads.n, pads.v), true;
    Poly *v = ARENA_NEW(s->w->arena, Poly, 2 * n);
    if (strcmp(how, "VALID") == 0) return give_ints(s, attr, 2 * n, v), true;
    if (!given_attr(s, "kernel", &kernel)) {
        if (!(w = import_dims(s, op_input_named(s->op, "w"))) || w->n != x->n)
            return import_fail(s, "auto_pad without a known kernel size");
        kernel = (PolyList){n, w->v + 2};
    }
    bool strided = given_attr(s, "strides", &stride),
         dilated = given_attr(s, "dilations", &dilation);
    if (kernel.n != n || (strided && stride.n != n) || (dilated && dilation.n != n))
        return import_fail(s, "lists of the wrong length");
    for (int k = 0; k < n; k++) {
        const AxisWindows a = {x->v[k + 2], kernel.v[k], strided ? stride.v[k] : whole_number(s, 1),
                               dilated ? dilation.v[k] : whole_number(s, 1)};
        if (!same_pads(s, &a, strcmp(how, "SAME_UPPER") == 0, &v[k], &v[k + n])) return false;
    }
    return give_ints(s, attr, 2 * n, v), true;
}

bool import_kernel_shape(Import *s, int attr) {
    OnnxAttr t;
    PolyList list;
    (void)attr;
    if (!onnx_attr(s, "kernel_shape", &t)) return true;
    const Dims *w = import_dims(s, op_input_named(s->op, "w"));
    if (!w || !onnx_attr_list(&t, &list, s) || list.n != w->n - 2)
        return import_fail(s, "kernel_shape does not match the kernel");
    for (int k = 0; k < list.n; k++)
        if (list.v[k] != w->v[k + 2])
            return import_fail(s, "kernel_shape does not match the kernel");
    return true;
}

bool import_perm(Import *s, int attr) {
    const Dims *x = import_dims(s, 0);
    Poly v[RANK_MAX];
    if (!x || s->given[attr]) return x != NULL;
    for (int k = 0; k < x->n; k++) v[k] = whole_number(s, x->n - 1 - k);
    return give_ints(s, attr, x->n, v), true;
}

bool import_axes(Import *s, int attr) {
    bool none = onnx_attr_int(s, "noop_with_empty_axes", 0) == 1;
    if (s->given[attr] && s->attr[attr].ints.n) return true;
    const Dims *x = import_dims(s, 0);
    Poly v[RANK_MAX];
    if (none) return give_ints(s, attr, 0, NULL), true;
    for (int k = 0; x && k < x->n; k++) v[k] = whole_number(s, k);
    if (x) give_ints(s, attr, x->n, v);
    return x != NULL;
}

bool import_axes_spatial(Import *s, int attr) {
    const Dims *x = import_dims(s, 0);
    Poly v[RANK_MAX];
    for (int k = 2; x && k < x->n; k++) v[k - 2] = whole_number(s, k);
    if (x && x->n < 3) return import_fail(s, "no spatial axes");
    if (x) give_ints(s, attr, x->n - 2, v);
    return x != NULL;
}

bool import_keepdims(Import *s, int attr) {
    (void)attr;
    s->keepdims = onnx_attr_int(s, "keepdims", 1) != 0;
    return true;
}

bool import_axis_flatten(Import *s, int attr) {
    (void)attr;
    s->flatten = true, s->flatten_at = onnx_attr_int(s, "axis", 1);
    return true;
}

bool import_fold(Import *s, int attr) { return (void)attr, s->fold = true; }
bool import_nothing(Import *s, int attr) { return (void)s, (void)attr, true; }
bool import_never(Import *s, int attr) {
    return (void)attr, import_fail(s, "it is read as another operator");
}
bool import_stretch(Import *s, int attr) { return (void)attr, s->stretch = true; }
bool import_stretch_pair(Import *s, int attr) { return (void)attr, s->stretch_pair = true; }
bool import_letters(Import *s, int attr) { return (void)attr, s->ordered = true; }
bool import_stretch_others(Import *s, int attr) { return (void)attr, s->stretch_others = true; }
bool import_stretch_c(Import *s, int attr) { return (void)attr, s->stretch_c = true; }

/* Up to opset 6, input 1 is broadcast only if broadcast=1; its axes are then those of input 0 from
   `axis` on. */
bool import_broadcast_axis(Import *s, int attr) {
    (void)attr;
    bool stretched = onnx_attr_int(s, "broadcast", 0) == 1;
    const Dims *a = import_dims(s, 0), *b = import_dims(s, 1);
    if (!a || !b) return false;
    int64_t from = onnx_attr_int(s, "axis", a->n - b->n);
    if (!stretched)
        return dims_equal(a, b) || import_fail(s, "sizes differ but broadcast=1 is not set");
    if (from < 0) from += a->n;
    if (from < 0 || from > a->n - b->n) return import_fail(s, "axis out of range");
    Dims d = *b;
    while (d.n < a->n - from) d.v[d.n++] = whole_number(s, 1);
    Value *in = arena_copy(s->w->arena, s->in, sizeof(Value) * (size_t)s->nin);
    in[1] = reshape_to(s, in[1], d);
    return s->in = in, in[1] != 0;
}

/* Clamps the start or end of a slice with a positive step to 0..n. Converters write 10^9 or more
   for "to the end"; no axis is that long. What is negative counts from the end, so the sign must be
   the same for all sizes; n - 1, which is negative for an empty axis only, is clamped to 0 there,
   too. */
static Poly slice_bound(Import *s, Poly n, Poly at) {
    const int64_t limit = 1000000000 - 1;
    const Poly zero = whole_number(s, 0);
    int64_t k;
    if (!poly_constant(s->w, at, &k)) {
        const Poly last = poly_sub(s->w, n, whole_number(s, 1)),
                   less = poly_sub(s->w, poly_scale(s->w, at, -1), whole_number(s, 1));
        if (at == n) return n;
        if (at == last) return max_size(s, at, zero);
        if (value_natural_by_cases(s->w, at)) return min_size(s, at, n);
        if (value_natural_by_cases(s->w, less)) return max_size(s, poly_add(s->w, n, at), zero);
        import_fail(s, "a bound of a slice that is negative for some sizes only");
        return zero;
    }
    return k < -limit  ? zero
           : k > limit ? n
           : k < 0     ? max_size(s, poly_add(s->w, n, at), zero)
                       : min_size(s, at, n);
}

/* Computes one axis of Slice: clamps start and end (for a negative step to 0..n-1 and -1..n-1),
   then counts the steps between them. */
static bool slice_axis(Import *s, Poly n, Poly from, Poly to, int64_t step, Poly *start,
                       Poly *size) {
    int64_t a, b, all;
    bool known = poly_constant(s->w, n, &all), low = poly_constant(s->w, from, &a),
         high = poly_constant(s->w, to, &b);
    if ((!low || !high || !known) && step < 0)
        return import_fail(s, "a slice with a negative step where sizes are not known numbers");
    if (step < 0) {
        a = a < 0 ? a + all : a, b = b < 0 ? b + all : b;
        a = a < 0 ? 0 : a, a = a > all - 1 ? all - 1 : a;
        b = b > all - 1 ? all - 1 : b < -1 ? -1 : b;
        int64_t count = a > b ? (a - b - step - 1) / -step : 0;
        return *start = whole_number(s, count ? a : 0), *size = whole_number(s, count), true;
    }
    const Poly zero = whole_number(s, 0);
    from = slice_bound(s, n, from), to = slice_bound(s, n, to);
    Poly length = max_size(s, poly_sub(s->w, to, from), zero);
    *start = from, *size = poly_floor(s->w, poly_add(s->w, length, whole_number(s, step - 1)),
                                      whole_number(s, step));
    int64_t none;
    if (poly_constant(s->w, *size, &none) && none == 0) *start = zero;
    return !overflow_noted(s->w) && !s->why;
}

/* Gets the step of entry k, along an axis of size n. */
static bool slice_step(Import *s, PolyList steps, int k, Poly n, int64_t *step) {
    int64_t size;
    if (!number_at(s, steps, k, step)) return false;
    const bool far = *step < -INT32_MAX || *step > INT32_MAX;
    /* A step that long reads the first element alone, and so does the shorter step. */
    if (far && poly_constant(s->w, n, &size) && size < INT32_MAX)
        *step = *step < 0 ? -size - 1 : size + 1;
    return (*step != 0 && *step >= -INT32_MAX && *step <= INT32_MAX) ||
           import_fail(s, "a step that is 0 or too large");
}

bool import_slice(Import *s, int attr) {
    (void)attr;
    PolyList from, to, axes, steps;
    const Dims *x = import_dims(s, 0);
    int starts = op_attr_index(s->op, "starts"), sizes = op_attr_index(s->op, "sizes"),
        by = op_attr_index(s->op, "steps");
    if (!x || !list_from(s, "starts", 1, &from) || !list_from(s, "ends", 2, &to))
        return import_fail(s, "starts and ends are missing");
    bool some = list_from(s, "axes", 3, &axes), stepped = list_from(s, "steps", 4, &steps),
         seen[RANK_MAX] = {0};
    if (s->why || from.n != to.n || from.n > x->n || (some && axes.n != from.n) ||
        (stepped && steps.n != from.n))
        return import_fail(s, "lists of different lengths");
    if (some && !import_distinct_axes(s, axes, x->n, seen)) return false;
    Poly start[RANK_MAX] = {0}, step[RANK_MAX];
    Dims size = *x;
    for (int k = 0; k < x->n; k++) step[k] = whole_number(s, 1);
    for (int k = 0; k < from.n; k++) {
        int a = k;
        int64_t st = 1, n;
        if ((some && !import_axis_of(s, axes, k, x->n, &a)) ||
            (stepped && !slice_step(s, steps, k, x->v[a], &st)) ||
            !slice_axis(s, x->v[a], from.v[k], to.v[k], st, &start[a], &size.v[a]))
            return false;
        const bool empty = poly_constant(s->w, size.v[a], &n) && n == 0; /* any step will do */
        step[a] = whole_number(s, empty ? 1 : st);
    }
    give_ints(s, starts, x->n, start), give_ints(s, sizes, x->n, size.v),
        give_ints(s, by, x->n, step);
    return true;
}

bool import_pads(Import *s, int attr) {
    PolyList pads, axes;
    const Dims *x = import_dims(s, 0);
    if (!x || !list_from(s, "pads", 1, &pads)) return import_fail(s, "pads are missing");
    bool some = list_from(s, "axes", 3, &axes), seen[RANK_MAX] = {0};
    int n = some ? axes.n : x->n;
    if (s->why || pads.n != 2 * n || n > x->n) return import_fail(s, "a wrong number of pads");
    Poly v[2 * RANK_MAX] = {0};
    if (some && !import_distinct_axes(s, axes, x->n, seen)) return false;
    for (int k = 0, a; k < n; k++) {
        a = k;
        if (some && !import_axis_of(s, axes, k, x->n, &a)) return false;
        v[a] = pads.v[k], v[a + x->n] = pads.v[k + n];
    }
    give_ints(s, attr, 2 * x->n, v);
    OnnxAttr t;
    int value = op_attr_index(s->op, "value");
    if (value < 0 && op_arity(s->op, &(bool){0}) > 1)
        return s->nin > 2 && s->in[2] ? true : import_fail(s, "a value is missing");
    if (value < 0) return onnx_attr(s, "value", &t), import_take(s, 2), true;
    return onnx_attr(s, "value", &t) ? give_attr(s, value, &t) : give_input(s, value, 2);
}

bool import_pads_center(Import *s, int attr) {
    PolyList sizes, axes;
    const Dims *x = import_dims(s, 0);
    if (!x || !input_list(s, 1, &sizes)) return import_fail(s, "sizes are missing");
    bool some = list_from(s, "axes", -1, &axes), seen[RANK_MAX] = {0};
    if (s->why || sizes.n > x->n || sizes.n != (some ? axes.n : x->n))
        return import_fail(s, "a wrong number of sizes");
    if (some && !import_distinct_axes(s, axes, x->n, seen)) return false;
    Poly v[2 * RANK_MAX] = {0}, none = whole_number(s, 0), two = whole_number(s, 2);
    for (int k = 0, a; k < sizes.n; k++) {
        a = k;
        if (some && !import_axis_of(s, axes, k, x->n, &a)) return false;
        Poly more = poly_sub(s->w, sizes.v[k], x->v[a]), less = poly_sub(s->w, none, more);
        v[a] = poly_sub(s->w, poly_floor(s->w, max_size(s, more, none), two),
                        poly_floor(s->w, max_size(s, less, none), two));
        v[a + x->n] = poly_sub(s->w, more, v[a]);
    }
    return give_ints(s, attr, 2 * x->n, v), true;
}

bool import_split(Import *s, int attr) {
    int parts = s->n->x.nout, at = op_attr_index(s->op, "axis");
    if (onnx_attr_int(s, "num_outputs", parts) != parts)
        return import_fail(s, "num_outputs is not the number of outputs");
    if (s->given[attr]) return true;
    const Dims *x = import_dims(s, 0);
    const bool given = at >= 0 && s->given[at];
    int axis;
    if (!x || !(given ? import_axis_of(s, s->attr[at].ints, 0, x->n, &axis)
                      : import_axis(s, 0, x->n, &axis)))
        return false;
    if (parts < 1) return import_fail(s, "a Split without outputs");
    Poly n = x->v[axis],
         each = poly_floor(s->w, poly_add(s->w, n, whole_number(s, parts - 1)),
                           whole_number(s, parts)),
         exact, *v = ARENA_NEW(s->w->arena, Poly, parts);
    if (poly_divide(s->w, n, whole_number(s, parts), &exact)) each = exact;
    for (int k = 0; k < parts - 1; k++) v[k] = each;
    v[parts - 1] = poly_sub(s->w, n, poly_scale(s->w, each, parts - 1));
    return give_ints(s, attr, parts, v), true;
}
