/* conv: y[n, o, i..] = b[o] + the sum over c, k.. of x[n, g*C + c, s*i + d*k - p ..] * w[o, c,
   k..], where g is the group of o and x counts as zero outside its sizes. x is [N, G*C, ..], w [O,
   C, ..], b [O]; there may be any number of spatial axes.

   Three variants: convinteger convolves 8-bit integers minus their zero points (one for x, and one
   for w or one for each o). qlinearconv does the same and quantizes the result again. fusedconv is
   conv, plus an optional tensor z, followed by an activation. */
#include "ops/operator/op.h"
#include <string.h>
enum { GROUP, STRIDES, PADS, DILATIONS };
static const AttrDef attrs[] = {
    [GROUP] = {"group", A_INT, "1", .draw = "1 2 3"},
    [STRIDES] = {"strides", A_INTS, "1", .fill = PER_SPATIAL, .draw = "1 2 3"},
    [PADS] = {"pads", A_INTS, "0", .fill = PER_SIDE, .draw = "0 1 2"},
    [DILATIONS] = {"dilations", A_INTS, "1", .fill = PER_SPATIAL, .draw = "1 2"},
    {0},
};

/* Which inputs are the weights, the bias and the zero points; -1: the operator has none. */
typedef struct ConvInputs {
    int w, bias, x_zero, w_zero;
} ConvInputs;
/* The type of an input; NULL if the operator has no such input or the node leaves it out. */
static const Type *input_type(Call *c, int input) { return input < 0 ? NULL : c->in[input]; }

static const char *shape_windows(Call *c, ConvInputs k, DType dtype) {
    Dims x = c->in[0]->dim, w = c->in[k.w]->dim;
    const Type *bias = input_type(c, k.bias);
    PolyList s = ints(c, STRIDES), p = ints(c, PADS), d = ints(c, DILATIONS);
    Poly group = intof(c, GROUP);
    int ns = x.n - 2;
    if (ns < 1 || w.n != x.n)
        return "conv needs x [n, group*c, ..] and w [o, c, ..] of equal rank, at least 3";
    if (bias && bias->dim.n != 1) return "the bias of conv must have one axis";
    if (s.n != ns || p.n != 2 * ns || d.n != ns)
        return "conv needs one stride, one dilation and two pads for each spatial axis";
    need_ge(c, group, poly(c, "1"));
    need_eq(c, x.v[1], poly(c, "g*c", group, w.v[1]));
    need_eq(c, w.v[0], poly(c, "g*q", group, quot(c, w.v[0], group)));
    if (bias) need_eq(c, bias->dim.v[0], w.v[0]);
    c->out[0] = (Type){.dtype = dtype, .dim = x};
    c->out[0].dim.v[1] = w.v[0];
    for (int j = 0; j < ns; j++)
        c->out[0].dim.v[j + 2] = windows(c, x.v[j + 2], (WindowAxis){w.v[j + 2], s.v[j], d.v[j]},
                                         poly(c, "p + q", p.v[j], p.v[j + ns]));
    return NULL;
}

static const ConvInputs plain = {1, 2, -1, -1};
static const char *shape(Call *c) {
    const char *why = dtypes_agree(c, "F");
    return why ? why : shape_windows(c, plain, c->in[0]->dtype);
}

static Ex define_windows(Call *c, Dims i, ConvInputs which) {
    Dims x = c->in[0]->dim, w = c->in[which.w]->dim, k = bound(c, dims_tail(w, w.n - 1));
    PolyList s = ints(c, STRIDES), p = ints(c, PADS), d = ints(c, DILATIONS);
    Poly group = intof(c, GROUP), o = i.v[1];
    Dims g = digits(c, o, (Dims){2, {group, quot(c, w.v[0], group)}});
    Dims ix = dims_with(i, 1, poly(c, "g*c + k", g.v[0], w.v[1], k.v[0]));
    for (int j = 0; j < x.n - 2; j++)
        ix.v[j + 2] = poly(c, "s*i + d*k - p", s.v[j], i.v[j + 2], d.v[j], k.v[j + 1], p.v[j]);
    Ex from = at(c, 0, ix), tap = at(c, which.w, dims_cons(o, k));
    if (which.x_zero >= 0) from = minus_zero(c, from, at_per_axis(c, which.x_zero, 0));
    if (which.w_zero >= 0) tap = minus_zero(c, tap, at_per_axis(c, which.w_zero, o));
    Ex e = sum(c, k, inside(c, ix, x, 2), mul(c, from, tap));
    return input_type(c, which.bias) ? add(c, e, at(c, which.bias, (Dims){1, {o}})) : e;
}
static Ex define(Call *c, Dims i) { return define_windows(c, i, plain); }

