/* pool: the maximum (maxpool) or the average (averagepool) over windows of the spatial axes of x
   [n, c, ..]. The window of output i covers the places s*i + d*k - p of x, for k within the kernel.
   Places outside x are ignored by the maximum, and by the average unless `count_pads` is set; then
   they count as far as the padding reaches. With `ceil`, a last window may start inside x or its
   front padding and end beyond the back padding.

   maxplace: the maximum, of integers too, and the place of its first occurrence. The place counts
   all elements of x, with the spatial axes in row-major order or, with `columns`, in column-major
   order. lppool: the p-th root of the sum of the p-th powers of absolute values. */
#include "ops/operator/op.h"
enum { KERNEL, STRIDES, PADS, DILATIONS, CEIL, COUNT_PADS, COLUMNS = COUNT_PADS, P = COUNT_PADS };
#define SHARED_ATTRS                                                              \
    [KERNEL] = {.name = "kernel", .kind = A_INTS, .draw = "1 2 3"},               \
    [STRIDES] = {"strides", A_INTS, "1", .fill = PER_SPATIAL, .draw = "1 2 3"},   \
    [PADS] = {"pads", A_INTS, "0", .fill = PER_SIDE, .draw = "0 1"},              \
    [DILATIONS] = {"dilations", A_INTS, "1", .fill = PER_SPATIAL, .draw = "1 2"}, \
    [CEIL] = {"ceil", A_ENUM, "no", "no yes", .draw = "no yes"}
static const AttrDef max_attrs[] = {SHARED_ATTRS, {0}};
static const AttrDef average_attrs[] = {
    SHARED_ATTRS, [COUNT_PADS] = {"count_pads", A_ENUM, "no", "no yes", .draw = "no yes"}, {0}};

/* The number of windows along spatial axis j. */
static Poly count(Call *c, int j, int ns) {
    const WindowAxis x = {ints(c, KERNEL).v[j], ints(c, STRIDES).v[j], ints(c, DILATIONS).v[j]};
    return windows_padded(c, c->in[0]->dim.v[j + 2], x, ints(c, PADS).v[j], ints(c, PADS).v[j + ns],
                          enum_value(c, CEIL));
}

static const char *shape_of(Call *c, const char *classes) {
    int ns = c->in[0]->dim.n - 2;
    if (ns < 1) return "pooling needs x [n, c, ..] with a spatial axis";
    if (ints(c, KERNEL).n != ns || ints(c, STRIDES).n != ns || ints(c, DILATIONS).n != ns ||
        ints(c, PADS).n != 2 * ns)
        return "pooling needs one kernel size, one stride, one dilation and two pads for each "
               "spatial axis";
    const char *why = same_type(c, classes);
    for (int j = 0; j < ns; j++) {
        need_ge(c, ints(c, KERNEL).v[j], poly(c, "1"));
        c->out[0].dim.v[j + 2] = count(c, j, ns);
    }
    return why;
}
static const char *shape(Call *c) { return shape_of(c, "F"); }

/* The index in x of place k of the window of output i. */
static Dims place(Call *c, Dims i, Dims k) {
    for (int j = 0; j < k.n; j++)
        i.v[j + 2] = poly(c, "s*i + d*k - p", ints(c, STRIDES).v[j], i.v[j + 2],
                          ints(c, DILATIONS).v[j], k.v[j], ints(c, PADS).v[j]);
    return i;
}
static Ex define_max(Call *c, Dims i) {
    Dims k = bound(c, ints_dims(c, KERNEL)), x = place(c, i, k);
    return maximum(c, k, inside(c, x, c->in[0]->dim, 2), at(c, 0, x));
}

/* The number of places of the window of output i that the average counts. */
static Ex counted(Call *c, Dims i) {
    Dims kernel = ints_dims(c, KERNEL), k = bound(c, kernel), x = place(c, i, k), n = c->in[0]->dim;
    if (enum_value(c, COUNT_PADS) && !enum_value(c, CEIL))
        return size(c, product(c, kernel, 0, kernel.n));
    for (int j = 0; enum_value(c, COUNT_PADS) && j < k.n; j++) {
        Poly begin = ints(c, PADS).v[j];
        x.v[j + 2] = poly(c, "x + p", x.v[j + 2], begin);
        n.v[j + 2] = poly(c, "n + p + q", n.v[j + 2], begin, ints(c, PADS).v[j + k.n]);
    }
    return sum(c, k, inside(c, x, n, 2), num(c, 1, 1));
}
static Ex define_average(Call *c, Dims i) {
    Dims k = bound(c, ints_dims(c, KERNEL)), x = place(c, i, k);
    return divide(c, sum(c, k, inside(c, x, c->in[0]->dim, 2), at(c, 0, x)), counted(c, i));
}

