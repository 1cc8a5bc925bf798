/* functions: further element-wise functions of one number. Most are defined by the functions that
   expressions have; asin, acos, atan, isnan and isinf have only kernels. */
#include "ops/operator/op.h"
#include <math.h>

static const char *shape(Call *c) { return same_type(c, "F"); }
static Ex one(Call *c) { return num(c, 1, 1); }
static Ex negative(Call *c, Ex x) { return mul(c, num(c, -1, 1), x); }
static Ex half(Call *c, Ex x) { return mul(c, num(c, 1, 2), x); }
static Ex square(Call *c, Ex x) { return mul(c, x, x); }

/* log(1 + e^x), written so that the exponential cannot overflow. */
static Ex softplus(Call *c, Ex x) {
    Ex small = fn(c, FN_EXP, negative(c, fn(c, FN_ABS, x)));
    return add(c, max2(c, x, num(c, 0, 1)), fn(c, FN_LOG, add(c, one(c), small)));
}
static Ex logarithm(Call *c, Ex a, Ex b) { return fn(c, FN_LOG, add(c, a, fn(c, FN_SQRT, b))); }

#define DEFINED(NAME, VALUE)                   \
    static Ex define_##NAME(Call *c, Dims i) { \
        Ex x = at(c, 0, i);                    \
        return VALUE;                          \
    }
#define FUNCTION(NAME, TYPE, SINCE, FLAGS, VALUE)                         \
    DEFINED(NAME, VALUE)                                                  \
    static const OnnxMap onnx_##NAME[] = {{"", TYPE, SINCE, 0, ""}, {0}}; \
    const Op op_##NAME = {                                                \
        #NAME, "x", "y", NULL, shape, define_##NAME, .onnx = onnx_##NAME, .flags = FLAGS};

FUNCTION(tan, "Tan", 7, OP_ACCURATE, divide(c, fn(c, FN_SIN, x), fn(c, FN_COS, x)))
FUNCTION(softplus, "Softplus", 1, 0, softplus(c, x))
FUNCTION(softsign, "Softsign", 1, 0, divide(c, x, add(c, one(c), fn(c, FN_ABS, x))))
FUNCTION(mish, "Mish", 18, 0, mul(c, x, fn(c, FN_TANH, softplus(c, x))))

/* Functions whose kernel calls the C library, because the definition cancels near 0 or overflows
   before its value does. */
#define BY_C_LIBRARY(NAME, TYPE, SINCE, VALUE)                            \
    DEFINED(NAME, VALUE)                                                  \
    static int kernel_##NAME(const Step *s, void *const slot[]) {         \
        kernel_each(s, slot, NAME);                                       \
        return 0;                                                         \
    }                                                                     \
    static const OnnxMap onnx_##NAME[] = {{"", TYPE, SINCE, 0, ""}, {0}}; \
    const Op op_##NAME = {#NAME,                                          \
                          "x",                                            \
                          "y",                                            \
                          NULL,                                           \
                          shape,                                          \
                          define_##NAME,                                  \
                          .kernel = kernel_##NAME,                        \
                          .onnx = onnx_##NAME,                            \
                          .flags = OP_BY_DATA | OP_ACCURATE};
BY_C_LIBRARY(sinh, "Sinh", 9, half(c, sub(c, fn(c, FN_EXP, x), fn(c, FN_EXP, negative(c, x)))))
BY_C_LIBRARY(cosh, "Cosh", 9, half(c, add(c, fn(c, FN_EXP, x), fn(c, FN_EXP, negative(c, x)))))
BY_C_LIBRARY(asinh, "Asinh", 9,
             mul(c, fn(c, FN_SIGN, x),
                 logarithm(c, fn(c, FN_ABS, x), add(c, square(c, x), one(c)))))
BY_C_LIBRARY(acosh, "Acosh", 9, logarithm(c, x, sub(c, square(c, x), one(c))))
BY_C_LIBRARY(atanh, "Atanh", 9,
             half(c, fn(c, FN_LOG, divide(c, add(c, one(c), x), sub(c, one(c), x)))))