/* Adds the group, strides, pads and dilations to the parameters of a step (WindowList). */
static void add_window(Call *c, StepBuf *b, Step *s) {
    step_sizes(b, s, 1, ints(c, GROUP).v);
    step_sizes(b, s, ints(c, STRIDES).n, ints(c, STRIDES).v);
    step_sizes(b, s, ints(c, PADS).n, ints(c, PADS).v);
    step_sizes(b, s, ints(c, DILATIONS).n, ints(c, DILATIONS).v);
}
/* One convolution, whose epilogue adds the bias. */
static int write_steps(Call *c, const View in[], const View out[], StepBuf *b) {
    enum { CHANNEL = 1 };
    View v[4] = {out[0], in[0], in[1]};
    if (in[0].rank > 2 + STEP_SPATIAL) return 0;
    if (c->in[2]) {
        v[3] = view_spread(&in[2], 1, &out[0].dim[CHANNEL]);
        v[3] = (View){v[3].slot, v[3].dtype, .rank = out[0].rank, .offset = v[3].offset,
                      .stride = {[CHANNEL] = v[3].stride[0]}};
        for (int k = 0; k < out[0].rank; k++) v[3].dim[k] = out[0].dim[k];
    }
    Step *s = step_add(b, S_CONV, c->in[2] ? 4 : 3, v);
    add_window(c, b, s);
    if (c->in[2])
        step_code(
            b, s, 3,
            (const Scalar[]){{.op = C_ACC}, {.op = C_VIEW, .a = 3}, {.op = C_ADD, .a = 0, .b = 1}});
    return 1;
}

#define WINDOWS "rank:kernel group strides dilations pads:auto_pad kernel_shape:check"
static const OnnxMap onnx[] = {{"", "Conv", 1, 0, WINDOWS}, {0}};
const Op op_conv = {"conv",      "x w b?", "y", attrs, shape, define, .steps = write_steps,
                    .onnx = onnx};

static const ConvInputs integer = {1, -1, 2, 3};
static const char *shape_integer(Call *c) {
    if (!is_byte(c->in[0]) || !is_byte(c->in[1])) return "not supported for these element types";
    if (c->in[2] && !dims_single(c, c->in[2]->dim))
        return "the zero point of x must be a single number";
    const char *why = shape_windows(c, integer, DT_INT32);
    if (!why) why = zero_typed(c, 2, 0);
    if (!why) why = zero_typed(c, 3, 1);
    return why ? why : per_axis_fits(c, 3, c->in[1]->dim.v[0]);
}
static Ex define_integer(Call *c, Dims i) { return define_windows(c, i, integer); }
/* Adds the convolution as one step on 8-bit integers with 32-bit results y. Returns false, and adds
   no step, if the target has no algorithm for this or the sizes do not fit. */
static bool add_int8_step(Call *c, StepBuf *b, const View in[], ConvInputs k, const View *y) {
    Step s = {.kind = S_CONV};
    const View v[] = {*y, in[0], in[k.w]};
    if (!b->target || y->rank > 2 + STEP_SPATIAL) return false;
    StepBuf params_only = *b;
    params_only.n = params_only.room = 0, params_only.v = NULL;
    add_window(c, &params_only, &s);
    if (params_only.failure) return false;
    s.nview = 3, s.view = v;
    return exact_int8(b, &s, has(c, k.x_zero) ? &in[k.x_zero] : NULL,
                      has(c, k.w_zero) ? &in[k.w_zero] : NULL);
}
/* Views channels from..from+part-1 of each group of x as the image of a convolution with `part`
   channels in a group. If there are several groups, these channels do not lie side by side; then a
   step is added that copies them to *buffer, which must have rank 0 at the first call. False: no
   buffer is left. */
static bool group_channels(StepBuf *b, const View *x, int64_t group, int64_t from, int64_t part,
                           View *buffer, View *out) {
    int64_t dim[STEP_RANK];
    if (group == 1) return *out = view_part(x, 1, from, part), true;
    memcpy(dim, x->dim, sizeof dim), dim[1] = group * part;
    if (!buffer->rank && !step_buffer(b, x->dtype, x->rank, dim, buffer)) return false;
    *out = view_dense(buffer->slot, x->dtype, x->rank, dim);
    const View to = view_split(out, 1, part), all = view_split(x, 1, x->dim[1] / group),
               some = view_part(&all, 2, from, part);
    step_copy(b, &to, &some);
    return true;
}
/* Adds steps for the convolution of 8-bit integers minus their zero points: one step on integers if
   the target has an algorithm, else convolutions of floats, over slices of each group's channels
   that have at most EXACT_TERMS terms, so that floats add them exactly. *sums becomes the view of
   the result: y, which has 32-bit integers, or a buffer of floats if one slice is enough. Returns
   false if this is not possible or no buffers are left. */
