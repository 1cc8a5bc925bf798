/* activation: element-wise functions of one number whose parameters are real attributes: leakyrelu,
   hardsigmoid, clip and activate; clipwith, like clip, but with bounds that are inputs. */
#include "ops/operator/op.h"
#include <math.h>
enum { ALPHA, BETA };

static const char *shape(Call *c) { return same_type(c, "F"); }

/* leakyrelu: x where x >= 0, alpha * x where x < 0. */
static const AttrDef leakyrelu_attrs[] = {
    [ALPHA] = {"alpha", A_REAL, "1/100", .draw = "1/100 1/10 -1/2"}, {0}};
static Ex define_leakyrelu(Call *c, Dims i) {
    Ex x = at(c, 0, i), zero = num(c, 0, 1);
    return add(c, max2(c, x, zero), mul(c, real(c, ALPHA), min2(c, x, zero)));
}
static const OnnxMap onnx_leakyrelu[] = {
    {"", "LeakyRelu", 6, 0, "alpha"}, {"", "LeakyRelu", 1, 5, "alpha consumed_inputs:ignore"}, {0}};
const Op op_leakyrelu = {"leakyrelu",           "x", "y", leakyrelu_attrs, shape, define_leakyrelu,
                         .onnx = onnx_leakyrelu};

/* hardsigmoid: alpha * x + beta, limited to 0..1. */
static const AttrDef hardsigmoid_attrs[] = {
    [ALPHA] = {"alpha", A_REAL, "1/5", .draw = "1/5 1/2 1"},
    [BETA] = {"beta", A_REAL, "1/2", .draw = "1/2 0 1/4"},
    {0},
};
static Ex define_hardsigmoid(Call *c, Dims i) {
    Ex line = add(c, mul(c, real(c, ALPHA), at(c, 0, i)), real(c, BETA));
    return max2(c, num(c, 0, 1), min2(c, num(c, 1, 1), line));
}
static const OnnxMap onnx_hardsigmoid[] = {
    {"", "HardSigmoid", 6, 0, "alpha beta"},
    {"", "HardSigmoid", 1, 5, "alpha beta consumed_inputs:ignore"},
    {0},
};
const Op op_hardsigmoid = {"hardsigmoid",           "x",   "y",
                           hardsigmoid_attrs,       shape, define_hardsigmoid,
                           .onnx = onnx_hardsigmoid};

/* clip: x limited to min..max; max wins where it is less than min. A bound at the greatest float32
   stands for no bound, so there is a definition only if the bounds are numbers: a rule's variable
   could be either. */
#define GREATEST "3.4028234663852886e38"
enum { MIN, MAX };
static const AttrDef clip_attrs[] = {
    [MIN] = {"min", A_REAL, "-" GREATEST, .element = true, .draw = "-1 0 -1/2"},
    [MAX] = {"max", A_REAL, GREATEST, .element = true, .draw = "1/4 1 6"},
    {0},
};
static const char *clip_shape(Call *c) { return same_type(c, "FIU"); }
/* Whether a bound stands for no bound; `sign` is its side, -1 (min) or 1 (max). A double can lie
   beyond the greatest float32, so there only a bound about as large as that number counts. */
static bool unbounded(Call *c, Ex bound, double sign) {
    double value, least = 3.4028234e38,
                  most = c->in[0]->dtype == DT_DOUBLE ? 3.4028235e38 : INFINITY;
    return ex_number(c->w, bound, &value) && sign * value >= least && sign * value <= most;
}
static Ex define_clip(Call *c, Dims i) {
    Ex y = at(c, 0, i), least = real(c, MIN), greatest = real(c, MAX);
    double number;
    if (!ex_number(c->w, least, &number) || !ex_number(c->w, greatest, &number)) return 0;
    if (!unbounded(c, least, -1)) y = max2(c, y, least);
    return unbounded(c, greatest, 1) ? y : min2(c, y, greatest);
}
static const OnnxMap onnx_clip[] = {
    {"", "Clip", 11, 0, "min=input:1 max=input:2"},
    {"", "Clip", 6, 10, "min max"},
    {"", "Clip", 1, 5, "min max consumed_inputs:ignore"},
    {0},
};
const Op op_clip = {"clip", "x", "y", clip_attrs, clip_shape, define_clip, .onnx = onnx_clip};

/* clipwith, which ops.def lists after clip: like clip, but the bounds are inputs, because they are
   not known before, not finite, or integers that no double holds. */
enum { LOW = 1, HIGH };
static const char *shape_with(Call *c) {
    if (!has(c, LOW) && !has(c, HIGH)) return "a bound is missing";
    for (int k = LOW; k <= HIGH; k++)
        for (int a = 0; has(c, k) && a < rank_of(c, k); a++)
            need_eq(c, c->in[k]->dim.v[a], poly(c, "1"));
    if (rank_of(c, LOW) > 1 || rank_of(c, HIGH) > 1) return "a bound must be a single number";
    return clip_shape(c);
}
static const char expand_with[] = "[low:0] %l = %low\n"
                                  "[low:1] %l = reshape %low shape=[]\n"
                                  "[high:0] %h = %high\n"
                                  "[high:1] %h = reshape %high shape=[]\n"
                                  "[low] %a = max %x %l\n"
                                  "[!low] %a = %x\n"
                                  "[high] %y = min %a %h\n"
                                  "[!high] %y = %a\n"
                                  "out %y\n";
static const OnnxMap onnx_with[] = {{"", "Clip", 11, 0, ""}, {0}};
const Op op_clipwith = {"clipwith",          "x low? high?",        "y",
                        .shape = shape_with, .expand = expand_with, .onnx = onnx_with};

/* activate: an activation function that ONNX Runtime's optimizer fuses into a convolution or a
   matrix product. clip takes its bounds from alpha (min) and beta (max). */
enum { KIND, KIND_ALPHA, KIND_BETA };
static const AttrDef activate_attrs[] = {
    [KIND] = {"kind", A_ENUM, "none", "none relu leakyrelu tanh sigmoid clip hardsigmoid",
              .draw = "none relu leakyrelu tanh sigmoid clip hardsigmoid"},
    [KIND_ALPHA] = {"alpha", A_REAL, "0", .draw = "0 1/4 -1/2"},
    [KIND_BETA] = {"beta", A_REAL, "0", .draw = "1/2 1"},
    {0},
};
static const char expand_activate[] =
    "[kind=none] %y = %x\n"
    "[kind=relu] %y = relu %x\n"
    "[kind=leakyrelu] %y = leakyrelu %x alpha=alpha\n"
    "[kind=tanh] %y = tanh %x\n"
    "[kind=sigmoid] %y = sigmoid %x\n"
    "[kind=clip] %y = clip %x min=alpha max=beta\n"
    "[kind=hardsigmoid] %y = hardsigmoid %x alpha=alpha beta=beta\n"
    "out %y\n";
const Op op_activate = {"activate", "x", "y", activate_attrs, shape, .expand = expand_activate};
