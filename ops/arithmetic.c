/* arithmetic: functions of two tensors, element by element: add, sub, mul, div, pow, min, max, mod
   and sum. An input may lack leading axes of the other one and is then repeated along them. */
#include "ops/operator/op.h"
#include <math.h>

static const char *shape(Call *c) {
    const char *why = dtypes_agree(c, "FIU");
    if (why) return why;
    c->out[0] = *c->in[0];
    c->out[0].dim = dims_join(c, c->in[0]->dim, c->in[1]->dim);
    return NULL;
}
static Ex left(Call *c, Dims i) { return at(c, 0, dims_tail(i, c->in[0]->dim.n)); }
static Ex right(Call *c, Dims i) { return at(c, 1, dims_tail(i, c->in[1]->dim.n)); }

static Ex define_add(Call *c, Dims i) { return add(c, left(c, i), right(c, i)); }
static Ex define_sub(Call *c, Dims i) { return sub(c, left(c, i), right(c, i)); }
static Ex define_mul(Call *c, Dims i) { return mul(c, left(c, i), right(c, i)); }
static Ex define_min(Call *c, Dims i) { return min2(c, left(c, i), right(c, i)); }
static Ex define_max(Call *c, Dims i) { return max2(c, left(c, i), right(c, i)); }
static Ex define_div(Call *c, Dims i) {
    return is_float(c->in[0]) ? divide(c, left(c, i), right(c, i)) : 0;
}
/* The exponent may have another element type than the base; the result has that of the base. */
static const char *shape_pow(Call *c) {
    char a = dtype_class(c->in[0]->dtype), b = dtype_class(c->in[1]->dtype);
    if (a == 'B' || b == 'B' || a == 'S' || b == 'S' || a == 'C' || b == 'C')
        return "not supported for these element types";
    c->out[0] = *c->in[0];
    c->out[0].dim = dims_join(c, c->in[0]->dim, c->in[1]->dim);
    return NULL;
}
static Ex define_pow(Call *c, Dims i) {
    return is_float(c->in[0]) && c->in[0]->dtype == c->in[1]->dtype
               ? power(c, left(c, i), right(c, i))
               : 0;
}

/* Integer division truncates. This is the floor, which polynomials of sizes can express, only where
   the dividend cannot be negative and the divisor is a positive constant. */
static bool quotient(Call *c, const Poly x[], Poly *y) {
    int64_t divisor;
    if (!is_const(c, x[1], &divisor) || divisor <= 0 || !is_natural(c, x[0])) return false;
    *y = quot(c, x[0], x[1]);
    return true;
}
enum { TRUNCATED };
static const AttrDef mod_attrs[] = {
    [TRUNCATED] = {"truncated", A_ENUM, "no", "no yes", .draw = "no yes"}, {0}};
static int mod_params(Call *c, int64_t param[]) {
    param[MOD_TRUNCATED] = enum_value(c, TRUNCATED);
    return 1;
}
static bool modulus(Call *c, const Poly x[], Poly *y) {
    Poly q;
    if (!quotient(c, x, &q)) return false;
    *y = poly(c, "a - b*q", x[0], x[1], q);
    return true;
}
static bool value_div(Call *c, const PolyList in[], Poly *out) {
    return value_each(c, in, out, quotient);
}
static bool value_mod(Call *c, const PolyList in[], Poly *out) {
    return value_each(c, in, out, modulus);
}

/* The kernels' functions of numbers. Division of integers truncates, and gives 0 if the divisor is
   0. The remainder has the sign of the divisor or, if `truncated`, that of the dividend. A power of
   integers wraps around; with a negative exponent it is 0, unless the base is 1 or -1. */
static double real_div(double a, double b) { return a / b; }
static int64_t whole_div(int64_t a, int64_t b) {
    return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}
