/* logic: comparisons and operations on truth values, element by element, and where. Shape
   computations decide with them. An input may lack leading axes of another one.

   Truth values are the numbers 0 and 1, so that the definition of an operation is a polynomial in
   them. A comparison is defined by the sign of the difference, or by whether it is 0. */
#include "ops/operator/op.h"

static const char *truth_shape(Call *c, const char *classes) {
    const char *why = dtypes_agree(c, classes);
    c->out[0] = *c->in[0];
    c->out[0].dtype = DT_BOOL;
    if (c->nin == 2) c->out[0].dim = dims_join(c, c->in[0]->dim, c->in[1]->dim);
    return why;
}
static const char *compare_shape(Call *c) { return truth_shape(c, "FIUB"); }
static const char *logic_shape(Call *c) { return truth_shape(c, "B"); }

/* In shape computations, a truth value is known where it is the same for all sizes. */
static bool decided(Call *c, int truth, Poly *y) {
    *y = poly_int(c->w, truth == 1);
    return truth >= 0;
}
static bool known_bool(Call *c, Poly x, int *truth) {
    int64_t value;
    *truth = -1;
    if (is_const(c, x, &value)) *truth = value != 0;
    return *truth >= 0;
}
static bool is_equal(Call *c, const Poly x[], Poly *y) {
    return decided(c, decide_eq(c, x[0], x[1]), y);
}
static bool is_less(Call *c, const Poly x[], Poly *y) {
    return decided(c, decide_ge(c, x[1], poly(c, "a + 1", x[0])), y);
}
static bool is_greater(Call *c, const Poly x[], Poly *y) {
    return decided(c, decide_ge(c, x[0], poly(c, "a + 1", x[1])), y);
}
static bool is_less_equal(Call *c, const Poly x[], Poly *y) {
    return decided(c, decide_ge(c, x[1], x[0]), y);
}
static bool is_greater_equal(Call *c, const Poly x[], Poly *y) {
    return decided(c, decide_ge(c, x[0], x[1]), y);
}
static bool is_and(Call *c, const Poly x[], Poly *y) {
    int a, b;
    return known_bool(c, x[0], &a) && known_bool(c, x[1], &b) && decided(c, a && b, y);
}
static bool is_or(Call *c, const Poly x[], Poly *y) {
    int a, b;
    return known_bool(c, x[0], &a) && known_bool(c, x[1], &b) && decided(c, a || b, y);
}
static bool is_xor(Call *c, const Poly x[], Poly *y) {
    int a, b;
    return known_bool(c, x[0], &a) && known_bool(c, x[1], &b) && decided(c, a != b, y);
}
static bool is_not(Call *c, const Poly x[], Poly *y) {
    int a;
    return known_bool(c, x[0], &a) && decided(c, !a, y);
}
static bool is_where(Call *c, const Poly x[], Poly *y) {
    int truth;
    if (!known_bool(c, x[0], &truth)) return false;
    *y = truth ? x[1] : x[2];
    return true;
}

/* Whether back ends compute with this element type; other types are left to the kernel. */
static bool computed(const Type *t) {
    return dtype_bits(t->dtype) >= (dtype_class(t->dtype) == 'F' ? 16 : 8);
}
/* An element-wise step of one instruction, with its operands exchanged if `swapped`. */
static int steps_truth(Call *c, const View in[], const View out[], StepBuf *b, ScalarOp op,
                       bool swapped) {
    if (!computed(c->in[0])) return 0;
    View v[3] = {out[0]};
    for (int k = 0; k < c->nin; k++) v[1 + k] = view_spread(&in[k], out[0].rank, out[0].dim);
    Step *s = step_add(b, S_EWISE, 1 + c->nin, v);
    const Scalar first = {.op = C_VIEW, .a = 1}, second = {.op = C_VIEW, .a = 2};
    if (c->nin == 1) step_code(b, s, 2, (const Scalar[]){first, {.op = (uint8_t)op, .a = 0}});
    else
        step_code(
            b, s, 3,
            (const Scalar[]){first, second, {.op = (uint8_t)op, .a = swapped, .b = !swapped}});
    return 1;
}

/* ---- definitions */

static Ex operand(Call *c, int input, Dims i) {
    return at(c, input, dims_tail(i, c->in[input]->dim.n));
}
/* 1 where input a is less than input b, else 0. Truth values have no order in ONNX; only shape
   computations compare them, so there is no definition for them. */
