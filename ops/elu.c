/* elu: element-wise functions of one number, most of them piecewise and with real attributes: elu,
   celu, selu, thresholdedrelu, shrink, swish and prelu. */
#include "ops/operator/op.h"

static const char *shape(Call *c) { return same_type(c, "F"); }
static Ex zero(Call *c) { return num(c, 0, 1); }
static Ex above(Call *c, Ex x) { return max2(c, x, zero(c)); }
static Ex below(Call *c, Ex x) { return min2(c, x, zero(c)); }
static Ex exp_1(Call *c, Ex x) { return sub(c, fn(c, FN_EXP, x), num(c, 1, 1)); }
/* 1 where x > 0, else 0. */
static Ex unit_step(Call *c, Ex x) { return above(c, fn(c, FN_SIGN, x)); }

/* elu: x where x >= 0, alpha * (e^x - 1) where x < 0. selu: gamma times elu. celu: max(0, x) +
   min(0, alpha * (e^(x / alpha) - 1)), which is not an elu if alpha is negative. */
enum { ALPHA, GAMMA };
#define ALPHA_OF(DEFAULT, DRAW) [ALPHA] = {"alpha", A_REAL, DEFAULT, .draw = DRAW}
static const AttrDef elu_attrs[] = {ALPHA_OF("1", "1 1/2 2"), {0}};
static Ex elu(Call *c, Ex x) {
    return add(c, above(c, x), mul(c, real(c, ALPHA), exp_1(c, below(c, x))));
}
static Ex define_elu(Call *c, Dims i) { return elu(c, at(c, 0, i)); }
static const OnnxMap onnx_elu[] = {
    {"", "Elu", 6, 0, "alpha"}, {"", "Elu", 1, 5, "alpha consumed_inputs:ignore"}, {0}};
const Op op_elu = {"elu", "x", "y", elu_attrs, shape, define_elu, .onnx = onnx_elu};

static const AttrDef celu_attrs[] = {ALPHA_OF("1", "1 1/2 2 -1 -1/4"), {0}};
static Ex define_celu(Call *c, Dims i) {
    Ex x = at(c, 0, i), alpha = real(c, ALPHA);
    return add(c, above(c, x), below(c, mul(c, alpha, exp_1(c, divide(c, x, alpha)))));
}
static const OnnxMap onnx_celu[] = {{"", "Celu", 12, 0, "alpha"}, {0}};
const Op op_celu = {"celu", "x", "y", celu_attrs, shape, define_celu, .onnx = onnx_celu};

static const AttrDef selu_attrs[] = {
    ALPHA_OF("1.6732632423543772", "1.6732632423543772 1/2"),
    [GAMMA] = {"gamma", A_REAL, "1.0507009873554805", .draw = "1.0507009873554805 2"},
    {0},
};
static Ex define_selu(Call *c, Dims i) { return mul(c, real(c, GAMMA), elu(c, at(c, 0, i))); }
static const OnnxMap onnx_selu[] = {{"", "Selu", 6, 0, "alpha gamma"}, {0}};
const Op op_selu = {"selu", "x", "y", selu_attrs, shape, define_selu, .onnx = onnx_selu};

/* The real attributes as parameters of a kernel. thresholdedrelu and shrink have kernels because
   their definitions multiply x by 0 or 1, which is wrong where x is infinite or NaN. */
static int params_real(Call *c, int64_t param[]) {
    const int n = attrs_count(c->op->attrs);
    for (int k = 0; k < n; k++)
        if (!bits_of(c, k, &param[1 + k])) return -1;
    return n;
}
static float param_float(const Step *s, int k) { return (float)param_real(s->param[k]); }