static int steps_kind(Call *c, PoolKind kind, int64_t counts_pads, const View in[],
                      const View out[], StepBuf *b) {
    if (in[0].rank > 2 + STEP_SPATIAL) return 0;
    Step *s = step_add(b, S_POOL, 2, (const View[]){out[0], in[0]});
    step_param(b, s, 1, &(int64_t){kind});
    for (int k = KERNEL; k <= DILATIONS; k++) step_sizes(b, s, ints(c, k).n, ints(c, k).v);
    step_param(b, s, 1, &counts_pads);
    return 1;
}
static int steps_max(Call *c, const View in[], const View out[], StepBuf *b) {
    return steps_kind(c, POOL_MAX, 0, in, out, b);
}
static int steps_average(Call *c, const View in[], const View out[], StepBuf *b) {
    return steps_kind(c, POOL_MEAN, enum_value(c, COUNT_PADS), in, out, b);
}

static const OnnxMap onnx_max[] = {
    {"", "MaxPool", 10, 0,
     "kernel=kernel_shape strides dilations ceil=ceil_mode pads:auto_pad storage_order:ignore"},
    {"", "MaxPool", 8, 9,
     "kernel=kernel_shape strides dilations=1! ceil=no! pads:auto_pad storage_order:ignore"},
    {"", "MaxPool", 1, 7, "kernel=kernel_shape strides dilations=1! ceil=no! pads:auto_pad"},
    {0},
};
static const OnnxMap onnx_average[] = {
    {"", "AveragePool", 19, 0,
     "kernel=kernel_shape strides dilations ceil=ceil_mode count_pads=count_include_pad "
     "pads:auto_pad"},
    {"", "AveragePool", 10, 18,
     "kernel=kernel_shape strides dilations=1! ceil=ceil_mode count_pads=count_include_pad "
     "pads:auto_pad"},
    {"", "AveragePool", 7, 9,
     "kernel=kernel_shape strides dilations=1! ceil=no! count_pads=count_include_pad "
     "pads:auto_pad"},
    {"", "AveragePool", 1, 6,
     "kernel=kernel_shape strides dilations=1! ceil=no! count_pads=no! pads:auto_pad"},
    {0},
};
const Op op_maxpool = {"maxpool",       "x", "y", max_attrs, shape, define_max, .steps = steps_max,
                       .onnx = onnx_max};
const Op op_averagepool = {
    "averagepool",       "x", "y", average_attrs, shape, define_average, .steps = steps_average,
    .onnx = onnx_average};

/* ---- lppool */

static const AttrDef lp_attrs[] = {SHARED_ATTRS, [P] = {"p", A_INT, "2", .draw = "1 2 3"}, {0}};
static const char *shape_lp(Call *c) {
    int64_t p;
    return !is_const(c, intof(c, P), &p) || p < 1 || p > 1024 ? "p is not an integer from 1 to 1024"
                                                              : shape(c);
}
static Ex define_lp(Call *c, Dims i) {
    int64_t p = 2;
    is_const(c, intof(c, P), &p);
    Dims k = bound(c, ints_dims(c, KERNEL)), x = place(c, i, k);
    Ex e = fn(c, FN_ABS, at(c, 0, x)), each = p == 1   ? e
                                              : p == 2 ? mul(c, e, e)
                                                       : power(c, e, num(c, p, 1));
    Ex total = sum(c, k, inside(c, x, c->in[0]->dim, 2), each);
    return p == 1 ? total : p == 2 ? fn(c, FN_SQRT, total) : power(c, total, num(c, 1, p));
}
static const OnnxMap onnx_lp[] = {
    {"", "LpPool", 18, 0, "kernel=kernel_shape strides dilations ceil=ceil_mode p pads:auto_pad"},
    {"", "LpPool", 2, 17, "kernel=kernel_shape strides dilations=1! ceil=no! p pads:auto_pad"},
    {0},
};
const Op op_lppool = {"lppool", "x", "y", lp_attrs, shape_lp, define_lp, .onnx = onnx_lp};