static Ex is_below(Call *c, Dims i, int a, int b) {
    if (c->in[0]->dtype == DT_BOOL) return 0;
    return max2(c, fn(c, FN_SIGN, sub(c, operand(c, b, i), operand(c, a, i))), num(c, 0, 1));
}
static Ex are_equal(Call *c, Dims i, int a, int b) {
    return fn(c, FN_DELTA, sub(c, operand(c, a, i), operand(c, b, i)));
}
static Ex opposite(Call *c, Ex x) { return sub(c, num(c, 1, 1), x); }
static Ex conjunction(Call *c, Dims i) { return mul(c, operand(c, 0, i), operand(c, 1, i)); }
static Ex one_only(Call *c, Dims i) {
    return sub(c, add(c, operand(c, 0, i), operand(c, 1, i)),
               mul(c, num(c, 2, 1), conjunction(c, i)));
}
/* For floats, the sum of both cases, neither of which holds for NaN; for other types, the opposite
   of b < a. */
static Ex is_at_most(Call *c, Dims i, int a, int b) {
    if (c->in[0]->dtype == DT_BOOL) return 0;
    return dtype_class(c->in[0]->dtype) == 'F' ? add(c, is_below(c, i, a, b), are_equal(c, i, a, b))
                                               : opposite(c, is_below(c, i, b, a));
}
static Ex define_equal(Call *c, Dims i) {
    return c->in[0]->dtype == DT_BOOL ? opposite(c, one_only(c, i)) : are_equal(c, i, 0, 1);
}
static Ex define_less(Call *c, Dims i) { return is_below(c, i, 0, 1); }
static Ex define_greater(Call *c, Dims i) { return is_below(c, i, 1, 0); }
static Ex define_lessequal(Call *c, Dims i) { return is_at_most(c, i, 0, 1); }
static Ex define_greaterequal(Call *c, Dims i) { return is_at_most(c, i, 1, 0); }
static Ex define_and(Call *c, Dims i) { return conjunction(c, i); }
static Ex define_or(Call *c, Dims i) {
    return sub(c, add(c, operand(c, 0, i), operand(c, 1, i)), conjunction(c, i));
}
static Ex define_xor(Call *c, Dims i) { return one_only(c, i); }

/* A binary operator: how it decides on polynomials of sizes (KNOWN) and on numbers (EXPRESSION),
   and the instruction that computes it, with its operands in order (0) or swapped (1). */
#define PAIR(NAME, TYPE, OPSET, OLD, SHAPE, KNOWN, EXPRESSION, OP, SWAPPED, FLAGS)    \
    static bool value_##NAME(Call *c, const PolyList in[], Poly *out) {               \
        return value_each(c, in, out, KNOWN);                                         \
    }                                                                                 \
    static double real_##NAME(double a, double b) { return EXPRESSION; }              \
    static int64_t whole_##NAME(int64_t a, int64_t b) { return EXPRESSION; }          \
    static int kernel_##NAME(const Step *s, void *const slot[]) {                     \
        kernel_pairs(s, slot, real_##NAME, whole_##NAME);                             \
        return 0;                                                                     \
    }                                                                                 \
    static int steps_##NAME(Call *c, const View in[], const View out[], StepBuf *b) { \
        return steps_truth(c, in, out, b, OP, SWAPPED);                               \
    }                                                                                 \
    static const OnnxMap onnx_##NAME[] = {                                            \
        {"", TYPE, OPSET, 0, ""}, {"", TYPE, OLD, OPSET - 1, "broadcast:axis"}, {0}}; \
    const Op op_##NAME = {                                                            \
        #NAME,                                                                        \
        "a b",                                                                        \
        "y",                                                                          \
        .shape = SHAPE,                                                               \
        .define = define_##NAME,                                                      \
        .value = value_##NAME,                                                        \
        .steps = steps_##NAME,                                                        \
        .kernel = kernel_##NAME,                                                      \
        .onnx = onnx_##NAME,                                                          \
        .flags = OP_BY_DATA | OP_DECIDES | (FLAGS),                                   \
    };
