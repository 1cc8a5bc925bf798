/* element.c -- elements of tensors as doubles and integers. Small floats are encoded by scaling to their unit in the last place and rounding once. */
#include "ops/core/element.h"
#include <math.h>
#include <string.h>

/* X(dtype, C type, member) of the types that C has. */
#define C_TYPES(X)                                                                                                              \
    X(DT_FLOAT, float)                                                                                                          \
    X(DT_DOUBLE, double) X(DT_INT8, int8_t) X(DT_INT16, int16_t) X(DT_INT32, int32_t) X(DT_INT64, int64_t) X(DT_UINT8, uint8_t) \
        X(DT_UINT16, uint16_t) X(DT_UINT32, uint32_t) X(DT_UINT64, uint64_t) X(DT_BOOL, uint8_t)

typedef struct SmallFloat {
    int exponent, mantissa;
} SmallFloat; /* bits of each; ones in the exponent mean infinity or NaN */
static const SmallFloat half = {5, 10}, brain = {8, 7};

static double small_decode(SmallFloat f, uint16_t bits) {
    int bias = (1 << (f.exponent - 1)) - 1, e = (bits >> f.mantissa) & ((1 << f.exponent) - 1), m = bits & ((1 << f.mantissa) - 1);
    double sign = bits >> 15 ? -1.0 : 1.0;
    if (e == (1 << f.exponent) - 1) return m ? (double)NAN : sign * (double)INFINITY;
    return sign * ldexp(e ? m + (1 << f.mantissa) : m, (e ? e : 1) - bias - f.mantissa);
}

static uint16_t small_encode(SmallFloat f, double x) {
    int bias = (1 << (f.exponent - 1)) - 1, top = (1 << f.exponent) - 1, e;
    unsigned sign = signbit(x) ? 0x8000u : 0, infinity = (unsigned)top << f.mantissa;
    if (isnan(x)) return (uint16_t)(sign | infinity | 1u << (f.mantissa - 1));
    if (isinf(x)) return (uint16_t)(sign | infinity);
    frexp(x, &e); /* |x| in [2^(e-1), 2^e) */
    if (x == 0 || e - 1 < 1 - bias) e = 2 - bias;
    double units = nearbyint(ldexp(fabs(x), f.mantissa - (e - 1))); /* may carry into the next exponent: then the sum below does too */
    unsigned bits = (unsigned)((e - 2 + bias) << f.mantissa) + (unsigned)units;
    return (uint16_t)(sign | (bits > infinity ? infinity : bits));
}

bool element_readable(DType t) {
    return t == DT_BOOL ||
           ((dtype_class(t) == 'F' || dtype_class(t) == 'I' || dtype_class(t) == 'U') && dtype_bits(t) >= (dtype_class(t) == 'F' ? 16 : 8));
}

double element_real(DType t, const void *p, int64_t i) {
    switch (t) {
#define X(id, type) \
    case id: return (double)((const type *)p)[i];
        C_TYPES(X)
#undef X
    case DT_FLOAT16: return small_decode(half, ((const uint16_t *)p)[i]);
    case DT_BFLOAT16: return small_decode(brain, ((const uint16_t *)p)[i]);
    default: return NAN;
    }
}

static int64_t clamp(double x, double low, double high) {
    return isnan(x) ? 0 : x <= low ? (int64_t)low : x >= high ? (int64_t)high : (int64_t)x;
}

int64_t element_integer(DType t, const void *p, int64_t i) {
    if (t == DT_FLOAT || t == DT_DOUBLE || t == DT_FLOAT16 || t == DT_BFLOAT16) return clamp(element_real(t, p, i), -0x1p62, 0x1p62);
    switch (t) {
#define X(id, type) \
    case id: return (int64_t)((const type *)p)[i];
        C_TYPES(X)
#undef X
    default: return 0;
    }
}

void element_set_integer(DType t, void *p, int64_t i, int64_t x) {
    switch (t) {
#define X(id, type) \
    case id: ((type *)p)[i] = (type)x; break;
        C_TYPES(X)
#undef X
    default: element_set_real(t, p, i, (double)x);
    }
}

void element_set_real(DType t, void *p, int64_t i, double x) {
    int bits = dtype_bits(t);
    switch (t) {
    case DT_FLOAT: ((float *)p)[i] = (float)x; break;
    case DT_DOUBLE: ((double *)p)[i] = x; break;
    case DT_FLOAT16: ((uint16_t *)p)[i] = small_encode(half, x); break;
    case DT_BFLOAT16: ((uint16_t *)p)[i] = small_encode(brain, x); break;
    case DT_BOOL: ((uint8_t *)p)[i] = x != 0; break;
    case DT_INT64: ((int64_t *)p)[i] = x >= 0x1p63 ? INT64_MAX : clamp(x, -0x1p63, 0x1.fffffffffffffp62); break;
    case DT_UINT64: ((uint64_t *)p)[i] = isnan(x) || x <= 0 ? 0 : x >= 0x1p64 ? UINT64_MAX : (uint64_t)x; break;
    default:
        if (dtype_class(t) == 'I') element_set_integer(t, p, i, clamp(x, -ldexp(1, bits - 1), ldexp(1, bits - 1) - 1));
        if (dtype_class(t) == 'U') element_set_integer(t, p, i, clamp(x, 0, ldexp(1, bits) - 1));
    }
}

size_t element_bytes(DType t, int64_t count) { return ((size_t)count * (size_t)dtype_bits(t) + 7) / 8; }