/* ---- maxplace */

static const AttrDef place_attrs[] = {
    SHARED_ATTRS, [COLUMNS] = {"columns", A_ENUM, "no", "no yes", .draw = "no yes"}, {0}};
static const char *shape_place(Call *c) {
    const char *why = shape_of(c, "FIU");
    c->out[1] = c->out[0];
    c->out[1].dtype = DT_INT64;
    return why;
}
static int params_place(Call *c, int64_t param[]) {
    int n = 0;
    for (int list = KERNEL; list <= DILATIONS; list++)
        if (!add_ints(c, list, param, &n)) return -1;
    param[++n] = enum_value(c, COLUMNS);
    return n;
}

typedef struct Window {
    const View *x;
    StepWindow lies;
    bool columns;
} Window;
/* Stores the index in x of place k of the window of output i; returns false if it is outside x. */
static bool window_place(const Window *w, const int64_t i[], const int64_t k[], int64_t at[]) {
    at[0] = i[0], at[1] = i[1];
    const StepWindow *l = &w->lies;
    for (int a = 0; a < l->n; a++) {
        at[a + 2] = l->stride[a] * i[a + 2] + l->dilation[a] * k[a] - l->begin[a];
        if (at[a + 2] < 0 || at[a + 2] >= w->x->dim[a + 2]) return false;
    }
    return true;
}
static int64_t flat_place(const Window *w, const int64_t at[]) {
    int64_t place = at[0] * w->x->dim[1] + at[1], inner = 0;
    const int ns = w->lies.n;
    for (int a = 0; a < ns; a++) place *= w->x->dim[a + 2];
    for (int a = 0; a < ns; a++) {
        int axis = 2 + (w->columns ? ns - 1 - a : a);
        inner = inner * w->x->dim[axis] + at[axis];
    }
    return place + inner;
}
static bool exceeds(const View *x, void *const slot[], int64_t a, int64_t b) {
    if (!kernel_is_integer(x)) return kernel_real(x, slot, a) > kernel_real(x, slot, b);
    int64_t p = kernel_integer(x, slot, a), q = kernel_integer(x, slot, b);
    return x->dtype == DT_UINT64 ? (uint64_t)p > (uint64_t)q : p > q;
}
static int kernel_place(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *where = &s->view[1], *x = &s->view[2];
    const Window w = {x, maxplace_window(s), maxplace_columns(s) != 0};
    View window = {.rank = w.lies.n};
    int64_t i[STEP_RANK], k[STEP_RANK], at[STEP_RANK];
    for (int a = 0; a < window.rank; a++) window.dim[a] = w.lies.kernel[a];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        int64_t best = -1, found = -1;
        for (bool some = kernel_first(&window, k); some; some = kernel_next(&window, k)) {
            if (!window_place(&w, i, k, at)) continue;
            int64_t here = kernel_at(x, at);
            if (found >= 0 && !exceeds(x, slot, here, best)) continue;
            best = here, found = flat_place(&w, at);
        }
        if (found < 0) return -1;
        kernel_move(y, slot, kernel_at(y, i), x, best);
        kernel_set_integer(where, slot, kernel_at(where, i), found);
    }
    return 0;
}
/* One pooling step if nothing reads the places, so that only the maximum is needed. */
static int steps_place(Call *c, const View in[], const View out[], StepBuf *b) {
    return b->unread & 1 << 1 ? steps_max(c, in, out, b) : 0;
}
static const OnnxMap onnx_place[] = {
    {"", "MaxPool", 10, 0,
     "kernel=kernel_shape strides dilations ceil=ceil_mode pads:auto_pad columns=storage_order"},
    {"", "MaxPool", 8, 9,
     "kernel=kernel_shape strides dilations=1! ceil=no! pads:auto_pad columns=storage_order"},
    {0},
};
const Op op_maxplace = {
    "maxplace",
    "x",
    "y place",
    place_attrs,
    shape_place,
    .steps = steps_place,
    .kernel = kernel_place,
    .params = params_place,
    .onnx = onnx_place,
};