enum { EVEN = OP_COMMUTATIVE | OP_BROADCASTS };
PAIR(equal, "Equal", 7, 1, compare_shape, is_equal, a == b, C_EQ, 0, EVEN)
PAIR(less, "Less", 7, 1, compare_shape, is_less, a < b, C_LT, 0, OP_BROADCASTS)
PAIR(greater, "Greater", 7, 1, compare_shape, is_greater, a > b, C_LT, 1, OP_BROADCASTS)
PAIR(lessequal, "LessOrEqual", 12, 12, compare_shape, is_less_equal, a <= b, C_LE, 0, OP_BROADCASTS)
PAIR(greaterequal, "GreaterOrEqual", 12, 12, compare_shape, is_greater_equal, a >= b, C_LE, 1,
     OP_BROADCASTS)
PAIR(and, "And", 7, 1, logic_shape, is_and, a != 0 && b != 0, C_AND, 0, EVEN)
PAIR(or, "Or", 7, 1, logic_shape, is_or, a != 0 || b != 0, C_OR, 0, EVEN)
PAIR(xor, "Xor", 7, 1, logic_shape, is_xor, (a != 0) != (b != 0), C_XOR, 0, EVEN)

/* not: 1 - x, since truth values are 0 and 1. */
static Ex not_define(Call *c, Dims i) { return sub(c, num(c, 1, 1), at(c, 0, i)); }
static bool value_not(Call *c, const PolyList in[], Poly *out) {
    return value_each(c, in, out, is_not);
}
static int kernel_not(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i))
        kernel_set_integer(y, slot, kernel_at(y, i), !kernel_integer(x, slot, kernel_at(x, i)));
    return 0;
}
static int steps_not(Call *c, const View in[], const View out[], StepBuf *b) {
    return steps_truth(c, in, out, b, C_NOT, false);
}
static const OnnxMap onnx_not[] = {{"", "Not", 1, 0, ""}, {0}};
const Op op_not = {"not",
                   "x",
                   "y",
                   .shape = logic_shape,
                   .define = not_define,
                   .value = value_not,
                   .steps = steps_not,
                   .kernel = kernel_not,
                   .onnx = onnx_not};

/* where: a where the condition is true, else b. */
static const char *where_shape(Call *c) {
    if (c->in[0]->dtype != DT_BOOL) return "the first input of where must be boolean";
    if (c->in[1]->dtype != c->in[2]->dtype) return "the inputs have different element types";
    c->out[0] = *c->in[1];
    c->out[0].dim = dims_join(c, dims_join(c, c->in[0]->dim, c->in[1]->dim), c->in[2]->dim);
    dims_join(c, c->in[0]->dim, c->in[2]->dim);
    return NULL;
}
static Ex where_define(Call *c, Dims i) {
    Ex x[3];
    for (int k = 0; k < 3; k++) x[k] = at(c, k, dims_tail(i, c->in[k]->dim.n));
    return where(c, x[0], x[1], x[2]);
}
static bool value_where(Call *c, const PolyList in[], Poly *out) {
    return value_each(c, in, out, is_where);
}
static int kernel_where(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *condition = &s->view[1];
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        bool truth =
            kernel_integer(condition, slot, kernel_at_broadcast(condition, y->rank, i)) != 0;
        const View *x = &s->view[truth ? 2 : 3];
        kernel_move(y, slot, kernel_at(y, i), x, kernel_at_broadcast(x, y->rank, i));
    }
    return 0;
}
static int steps_where(Call *c, const View in[], const View out[], StepBuf *b) {
    View v[4] = {out[0]};
    if (!computed(c->in[1]) || dtype_class(c->in[1]->dtype) == 'C') return 0;
    for (int k = 0; k < 3; k++) v[1 + k] = view_spread(&in[k], out[0].rank, out[0].dim);
    step_code(b, step_add(b, S_EWISE, 4, v), 4,
              (const Scalar[]){{.op = C_VIEW, .a = 1},
                               {.op = C_VIEW, .a = 2},
                               {.op = C_VIEW, .a = 3},
                               {.op = C_WHERE, .a = 0, .b = 1, .c = 2}});
    return 1;
}
static const OnnxMap onnx_where[] = {{"", "Where", 9, 0, ""}, {0}};
const Op op_where = {
    "where",
    "condition a b",
    "y",
    .shape = where_shape,
    .define = where_define,
    .value = value_where,
    .steps = steps_where,
    .kernel = kernel_where,
    .onnx = onnx_where,
    .flags = OP_BROADCASTS | OP_BY_DATA,
};
