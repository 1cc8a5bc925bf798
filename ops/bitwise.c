/* bitwise: bitwise and, or, xor, not and shifts of integers, element by element. An input may lack
   leading axes of the other one and is then repeated along them. */
#include "ops/operator/op.h"

static const char *shape(Call *c) {
    const char *why = same_type(c, "IU");
    if (c->nin == 2) c->out[0].dim = dims_join(c, c->in[0]->dim, c->in[1]->dim);
    return why;
}
static double never(double a, double b) { return a + b; } /* never called: inputs are integers */

#define PAIR(NAME, TYPE, EXPRESSION, FLAGS)                                                      \
    static int64_t whole_##NAME(int64_t a, int64_t b) { return EXPRESSION; }                     \
    static int kernel_##NAME(const Step *s, void *const slot[]) {                                \
        kernel_pairs(s, slot, never, whole_##NAME);                                              \
        return 0;                                                                                \
    }                                                                                            \
    static const OnnxMap onnx_##NAME[] = {{"", TYPE, 18, 0, ""}, {0}};                           \
    const Op op_##NAME = {                                                                       \
        #NAME,         "a b", "y", .shape = shape, .kernel = kernel_##NAME, .onnx = onnx_##NAME, \
        .flags = FLAGS};
enum { EVEN = OP_COMMUTATIVE | OP_BROADCASTS };
PAIR(bitwise_and, "BitwiseAnd", a &b, EVEN)
PAIR(bitwise_or, "BitwiseOr", a | b, EVEN)
PAIR(bitwise_xor, "BitwiseXor", a ^ b, EVEN)

static int kernel_bitwise_not(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i))
        kernel_set_integer(y, slot, kernel_at(y, i), ~kernel_integer(x, slot, kernel_at(x, i)));
    return 0;
}
static const OnnxMap onnx_bitwise_not[] = {{"", "BitwiseNot", 18, 0, ""}, {0}};
const Op op_bitwise_not = {
    "bitwise_not",           "x", "y", .shape = shape, .kernel = kernel_bitwise_not,
    .onnx = onnx_bitwise_not};

/* bitshift: a shifted by b bits. A signed number shifted to the right is filled up with its sign,
   everything else with zeros. A shift by the width of the type or more leaves only filling. */
enum { DIRECTION };
static const AttrDef attrs[] = {[DIRECTION] = {.name = "direction",
                                               .kind = A_ENUM,
                                               .words = "left right",
                                               .draw = "left right"},
                                {0}};
static int params(Call *c, int64_t param[]) {
    param[BITSHIFT_RIGHT] = enum_value(c, DIRECTION);
    return 1;
}
/* A valid shift is less than the width of the type. */
static bool domain(Call *c, int input, Poly *low, Poly *high) {
    return input == 1 && all_places(c, poly_int(c->w, dtype_bits(c->in[0]->dtype)), low, high);
}
static int64_t to_left(int64_t a, int64_t b) {
    return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a << b);
}
static int64_t to_right(int64_t a, int64_t b) { return a >> (b < 0 || b > 63 ? 63 : b); }
static int64_t to_right_unsigned(int64_t a, int64_t b) {
    return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a >> b);
}
static int kernel_bitshift(const Step *s, void *const slot[]) {
    bool sign = dtype_class((DType)s->view[1].dtype) == 'I';
    kernel_pairs(s, slot, never,
                 !s->param[BITSHIFT_RIGHT] ? to_left
                 : sign                    ? to_right
                                           : to_right_unsigned);
    return 0;
}
static const OnnxMap onnx_bitshift[] = {{"", "BitShift", 11, 0, "direction=direction^"}, {0}};
const Op op_bitshift = {"bitshift",
                        "a b",
                        "y",
                        attrs,
                        shape,
                        .domain = domain,
                        .kernel = kernel_bitshift,
                        .params = params,
                        .onnx = onnx_bitshift,
                        .flags = OP_BROADCASTS};