#define KERNEL(NAME, TYPE, SINCE)                                         \
    static int kernel_##NAME(const Step *s, void *const slot[]) {         \
        kernel_each(s, slot, NAME);                                       \
        return 0;                                                         \
    }                                                                     \
    static const OnnxMap onnx_##NAME[] = {{"", TYPE, SINCE, 0, ""}, {0}}; \
    const Op op_##NAME = {                                                \
        #NAME, "x", "y", .shape = shape, .kernel = kernel_##NAME, .onnx = onnx_##NAME};
KERNEL(asin, "Asin", 7)
KERNEL(acos, "Acos", 7)
KERNEL(atan, "Atan", 7)

/* isnan: whether x is NaN. isinf: whether x is infinite, of the signs that the attributes ask
   for. */
static const char *shape_truth(Call *c) {
    const char *why = same_type(c, "F");
    c->out[0].dtype = DT_BOOL;
    return why;
}
static bool is_wide_float(const View *x) {
    return dtype_class((DType)x->dtype) == 'F' && dtype_bits((DType)x->dtype) >= 16;
}
static double is_nan(double x) { return isnan(x); }
static int kernel_isnan(const Step *s, void *const slot[]) {
    kernel_each(s, slot, is_nan);
    return 0;
}
static const OnnxMap onnx_isnan[] = {{"", "IsNaN", 9, 0, ""}, {0}};
static int steps_truth(const View in[], const View out[], StepBuf *b, int n, const Scalar code[]) {
    if (!is_wide_float(&in[0])) return 0;
    step_code(b, step_add(b, S_EWISE, 2, (const View[]){out[0], in[0]}), n, code);
    return 1;
}
static int steps_isnan(Call *c, const View in[], const View out[], StepBuf *b) {
    static const Scalar code[] = {{.op = C_VIEW, .a = 1}, {.op = C_ISNAN, .a = 0}};
    return (void)c, steps_truth(in, out, b, 2, code);
}
const Op op_isnan = {
    "isnan",           "x", "y", .shape = shape_truth, .steps = steps_isnan, .kernel = kernel_isnan,
    .onnx = onnx_isnan};

enum { NEGATIVE, POSITIVE };
static const AttrDef isinf_attrs[] = {
    [NEGATIVE] = {"negative", A_ENUM, "yes", "no yes", .draw = "no yes"},
    [POSITIVE] = {"positive", A_ENUM, "yes", "no yes", .draw = "no yes"},
    {0},
};
enum { P_NEGATIVE = 1, P_POSITIVE };
static int isinf_params(Call *c, int64_t param[]) {
    param[P_NEGATIVE] = enum_value(c, NEGATIVE);
    param[P_POSITIVE] = enum_value(c, POSITIVE);
    return 2;
}
static double is_high(double x) { return isinf(x) && x > 0; }
static double is_low(double x) { return isinf(x) && x < 0; }
static double is_either(double x) { return isinf(x) != 0; }
static double is_neither(double x) { return x != x && x == x; }
static int kernel_isinf(const Step *s, void *const slot[]) {
    kernel_each(s, slot,
                s->param[P_NEGATIVE]   ? (s->param[P_POSITIVE] ? is_either : is_low)
                : s->param[P_POSITIVE] ? is_high
                                       : is_neither);
    return 0;
}
/* One instruction asks for an infinity of either sign; for one sign, x is compared with that
   infinity. If no sign is asked for, the kernel runs. */
static int steps_isinf(Call *c, const View in[], const View out[], StepBuf *b) {
    const Scalar either[] = {{.op = C_VIEW, .a = 1}, {.op = C_ISINF, .a = 0}},
                 one[] = {{.op = C_VIEW, .a = 1},
                          {.op = C_CONST, .k = enum_value(c, POSITIVE) ? INFINITY : -INFINITY},
                          {.op = C_EQ, .a = 0, .b = 1}};
    if (!enum_value(c, POSITIVE) && !enum_value(c, NEGATIVE)) return 0;
    return enum_value(c, POSITIVE) && enum_value(c, NEGATIVE) ? steps_truth(in, out, b, 2, either)
                                                              : steps_truth(in, out, b, 3, one);
}
static const OnnxMap onnx_isinf[] = {
    {"", "IsInf", 10, 0, "negative=detect_negative positive=detect_positive"}, {0}};
const Op op_isinf = {"isinf",
                     "x",
                     "y",
                     isinf_attrs,
                     shape_truth,
                     .steps = steps_isinf,
                     .kernel = kernel_isinf,
                     .params = isinf_params,
                     .onnx = onnx_isinf};