static double real_mod(double a, double b) {
    double rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
static int64_t whole_mod(int64_t a, int64_t b) {
    int64_t rest = b == 0 || b == -1 ? 0 : a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
static int64_t whole_truncated_mod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
static int64_t whole_pow(int64_t a, int64_t b) {
    uint64_t y = 1;
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    for (uint64_t base = (uint64_t)a; b; b >>= 1, base *= base)
        if (b & 1) y *= base;
    return (int64_t)y;
}
/* An integer to the power of a float. */
static int kernel_pow_mixed(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *a = &s->view[1], *b = &s->view[2];
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        double x = kernel_real(a, slot, kernel_at_broadcast(a, y->rank, i));
        kernel_set_real(y, slot, kernel_at(y, i),
                        pow(x, kernel_real(b, slot, kernel_at_broadcast(b, y->rank, i))));
    }
    return 0;
}
#define KERNEL(NAME, REAL, WHOLE)                        \
    static int NAME(const Step *s, void *const slot[]) { \
        kernel_pairs(s, slot, REAL, WHOLE);              \
        return 0;                                        \
    }
KERNEL(kernel_div, real_div, whole_div)
static int kernel_mod(const Step *s, void *const slot[]) {
    if (s->param[MOD_TRUNCATED]) kernel_pairs(s, slot, fmod, whole_truncated_mod);
    else kernel_pairs(s, slot, real_mod, whole_mod);
    return 0;
}
static int kernel_pow(const Step *s, void *const slot[]) {
    bool whole = kernel_is_integer(&s->view[1]) && kernel_is_integer(&s->view[2]);
    if (!whole && kernel_is_integer(&s->view[1])) return kernel_pow_mixed(s, slot);
    kernel_pairs(s, slot, pow, whole_pow);
    return 0;
}

/* Up to opset 6, input 1 is broadcast only where the attribute `broadcast` asks for it. */
#define LEGACY "consumed_inputs:ignore broadcast:axis"
#define PAIR(TYPE) \
    {"", TYPE, 7, 0, ""}, { "", TYPE, 1, 6, LEGACY }
static const OnnxMap onnx_add[] = {PAIR("Add"),
                                   {"", "Sum", 6, 0, "inputs:fold"},
                                   {"", "Sum", 1, 5, "consumed_inputs:ignore inputs:fold"},
                                   {0}};
static const OnnxMap onnx_sub[] = {PAIR("Sub"), {0}};
static const OnnxMap onnx_mul[] = {PAIR("Mul"), {0}};
static const OnnxMap onnx_div[] = {PAIR("Div"), {0}};
static const OnnxMap onnx_pow[] = {PAIR("Pow"), {0}};
static const OnnxMap onnx_mod[] = {{"", "Mod", 10, 0, "truncated=fmod"}, {0}};
/* elements:floats: up to opset 11, Min and Max take floats only. The exporter checks this; the
   importer accepts any element type. */
static bool read_floats(Call *c, OnnxRead *r, int attr) {
    (void)c, (void)r, (void)attr;
    return true;
}
static bool write_floats(Call *c, OnnxWrite *w, int attr) {
    (void)attr;
    return dtype_class(c->in[0]->dtype) == 'F' || w->refuse(w, "integers before opset 12");
}
static const OnnxItem items_least[] = {{"elements", "floats", read_floats, write_floats}, {0}};
#define LEAST(TYPE)                                                                       \
    {"", TYPE, 12, 0, "inputs:fold"}, {"", TYPE, 6, 11, "elements:floats inputs:fold"}, { \
        "", TYPE, 1, 5, "consumed_inputs:ignore elements:floats inputs:fold"              \
    }
static const OnnxMap onnx_min[] = {LEAST("Min"), {0}};
static const OnnxMap onnx_max[] = {LEAST("Max"), {0}};

enum { BOTH = OP_COMMUTATIVE | OP_BROADCASTS };
const Op op_add = {"add", "a b", "y", NULL, shape, define_add, .onnx = onnx_add, .flags = BOTH};

/* sum: the same as add, but exported as ONNX's Sum, which runtimes do not fuse into what follows.
   The importer reads Sum as add. */
static const char *shape_sum(Call *c) {
    return is_float(c->in[0]) ? shape(c) : "not supported for these element types";
}
static const OnnxMap onnx_sum[] = {{"", "Sum", 8, 0, "export:only"}, {0}};
const Op op_sum = {"sum",
                   "a b",
                   "y",
                   .shape = shape_sum,
                   .expand = "%y = add %a %b\nout %y\n",
                   .onnx = onnx_sum,
                   .flags = BOTH};

const Op op_sub = {
    "sub", "a b", "y", NULL, shape, define_sub, .onnx = onnx_sub, .flags = OP_BROADCASTS};
const Op op_mul = {"mul", "a b", "y", NULL, shape, define_mul, .onnx = onnx_mul, .flags = BOTH};
const Op op_div = {"div",
                   "a b",
                   "y",
                   NULL,
                   shape,
                   define_div,
                   .value = value_div,
                   .domain = divisors,
                   .kernel = kernel_div,
                   .onnx = onnx_div,
                   .flags = OP_BROADCASTS};
const Op op_pow = {"pow",
                   "a b",
                   "y",
                   NULL,
                   shape_pow,
                   define_pow,
                   .kernel = kernel_pow,
                   .onnx = onnx_pow,
                   .flags = OP_BROADCASTS};
const Op op_min = {"min",
                   "a b",
                   "y",
                   NULL,
                   shape,
                   define_min,
                   .onnx = onnx_min,
                   .flags = BOTH,
                   .items = items_least};
const Op op_max = {"max",
                   "a b",
                   "y",
                   NULL,
                   shape,
                   define_max,
                   .onnx = onnx_max,
                   .flags = BOTH,
                   .items = items_least};
const Op op_mod = {"mod",
                   "a b",
                   "y",
                   mod_attrs,
                   shape,
                   .value = value_mod,
                   .domain = divisors,
                   .kernel = kernel_mod,
                   .params = mod_params,
                   .onnx = onnx_mod,
                   .flags = OP_BROADCASTS};