static bool add_exact_steps(Call *c, StepBuf *b, const View in[], ConvInputs k, const View *y,
                            View *sums) {
    View x, w, v[3], whole = {.slot = 0}, channels = {.rank = 0};
    const bool shifted[] = {has(c, k.x_zero), has(c, k.w_zero)};
    const View *zero_x = shifted[0] ? &in[k.x_zero] : NULL,
               *zero_w = shifted[1] ? &in[k.w_zero] : NULL;
    int64_t taps = 1;
    for (int a = 2; a < in[k.w].rank; a++) taps *= in[k.w].dim[a];
    if (add_int8_step(c, b, in, k, y)) return *sums = *y, true;
    const int64_t n = in[k.w].dim[1], most = taps && taps < EXACT_TERMS ? EXACT_TERMS / taps : 1,
                  group = step_size(b, intof(c, GROUP));
    if (y->rank > 2 + STEP_SPATIAL || taps > EXACT_TERMS || group < 1 ||
        !exact_floats(b, &in[0], zero_x, -1, &x) || !exact_floats(b, &in[k.w], zero_w, 0, &w) ||
        !step_buffer(b, DT_FLOAT, y->rank, y->dim, sums))
        return false;
    for (int64_t from = 0; from == 0 || from < n; from += most) {
        const int64_t part = n - from < most ? n - from : most;
        v[0] = *sums, v[1] = x, v[2] = w;
        if (n > most) {
            v[2] = view_part(&w, 1, from, part);
            if (!group_channels(b, &x, group, from, part, &channels, &v[1])) return false;
        }
        Step *s = step_add(b, S_CONV, 3, v);
        add_window(c, b, s);
        exact_round(b, s);
        if (n <= most) break;
        if (from == 0) step_copy(b, y, sums);
        else if (!exact_collect(b, sums, y, &whole)) return false;
    }
    if (n > most) *sums = *y;
    return true;
}
static int steps_integer(Call *c, const View in[], const View out[], StepBuf *b) {
    View sums;
    if (!add_exact_steps(c, b, in, integer, &out[0], &sums)) return 0;
    if (sums.slot != out[0].slot) step_copy(b, &out[0], &sums);
    return 1;
}
static const OnnxMap onnx_integer[] = {{"", "ConvInteger", 10, 0, WINDOWS}, {0}};
const Op op_convinteger = {
    "convinteger",          "x w x_zero? w_zero?", "y", attrs, shape_integer, define_integer,
    .steps = steps_integer, .onnx = onnx_integer};

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS };
static const ConvInputs qlinear = {W, BIAS, X_ZERO, W_ZERO};
static const char *shape_qlinear(Call *c) {
    static const int single[] = {X_SCALE, X_ZERO, Y_SCALE, Y_ZERO};
    if (!is_byte(c->in[X]) || !is_byte(c->in[W]) || !is_byte(c->in[Y_ZERO]))
        return "not supported for these element types";
    for (int k = 0; k < 4; k++)
        if (!dims_single(c, c->in[single[k]]->dim))
            return "scales and zero points other than those of w must be single numbers";
    const char *why = shape_windows(c, qlinear, c->in[Y_ZERO]->dtype);
    if (!why) why = zero_typed(c, X_ZERO, X);
    if (!why) why = zero_typed(c, W_ZERO, W);
    for (int k = W_SCALE; k <= W_ZERO && !why; k++) why = per_axis_fits(c, k, c->in[W]->dim.v[0]);
    return why;
}
static Ex define_qlinear(Call *c, Dims i) {
    Ex scale = mul(c, at_per_axis(c, X_SCALE, 0), at_per_axis(c, W_SCALE, i.v[1]));
    Ex y = mul(c, define_windows(c, i, qlinear), divide(c, scale, at_per_axis(c, Y_SCALE, 0)));
    return round_saturate(c, y, at_per_axis(c, Y_ZERO, 0));
}
static int steps_qlinear(Call *c, const View in[], const View out[], StepBuf *b) {
    const View *y = &out[0];
    View whole, sums,
        scale[3] = {per_axis_view(&in[X_SCALE], y, -1), per_axis_view(&in[W_SCALE], y, 1),
                    per_axis_view(&in[Y_SCALE], y, -1)};
    const View zero = per_axis_view(&in[Y_ZERO], y, -1);
    const bool bias = has(c, BIAS);
    if (c->in[X_SCALE]->dtype != DT_FLOAT || !step_buffer(b, DT_INT32, y->rank, y->dim, &whole) ||
        !add_exact_steps(c, b, in, qlinear, &whole, &sums))
        return 0;
    const View each = bias ? per_axis_view(&in[BIAS], y, 1) : zero;
    exact_quantize(b, y, &sums, bias ? &each : NULL, scale, &zero);
    return 1;
}
static const OnnxMap onnx_qlinear[] = {{"", "QLinearConv", 10, 0, WINDOWS}, {0}};
const Op op_qlinearconv = {"qlinearconv",
                           "x x_scale x_zero w w_scale w_zero y_scale y_zero b?",
                           "y",
                           attrs,
                           shape_qlinear,
                           define_qlinear,
                           .steps = steps_qlinear,
                           .onnx = onnx_qlinear};