/* thresholdedrelu: x where x > alpha, else 0. */
static int kernel_thresholdedrelu(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    const double alpha = (double)param_float(s, THRESHOLD_ALPHA);
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        double v = kernel_real(x, slot, kernel_at(x, i));
        kernel_set_real(y, slot, kernel_at(y, i), v > alpha ? v : 0);
    }
    return 0;
}
static Ex define_thresholdedrelu(Call *c, Dims i) {
    Ex x = at(c, 0, i);
    return mul(c, x, unit_step(c, sub(c, x, real(c, ALPHA))));
}
static const OnnxMap onnx_thresholdedrelu[] = {{"", "ThresholdedRelu", 10, 0, "alpha"}, {0}};
const Op op_thresholdedrelu = {
    "thresholdedrelu",
    "x",
    "y",
    elu_attrs,
    shape,
    define_thresholdedrelu,
    .kernel = kernel_thresholdedrelu,
    .params = params_real,
    .onnx = onnx_thresholdedrelu,
    .flags = OP_BY_DATA | OP_SELECTS,
};

/* shrink: x + bias where x < -lambda, else x - bias where x > lambda, else 0. */
enum { BIAS, LAMBDA };
static const AttrDef shrink_attrs[] = {
    [BIAS] = {"bias", A_REAL, "0", .draw = "0 1/4 1 -1/2"},
    [LAMBDA] = {"lambda", A_REAL, "1/2", .draw = "1/2 1 0 -1/2"},
    {0},
};
static Ex define_shrink(Call *c, Dims i) {
    Ex x = at(c, 0, i), minus = mul(c, num(c, -1, 1), x), bias = real(c, BIAS),
       limit = real(c, LAMBDA);
    Ex low = unit_step(c, sub(c, minus, limit)), high = unit_step(c, sub(c, x, limit));
    /* If lambda is negative, x may be both below and above. */
    Ex above_only = mul(c, high, sub(c, num(c, 1, 1), low));
    return add(c, mul(c, above_only, sub(c, x, bias)), mul(c, low, add(c, x, bias)));
}
static int kernel_shrink(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    const double bias = (double)param_float(s, SHRINK_BIAS),
                 limit = (double)param_float(s, SHRINK_LAMBDA);
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        double v = kernel_real(x, slot, kernel_at(x, i));
        kernel_set_real(y, slot, kernel_at(y, i), v < -limit ? v + bias : v > limit ? v - bias : 0);
    }
    return 0;
}
static const OnnxMap onnx_shrink[] = {{"", "Shrink", 9, 0, "bias lambda=lambd"}, {0}};
const Op op_shrink = {
    "shrink",
    "x",
    "y",
    shrink_attrs,
    shape,
    define_shrink,
    .kernel = kernel_shrink,
    .params = params_real,
    .onnx = onnx_shrink,
    .flags = OP_BY_DATA | OP_SELECTS,
};

/* swish: x * sigmoid(alpha * x). */
static Ex define_swish(Call *c, Dims i) {
    Ex x = at(c, 0, i);
    return mul(c, x, fn(c, FN_SIGMOID, mul(c, real(c, ALPHA), x)));
}
static const OnnxMap onnx_swish[] = {
    {"", "Swish", 24, 0, "alpha"},
    {"com.microsoft", "QuickGelu", 1, 0, "alpha=851/500! import:only"},
    {"com.microsoft", "QuickGelu", 1, 0, "alpha import:only"},
    {0}};
const Op op_swish = {"swish", "x", "y", elu_attrs, shape, define_swish, .onnx = onnx_swish};

/* prelu: x where x >= 0, slope * x where x < 0. The slope may lack leading axes of x. */
static const char *shape_prelu(Call *c) {
    dims_join(c, c->in[0]->dim, c->in[1]->dim);
    return c->in[1]->dim.n > c->in[0]->dim.n ? "the slope has more axes than x"
                                             : same_type(c, "FIU");
}
static Ex define_prelu(Call *c, Dims i) {
    Ex x = at(c, 0, i);
    return add(c, above(c, x), mul(c, at(c, 1, dims_tail(i, c->in[1]->dim.n)), below(c, x)));
}
static const OnnxMap onnx_prelu[] = {{"", "PRelu", 7, 0, ""}, {0}};
const Op op_prelu = {"prelu",
                     "x slope",
                     "y",
                     NULL,
                     shape_prelu,
                     define_prelu,
                     .onnx = onnx_prelu,
                     .flags = OP_BROADCASTS | OP_SELECTS};
