/* unary: the functions of one number, element by element, as one table. F: floating point, I: signed, U: unsigned
   integers. */
#include "op.h"

#define UNARY(NAME, CLASSES, TYPE, VALUE)                                                                         \
    static const char *shape_##NAME(Call *c) { return same_type(c, CLASSES); }                                    \
    static Ex define_##NAME(Call *c, Dims i) {                                                                    \
        Ex x = at(c, 0, i);                                                                                       \
        return VALUE;                                                                                             \
    }                                                                                                             \
    static const OnnxMap onnx_##NAME[] = {{"", TYPE, 6, 0, ""}, {"", TYPE, 1, 5, "consumed_inputs:ignore"}, {0}}; \
    const Op op_##NAME = {#NAME, "x", "y", NULL, shape_##NAME, define_##NAME, .onnx = onnx_##NAME};

UNARY(neg, "FI", "Neg", mul(c, num(c, -1, 1), x))
UNARY(abs, "FI", "Abs", fn(c, FN_ABS, x))
UNARY(relu, "FI", "Relu", max2(c, x, num(c, 0, 1)))
UNARY(exp, "F", "Exp", fn(c, FN_EXP, x))
UNARY(log, "F", "Log", fn(c, FN_LOG, x))
UNARY(sqrt, "F", "Sqrt", fn(c, FN_SQRT, x))
UNARY(reciprocal, "F", "Reciprocal", fn(c, FN_RECIP, x))
UNARY(sigmoid, "F", "Sigmoid", fn(c, FN_SIGMOID, x))
UNARY(tanh, "F", "Tanh", fn(c, FN_TANH, x))
UNARY(erf, "F", "Erf", fn(c, FN_ERF, x))
UNARY(sin, "F", "Sin", fn(c, FN_SIN, x))
UNARY(cos, "F", "Cos", fn(c, FN_COS, x))
UNARY(floor, "F", "Floor", fn(c, FN_FLOOR, x))
UNARY(ceil, "F", "Ceil", fn(c, FN_CEIL, x))
UNARY(round, "F", "Round", fn(c, FN_ROUND, x))
UNARY(sign, "FI", "Sign", fn(c, FN_SIGN, x))