enum { ACTIVATION = DILATIONS + 1, ALPHA, BETA };
enum { Z = 3 };
static const AttrDef fused_attrs[] = {
    [GROUP] = {"group", A_INT, "1", .draw = "1 2 3"},
    [STRIDES] = {"strides", A_INTS, "1", .fill = PER_SPATIAL, .draw = "1 2 3"},
    [PADS] = {"pads", A_INTS, "0", .fill = PER_SIDE, .draw = "0 1 2"},
    [DILATIONS] = {"dilations", A_INTS, "1", .fill = PER_SPATIAL, .draw = "1 2"},
    [ACTIVATION] = {"activation", A_ENUM, "none",
                    "none relu leakyrelu tanh sigmoid clip hardsigmoid",
                    .draw = "none relu leakyrelu tanh sigmoid clip hardsigmoid"},
    [ALPHA] = {"alpha", A_REAL, "0", .draw = "0 1/4 -1/2"},
    [BETA] = {"beta", A_REAL, "0", .draw = "1/2 1"},
    {0},
};
static const char *shape_fused(Call *c) {
    const char *why = shape(c);
    if (why || !has(c, Z)) return why;
    if (c->in[Z]->dim.n != c->out[0].dim.n) return "z has another rank than the result";
    for (int k = 0; k < c->out[0].dim.n; k++) need_eq(c, c->in[Z]->dim.v[k], c->out[0].dim.v[k]);
    return NULL;
}
static const char expand_fused[] =
    "%c = conv %x %w %b group=group strides=strides pads=pads dilations=dilations\n"
    "[z] %s = add %c %z\n"
    "[!z] %s = %c\n"
    "%y = activate %s kind=activation alpha=alpha beta=beta\n"
    "out %y\n";

/* parameters:one, parameters:two: the list activation_params holds alpha, or alpha and beta. */
static const int parameter[] = {ALPHA, BETA};
static bool read_one(Call *c, OnnxRead *r, int attr) {
    (void)c, (void)attr;
    return r->reals(r, "activation_params", 1, parameter);
}
static bool read_two(Call *c, OnnxRead *r, int attr) {
    (void)c, (void)attr;
    return r->reals(r, "activation_params", 2, parameter);
}
static bool write_one(Call *c, OnnxWrite *w, int attr) {
    (void)c, (void)attr;
    return w->reals(w, "activation_params", 1, parameter);
}
static bool write_two(Call *c, OnnxWrite *w, int attr) {
    (void)c, (void)attr;
    return w->reals(w, "activation_params", 2, parameter);
}
static const OnnxItem fused_items[] = {
    {"parameters", "one", read_one, write_one}, {"parameters", "two", read_two, write_two}, {0}};
#define FUSED(NAME, WORD, PARAMETERS)                                         \
    {                                                                         \
        "com.microsoft", "FusedConv", 1, 0,                                   \
            WINDOWS " activation=" NAME "! +activation==" WORD " " PARAMETERS \
    }
static const OnnxMap onnx_fused[] = {FUSED("none", "", "activation_params:ignore"),
                                     FUSED("relu", "Relu", "activation_params:ignore"),
                                     FUSED("tanh", "Tanh", "activation_params:ignore"),
                                     FUSED("sigmoid", "Sigmoid", "activation_params:ignore"),
                                     FUSED("leakyrelu", "LeakyRelu", "parameters:one"),
                                     FUSED("clip", "Clip", "parameters:two"),
                                     FUSED("hardsigmoid", "HardSigmoid", "parameters:two"),
                                     {0}};
const Op op_fusedconv = {"fusedconv",        "x w b? z?",         "y",
                         fused_attrs,        shape_fused,         .expand = expand_fused,
                         .onnx = onnx_fused, .items = fused_items};
