/* pointwise.c -- runs operators of single elements for which the kernel runs (OP_BY_DATA, or
   without a definition) as element-wise programs, which may use the additional instructions of
   simd.h (FurtherOp). */
#include "ops/cpu/cpu.h"
#include "ops/operator/signature.h"

/* Stretches x to y's sizes: its axes are y's last ones, and its axes of length 1 are broadcast.
   False: the sizes do not fit. */
static bool stretched(const View *y, const View *x, View *to) {
    *to = *y;
    to->slot = x->slot, to->dtype = x->dtype, to->offset = x->offset;
    for (int a = 0; a < y->rank; a++) {
        const int from = a - (y->rank - x->rank);
        if (from >= 0 && x->dim[from] != 1 && x->dim[from] != y->dim[a]) return false;
        to->stride[a] = from < 0 || x->dim[from] == 1 ? 0 : x->stride[from];
    }
    return x->rank >= 0 && x->rank <= y->rank;
}
static bool is_real(const View *v) {
    return v->dtype == DT_FLOAT || v->dtype == DT_DOUBLE || v->dtype == DT_FLOAT16 ||
           v->dtype == DT_BFLOAT16;
}
static float number(const Step *s, int k) { return (float)param_real(s->param[k]); }

enum { REALS = 1, WHOLES = 2 };
typedef struct Plain {
    const Op *op;
    int code, of; /* the instruction; of: REALS or WHOLES, the types for which it is used */
} Plain;
static const Plain plain[] = {
    {&op_asin, F_ASIN, REALS},
    {&op_acos, F_ACOS, REALS},
    {&op_atan, F_ATAN, REALS},
    {&op_sinh, F_SINH, REALS},
    {&op_cosh, F_COSH, REALS},
    {&op_asinh, F_ASINH, REALS},
    {&op_acosh, F_ACOSH, REALS},
    {&op_atanh, F_ATANH, REALS},
    {&op_bitwise_not, F_BITS_NOT, WHOLES},
    {&op_bitwise_and, F_BITS_AND, WHOLES},
    {&op_bitwise_or, F_BITS_OR, WHOLES},
    {&op_bitwise_xor, F_BITS_XOR, WHOLES},
    {&op_div, C_DIV, WHOLES},
    {&op_pow, C_POW, WHOLES},
};
/* The instruction that computes the operator; 0: there is none. */
static int instruction_of(const Step *s, const Op *op) {
    const bool real = is_real(&s->view[1]);
    if (op == &op_bitshift)
        return s->nparam < 2 || real ? 0 : s->param[BITSHIFT_RIGHT] ? F_SHIFT_RIGHT : F_SHIFT_LEFT;
    if (op == &op_mod)
        return s->nparam < 2 ? 0 : s->param[MOD_TRUNCATED] ? F_REST : real ? 0 : C_MOD;
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++)
        if (plain[k].op == op && plain[k].of == (real ? REALS : WHOLES)) return plain[k].code;
    return 0;
}
static bool thresholded(Build *b, const View view[], Kernel *k) {
    const Scalar code[] = {{.op = C_CONST, .k = (double)number(b->step, THRESHOLD_ALPHA)},
                           {.op = C_VIEW, .a = 1},
                           {.op = C_LT, .a = 0, .b = 1},
                           {.op = C_CONST, .k = 0},
                           {.op = C_WHERE, .a = 2, .b = 1, .c = 3}};
    return program_build(b, view, 2, code, 5, k);
}
static bool shrunk(Build *b, const View view[], Kernel *k) {
    enum { X, LOW, BIAS, LIMIT, BELOW, PLUS, ABOVE, MINUS, ZERO, RIGHT, ALL };
    const double limit = (double)number(b->step, SHRINK_LAMBDA);
    const Scalar code[] = {
        [X] = {.op = C_VIEW, .a = 1},
        [LOW] = {.op = C_CONST, .k = -limit},
        [BIAS] = {.op = C_CONST, .k = (double)number(b->step, SHRINK_BIAS)},
        [LIMIT] = {.op = C_CONST, .k = limit},
        [BELOW] = {.op = C_LT, .a = X, .b = LOW},
        [PLUS] = {.op = C_ADD, .a = X, .b = BIAS},
        [ABOVE] = {.op = C_LT, .a = LIMIT, .b = X},
        [MINUS] = {.op = C_SUB, .a = X, .b = BIAS},
        [ZERO] = {.op = C_CONST},
        [RIGHT] = {.op = C_WHERE, .a = ABOVE, .b = MINUS, .c = ZERO},
        [ALL] = {.op = C_WHERE, .a = BELOW, .b = PLUS, .c = RIGHT}
    };
    return program_build(b, view, 2, code, ALL + 1, k);
}
bool pointwise_build(Build *b, int choice, Kernel *k) {
    const Step *s = b->step;
    const Op *op = op_find(s->op);
    View view[3] = {s->view[0]};
    (void)choice;
    for (int i = 0; i < s->nview; i++)
        if (i > 2 || !dtype_numeric(s->view[i].dtype) ||
            (i > 0 && !stretched(&s->view[0], &s->view[i], &view[i])))
            return false;
    if (s->nview == 2 && op == &op_thresholdedrelu) return thresholded(b, view, k);
    if (s->nview == 2 && op == &op_shrink) return shrunk(b, view, k);
    const int code = instruction_of(s, op);
    if (!code || s->nview != 1 + op_values(code)) return false;
    for (int i = 1; i < s->nview; i++)
        if (is_real(&s->view[i]) != is_real(&s->view[0])) return false;
    const Scalar two[] = {
        {.op = C_VIEW, .a = 1}, {.op = C_VIEW, .a = 2}, {.op = (uint8_t)code, .a = 0, .b = 1}};
    const Scalar one[] = {two[0], {.op = (uint8_t)code}};
    return s->nview == 2 ? program_build(b, view, 2, one, 2, k)
                         : program_build(b, view, 3, two, 3, k);
}
