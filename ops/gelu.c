/* gelu: x times the cumulative distribution function of the normal distribution: x * (1 + erf(x /
   sqrt(2))) / 2 (Hendrycks, Gimpel, 2016). */
#include "ops/operator/op.h"

static const char *shape(Call *c) { return same_type(c, "F"); }

static const char expansion[] = "%s = fill value=0.7071067811865476 shape=[] dtype=x\n"
                                "%t = mul %x %s\n"
                                "%e = erf %t\n"
                                "%1 = fill value=1 shape=[] dtype=x\n"
                                "%p = add %e %1\n"
                                "%2 = fill value=1/2 shape=[] dtype=x\n"
                                "%h = mul %x %2\n"
                                "%y = mul %h %p\n"
                                "out %y\n";

static const OnnxMap onnx[] = {{"", "Gelu", 20, 0, "approximate==none"},
                               {"com.microsoft", "Gelu", 1, 0, "for:com.microsoft"},
                               {0}};
const Op op_gelu = {"gelu", "x", "y", .shape = shape, .expand = expansion, .onnx = onnx};

/* gelutanh: the approximation of gelu by x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715*x^3))). */
static Ex define_tanh(Call *c, Dims i) {
    Ex x = at(c, 0, i), cube = mul(c, x, mul(c, x, x)), one = num(c, 1, 1);
    Ex inner =
        mul(c, num(c, 7978845608, 10000000000), add(c, x, mul(c, num(c, 44715, 1000000), cube)));
    return mul(c, mul(c, num(c, 1, 2), x), add(c, one, fn(c, FN_TANH, inner)));
}
static const OnnxMap onnx_tanh[] = {{"", "Gelu", 20, 0, "+approximate==tanh"},
                                    {"com.microsoft", "FastGelu", 1, 0, "for:com.microsoft"},
                                    {0}};
const Op op_gelutanh = {"gelutanh",       "x", "y", .shape = shape, .define = define_tanh,
                        .onnx = onnx_tanh};
