/* conv: y[n, o, i..] = b[o] + sum c, k..: x[n, g*C + c, s*i + d*k - p ..] * w[o, c, k..], g the
   group of o, zero outside x. x [N, G*C, ..], w [O, C, ..], b [O], any number of spatial axes.
   convinteger: of integers of 8 bits less their zeros, one number, for w also one for each o.
   qlinearconv: likewise, its result quantized again. */
#include "op.h"
enum { GROUP, STRIDES, PADS, DILATIONS };
static const AttrDef attrs[] = {
    [GROUP] = {"group", A_INT, "1", .draw = "1 2 3"},
    [STRIDES] = {"strides", A_INTS, "1", .fill = PER_SPATIAL, .draw = "1 2 3"},
    [PADS] = {"pads", A_INTS, "0", .fill = PER_SIDE, .draw = "0 1 2"},
    [DILATIONS] = {"dilations", A_INTS, "1", .fill = PER_SPATIAL, .draw = "1 2"},
    {0},
};

/* Which inputs are the kernel, the bias and the zeros; -1: there are none. */
typedef struct Parts {
    int w, bias, x_zero, w_zero;
} Parts;
static const Type *part(Call *c, int input) { return input < 0 ? NULL : c->in[input]; }

static const char *shape_windows(Call *c, Parts k, DType dtype) {
    Dims x = c->in[0]->dim, w = c->in[k.w]->dim;
    const Type *bias = part(c, k.bias);
    PolyList s = ints(c, STRIDES), p = ints(c, PADS), d = ints(c, DILATIONS);
    Poly group = intof(c, GROUP);
    int ns = x.n - 2;
    if (ns < 1 || w.n != x.n)
        return "conv needs x [n, group*c, ..] and w [o, c, ..] of one rank, at least 3";
    if (bias && bias->dim.n != 1) return "the bias of conv has one axis";
    if (s.n != ns || p.n != 2 * ns || d.n != ns)
        return "conv needs strides, dilations and twice as many pads, one for each spatial axis";
    need_ge(c, group, poly(c, "1"));
    need_eq(c, x.v[1], poly(c, "g*c", group, w.v[1]));
    need_eq(c, w.v[0], poly(c, "g*q", group, quot(c, w.v[0], group)));
    if (bias) need_eq(c, bias->dim.v[0], w.v[0]);
    c->out[0] = (Type){.dtype = dtype, .dim = x};
    c->out[0].dim.v[1] = w.v[0];
    for (int j = 0; j < ns; j++)
        c->out[0].dim.v[j + 2] = windows(c, x.v[j + 2], w.v[j + 2], s.v[j],
                                         poly(c, "p + q", p.v[j], p.v[j + ns]), d.v[j]);
    return NULL;
}

static const Parts plain = {1, 2, -1, -1};
static const char *shape(Call *c) {
    const char *why = dtypes_agree(c, "F");
    return why ? why : shape_windows(c, plain, c->in[0]->dtype);
}

static Ex define_windows(Call *c, Dims i, Parts parts) {
    Dims x = c->in[0]->dim, w = c->in[parts.w]->dim, k = bound(c, dims_tail(w, w.n - 1));
    PolyList s = ints(c, STRIDES), p = ints(c, PADS), d = ints(c, DILATIONS);
    Poly group = intof(c, GROUP), o = i.v[1];
    Dims g = digits(c, o, (Dims){2, {group, quot(c, w.v[0], group)}});
    Dims ix = dims_with(i, 1, poly(c, "g*c + k", g.v[0], w.v[1], k.v[0]));
    for (int j = 0; j < x.n - 2; j++)
        ix.v[j + 2] = poly(c, "s*i + d*k - p", s.v[j], i.v[j + 2], d.v[j], k.v[j + 1], p.v[j]);
    Ex from = at(c, 0, ix), tap = at(c, parts.w, dims_cons(o, k));
    if (parts.x_zero >= 0) from = less_zero(c, from, at_place(c, parts.x_zero, 0));
    if (parts.w_zero >= 0) tap = less_zero(c, tap, at_place(c, parts.w_zero, o));
    Ex e = sum(c, k, inside(c, ix, x, 2), mul(c, from, tap));
    return part(c, parts.bias) ? add(c, e, at(c, parts.bias, (Dims){1, {o}})) : e;
}
static Ex define(Call *c, Dims i) { return define_windows(c, i, plain); }

