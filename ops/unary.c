/* unary: functions of one number, element by element, as one table. Element types: F floats, I
   signed integers, U unsigned ones. SINCE is the first opset in which the ONNX operator is as it is
   here; where it is 6, the operator had the attribute consumed_inputs before. */
#include "ops/operator/op.h"

#define UNARY(NAME, CLASSES, TYPE, SINCE, VALUE)                               \
    static const char *shape_##NAME(Call *c) { return same_type(c, CLASSES); } \
    static Ex define_##NAME(Call *c, Dims i) {                                 \
        Ex x = at(c, 0, i);                                                    \
        return VALUE;                                                          \
    }                                                                          \
    static const OnnxMap onnx_##NAME[] = {                                     \
        {"", TYPE, SINCE, 0, ""},                                              \
        {"", SINCE == 6 ? TYPE : NULL, 1, 5, "consumed_inputs:ignore"},        \
        {0}};                                                                  \
    const Op op_##NAME = {#NAME, "x", "y", NULL, shape_##NAME, define_##NAME, .onnx = onnx_##NAME};

UNARY(neg, "FI", "Neg", 6, mul(c, num(c, -1, 1), x))
UNARY(abs, "FIU", "Abs", 6, fn(c, FN_ABS, x))
UNARY(relu, "FI", "Relu", 6, max2(c, x, num(c, 0, 1)))
UNARY(exp, "F", "Exp", 6, fn(c, FN_EXP, x))
UNARY(log, "F", "Log", 6, fn(c, FN_LOG, x))
UNARY(sqrt, "F", "Sqrt", 6, fn(c, FN_SQRT, x))
UNARY(reciprocal, "F", "Reciprocal", 6, fn(c, FN_RECIP, x))
UNARY(sigmoid, "F", "Sigmoid", 6, fn(c, FN_SIGMOID, x))
UNARY(tanh, "F", "Tanh", 6, fn(c, FN_TANH, x))
UNARY(erf, "F", "Erf", 9, fn(c, FN_ERF, x))
UNARY(sin, "F", "Sin", 7, fn(c, FN_SIN, x))
UNARY(cos, "F", "Cos", 7, fn(c, FN_COS, x))
UNARY(floor, "F", "Floor", 6, fn(c, FN_FLOOR, x))
UNARY(ceil, "F", "Ceil", 6, fn(c, FN_CEIL, x))
UNARY(round, "F", "Round", 11, fn(c, FN_ROUND, x))
UNARY(sign, "FIU", "Sign", 9, fn(c, FN_SIGN, x))
