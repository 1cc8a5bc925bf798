/* narrow.c -- finds the narrowest class that computes an element-wise program of integers
   correctly.

   Compared with int64, the narrow classes (int32, int16, and for outputs of one byte int8 and
   uint8) process two to eight times as many elements per vector register. A narrow class is correct
   if each value either fits in its type or is read only by operations that need no more than its
   low bits: sums, differences, products, bit operations, and conversions to types that are no
   wider. This is decided by interval arithmetic over the values that int64 would compute. */
#include "ops/cpu/cpu.h"

enum { MOST_CODE = 256 };
/* The interval that contains a value as int64 computes it. Where it exceeds the narrow type, only
   the low bits of the value are computed. */
typedef struct Span {
    int64_t low, high;
} Span;
static const int64_t FAR = (int64_t)1 << 40; /* a program with a value outside -FAR..FAR is computed
                                                as int64 */

static bool type_span(int dtype, Span *s) {
    switch (dtype) {
    case DT_BOOL: return *s = (Span){0, 1}, true;
    case DT_INT8: return *s = (Span){INT8_MIN, INT8_MAX}, true;
    case DT_UINT8: return *s = (Span){0, UINT8_MAX}, true;
    case DT_INT16: return *s = (Span){INT16_MIN, INT16_MAX}, true;
    case DT_UINT16: return *s = (Span){0, UINT16_MAX}, true;
    case DT_INT32: return *s = (Span){INT32_MIN, INT32_MAX}, true;
    default: return false;
    }
}
static bool within(Span s, Span type) { return s.low >= type.low && s.high <= type.high; }
static Span joined_span(Span a, Span b) {
    return (Span){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}
/* The product of two ends of intervals; a product beyond int64 becomes its limit, which is far
   beyond FAR. */
static int64_t product_end(int64_t a, int64_t b) {
    int64_t y;
    return !__builtin_mul_overflow(a, b, &y) ? y : (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}
static Span product_span(Span a, Span b) {
    const int64_t p[] = {product_end(a.low, b.low), product_end(a.low, b.high),
                         product_end(a.high, b.low), product_end(a.high, b.high)};
    Span s = {p[0], p[0]};
    for (int k = 1; k < 4; k++) s = joined_span(s, (Span){p[k], p[k]});
    return s;
}
static int64_t greatest_of(Span s) { return s.high > -s.low ? s.high : -s.low; }

/* Computes the interval of an instruction for which the low bits of its operands suffice. False: it
   is not such an instruction. */
static bool modular_span(const Scalar *c, const Span of[], Span type, Span *y) {
    const Span a = of[c->a], b = of[op_values(c->op) > 1 ? c->b : c->a];
    switch ((int)c->op) {
    case C_ADD: *y = (Span){a.low + b.low, a.high + b.high}; return true;
    case C_SUB: *y = (Span){a.low - b.high, a.high - b.low}; return true;
    case C_MUL: *y = product_span(a, b); return true;
    case C_NEG: *y = (Span){-a.high, -a.low}; return true;
    case F_BITS_NOT: *y = (Span){-1 - a.high, -1 - a.low}; return true;
    case F_BITS_AND:
    case F_BITS_OR:
    case F_BITS_XOR:
        *y = within(a, type) && within(b, type) ? type : (Span){-FAR, FAR};
        return true;
    default: return false;
    }
}
/* Computes the interval of an instruction that needs its operands exactly. False: it is not such an
   instruction. */
static bool exact_span(const Scalar *c, const Span of[], Span *y) {
    const Span a = of[c->a], b = of[op_values(c->op) > 1 ? c->b : c->a];
    const int64_t most = greatest_of(a), divisor = greatest_of(b);
    if (scalar_gives_truth(c->op)) return *y = (Span){0, 1}, true;
    switch ((int)c->op) {
    case C_MIN:
    case C_MAX: *y = joined_span(a, b); return true;
    case C_ABS: *y = (Span){0, most}; return true;
    case C_RELU: *y = (Span){0, a.high > 0 ? a.high : 0}; return true;
    case C_SIGN: *y = (Span){-1, 1}; return true;
    case C_DIV: *y = (Span){-most, most}; return true;
    case C_MOD:
    case F_REST: *y = (Span){-divisor, divisor}; return true;
    case F_SHIFT_LEFT: *y = (Span){-FAR, FAR}; return true;
    case F_SHIFT_RIGHT: *y = joined_span(a, (Span){0, 0}); return true;
    default: return false;
    }
}
static bool operands_within(const Scalar *c, const Span of[], Span type) {
    return within(of[c->a], type) && (op_values(c->op) < 2 || within(of[c->b], type));
}
/* Computes the interval of any instruction; view_type is the element type of a view or accumulator.
   False: a class of this type cannot compute the value. */
static bool value_span(const Scalar *c, int view_type, const Span of[], Span type, Span *y) {
    Span as;
    switch ((int)c->op) {
    case C_VIEW:
    case C_ACC: return type_span(view_type, y) && within(*y, type);
    case C_CONST:
        if (!(c->k >= -(double)FAR && c->k <= (double)FAR)) return false;
        return *y = (Span){(int64_t)c->k, (int64_t)c->k}, true;
    case C_FLOOR:
    case C_CEIL:
    case C_ROUND: return *y = of[c->a], true;
    case C_WHERE: return *y = joined_span(of[c->b], of[c->c]), within(of[c->a], type);
    case C_AS:
        if (!type_span(c->b, &as) || !within(as, type)) return false;
        *y = within(of[c->a], as) ? of[c->a] : as;
        return c->b != DT_BOOL || within(of[c->a], type);
    default:
        return modular_span(c, of, type, y) ||
               (operands_within(c, of, type) && exact_span(c, of, y));
    }
}
static bool fits(const View *view, const View *acc, const Scalar *code, int ncode, Span type) {
    Span of[MOST_CODE], y;
    if (ncode > MOST_CODE || !type_span(view[0].dtype, &y)) return false;
    for (int i = 0; i < ncode; i++) {
        const Scalar *c = &code[i];
        const int view_type = c->op == C_VIEW ? view[c->a].dtype : c->op == C_ACC ? acc->dtype : 0;
        if (!value_span(c, view_type, of, type, &of[i])) return false;
        if (of[i].low < -FAR || of[i].high > FAR) return false;
    }
    const Span last = of[ncode - 1];
    return within(last, type) || (view[0].dtype != DT_BOOL && within(y, type)) ||
           (view[0].dtype == DT_UINT16 && type.high == INT16_MAX);
}

/* Whether the class has loops for all instructions (Simd.op). Instructions that only move values
   need none. */
static bool has_code(const Simd *simd, ComputeClass class, const Scalar *code, int ncode) {
    for (int i = 0; i < ncode; i++) {
        const int op = code[i].op;
        const bool moves =
            op == C_VIEW || op == C_ACC || op == C_CONST || op == C_WHERE || op == C_AS;
        if (!moves && !simd->op[class][op]) return false;
    }
    return true;
}
ComputeClass narrow_class(const Simd *simd, const View *view, const View *acc, const Scalar *code,
                          int ncode) {
    static const struct {
        ComputeClass class;
        Span type;
    } narrow[] = {{CLASS_UINT8, {0, UINT8_MAX}},
                  {CLASS_INT8, {INT8_MIN, INT8_MAX}},
                  {CLASS_INT16, {INT16_MIN, INT16_MAX}},
                  {CLASS_INT32, {INT32_MIN, INT32_MAX}}};
    enum { BYTES = 2 }; /* the first two of the table: classes for outputs of one byte */
    const int first = dtype_bits((DType)view[0].dtype) == 8 ? 0 : BYTES;
    for (int k = first; k < (int)(sizeof narrow / sizeof *narrow); k++)
        if (fits(view, acc, code, ncode, narrow[k].type) &&
            has_code(simd, narrow[k].class, code, ncode))
            return narrow[k].class;
    return CLASS_INT;
}