/* The bias is added as each element is written. */
static int lower(Call *c, const View in[], const View out[], StepBuf *b) {
    enum { CHANNEL = 1 };
    View v[4] = {out[0], in[0], in[1]};
    if (c->in[2]) {
        v[3] = view_spread(&in[2], 1, &out[0].dim[CHANNEL]);
        v[3] = (View){v[3].slot, v[3].dtype, .rank = out[0].rank, .offset = v[3].offset,
                      .stride = {[CHANNEL] = v[3].stride[0]}};
        for (int k = 0; k < out[0].rank; k++) v[3].dim[k] = out[0].dim[k];
    }
    Step *s = step_add(b, S_CONV, c->in[2] ? 4 : 3, v);
    step_sizes(b, s, 1, ints(c, GROUP).v);
    step_sizes(b, s, ints(c, STRIDES).n, ints(c, STRIDES).v);
    step_sizes(b, s, ints(c, PADS).n, ints(c, PADS).v);
    step_sizes(b, s, ints(c, DILATIONS).n, ints(c, DILATIONS).v);
    if (c->in[2])
        step_code(
            b, s, 3,
            (const Scalar[]){{.op = C_ACC}, {.op = C_VIEW, .a = 3}, {.op = C_ADD, .a = 0, .b = 1}});
    return 1;
}

#define WINDOWS "rank:kernel group strides dilations pads:auto_pad kernel_shape:check"
static const OnnxMap onnx[] = {{"", "Conv", 1, 0, WINDOWS}, {0}};
const Op op_conv = {"conv", "x w b?", "y", attrs, shape, define, .lower = lower, .onnx = onnx};

static const Parts integer = {1, -1, 2, 3};
static const char *shape_integer(Call *c) {
    if (!is_byte(c->in[0]) || !is_byte(c->in[1])) return "not for these element types";
    if (c->in[2] && !dims_single(c, c->in[2]->dim)) return "the zero of x is one number";
    const char *why = shape_windows(c, integer, DT_INT32);
    return why ? why : place_fits(c, 3, c->in[1]->dim.v[0]);
}
static Ex define_integer(Call *c, Dims i) { return define_windows(c, i, integer); }
static const OnnxMap onnx_integer[] = {{"", "ConvInteger", 10, 0, WINDOWS}, {0}};
const Op op_convinteger = {"convinteger",  "x w x_zero? w_zero?", "y", attrs, shape_integer,
                           define_integer, .onnx = onnx_integer};

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS };
static const Parts qlinear = {W, BIAS, X_ZERO, W_ZERO};
static const char *shape_qlinear(Call *c) {
    static const int single[] = {X_SCALE, X_ZERO, Y_SCALE, Y_ZERO};
    if (!is_byte(c->in[X]) || !is_byte(c->in[W]) || !is_byte(c->in[Y_ZERO]))
        return "not for these element types";
    for (int k = 0; k < 4; k++)
        if (!dims_single(c, c->in[single[k]]->dim))
            return "scales and zeros but w's are one number";
    const char *why = shape_windows(c, qlinear, c->in[Y_ZERO]->dtype);
    for (int k = W_SCALE; k <= W_ZERO && !why; k++) why = place_fits(c, k, c->in[W]->dim.v[0]);
    return why;
}
static Ex define_qlinear(Call *c, Dims i) {
    Ex scale = mul(c, at_place(c, X_SCALE, 0), at_place(c, W_SCALE, i.v[1]));
    Ex y = mul(c, define_windows(c, i, qlinear), divide(c, scale, at_place(c, Y_SCALE, 0)));
    return whole_near(c, y, at_place(c, Y_ZERO, 0));
}
static const OnnxMap onnx_qlinear[] = {{"", "QLinearConv", 10, 0, WINDOWS}, {0}};
const Op op_qlinearconv = {"qlinearconv",
                           "x x_scale x_zero w w_scale w_zero y_scale y_zero b?",
                           "y",
                           attrs,
                           shape_qlinear,
                           define_qlinear,
                           .onnx = onnx_qlinear};
