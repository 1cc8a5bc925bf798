/* element.c -- reads and writes elements of tensors as doubles and integers. A float of 16 bits or
   less is encoded by scaling the number to units in the last place and rounding once. */
#include "ops/core/element.h"
#include "ops/base/random.h"
#include <math.h>
#include <string.h>

/* X(dtype, C type) for the element types that C has. */
#define C_TYPES(X)         \
    X(DT_FLOAT, float)     \
    X(DT_DOUBLE, double)   \
    X(DT_INT8, int8_t)     \
    X(DT_INT16, int16_t)   \
    X(DT_INT32, int32_t)   \
    X(DT_INT64, int64_t)   \
    X(DT_UINT8, uint8_t)   \
    X(DT_UINT16, uint16_t) \
    X(DT_UINT32, uint32_t) \
    X(DT_UINT64, uint64_t) \
    X(DT_BOOL, uint8_t)

/* A float format of 16 bits or less. `exponent` and `mantissa` are numbers of bits. A `finite`
   format has no infinities and one NaN: all bits set or, with `unsigned_zero`, the sign bit alone;
   exponents of the latter formats are biased by one more. E2M1 has no NaN and stores -0 for it. */
typedef struct SmallFloat {
    int exponent, mantissa;
    bool finite, unsigned_zero;
    double most; /* the greatest finite number */
} SmallFloat;
static const SmallFloat half = {5, 10, false, false, 65504},
                        brain = {8, 7, false, false, 0x1.fep127}, e4m3 = {4, 3, true, false, 448},
                        e4m3_fnuz = {4, 3, true, true, 240}, e5m2 = {5, 2, false, false, 57344},
                        e5m2_fnuz = {5, 2, true, true, 57344}, e2m1 = {2, 1, true, false, 6};
enum { E8M0_NAN = 255, E8M0_BIAS = 127 };
static const SmallFloat *small_float(DType t) {
    switch (t) {
    case DT_FLOAT16: return &half;
    case DT_BFLOAT16: return &brain;
    case DT_FLOAT8E4M3FN: return &e4m3;
    case DT_FLOAT8E4M3FNUZ: return &e4m3_fnuz;
    case DT_FLOAT8E5M2: return &e5m2;
    case DT_FLOAT8E5M2FNUZ: return &e5m2_fnuz;
    case DT_FLOAT4E2M1: return &e2m1;
    default: return NULL;
    }
}
static int small_bits(const SmallFloat *f) { return 1 + f->exponent + f->mantissa; }
static int small_bias(const SmallFloat *f) {
    return (1 << (f->exponent - 1)) - 1 + f->unsigned_zero;
}
static bool small_nan(const SmallFloat *f, unsigned bits) {
    unsigned ones = (1u << (small_bits(f) - 1)) - 1;
    if (f->unsigned_zero) return bits == ones + 1;
    return f->finite && f->exponent > 2 && (bits & ones) == ones;
}

static double small_decode(const SmallFloat *f, unsigned bits) {
    int e = (int)(bits >> f->mantissa) & ((1 << f->exponent) - 1),
        m = (int)bits & ((1 << f->mantissa) - 1);
    double sign = bits >> (small_bits(f) - 1) ? -1.0 : 1.0;
    if (small_nan(f, bits)) return NAN;
    if (!f->finite && e == (1 << f->exponent) - 1) return m ? (double)NAN : sign * (double)INFINITY;
    return sign * ldexp(e ? m + (1 << f->mantissa) : m, (e ? e : 1) - small_bias(f) - f->mantissa);
}

/* The bits for numbers beyond the greatest: infinity, NaN, or (E2M1) the greatest number itself. */
static unsigned small_beyond(const SmallFloat *f, unsigned sign) {
    unsigned ones = (1u << (small_bits(f) - 1)) - 1;
    if (!f->finite) return sign | (((1u << f->exponent) - 1) << f->mantissa);
    return f->unsigned_zero ? ones + 1 : sign | ones;
}
static unsigned small_encode(const SmallFloat *f, double x) {
    unsigned sign = signbit(x) ? 1u << (small_bits(f) - 1) : 0,
             ones = (1u << (small_bits(f) - 1)) - 1;
    int bias = small_bias(f), e;
    if (isnan(x) && f->exponent == 2) return ones + 1;
    if (isnan(x))
        return f->unsigned_zero ? ones + 1
               : f->finite      ? sign | ones
                                : small_beyond(f, sign) | 1u << (f->mantissa - 1);
    if (isinf(x)) return small_beyond(f, sign);
    frexp(x, &e); /* |x| in [2^(e-1), 2^e) */
    if (x == 0 || e - 1 < 1 - bias) e = 2 - bias;
    /* Rounding may carry into the next exponent; the sum below then does so, too. */
    double units = nearbyint(ldexp(fabs(x), f->mantissa - (e - 1)));
    if (e - 2 + bias > 1 << f->exponent) return small_beyond(f, sign);
    unsigned bits = (unsigned)((e - 2 + bias) << f->mantissa) + (unsigned)units;
    if (f->finite && (bits > ones || small_decode(f, bits) > f->most || small_nan(f, bits)))
        return small_beyond(f, sign);
    if (!f->finite && bits > small_beyond(f, 0)) bits = small_beyond(f, 0);
    return f->unsigned_zero && !bits ? 0 : sign | bits;
}

/* E8M0, a power of two: rounds up to the next one. */
static unsigned scale_encode(double x) {
    int e;
    double m = frexp(x, &e); /* x = m * 2^e, m in [1/2, 1) */
    if (isnan(x) || isinf(x) || x < 0) return E8M0_NAN;
    e = x == 0 ? 0 : e - (m == 0.5) + E8M0_BIAS;
    return e < 0 ? 0 : e > 254 ? 254 : (unsigned)e;
}

/* Elements of 4 or 2 bits; the first element of a byte is in its low bits. */
static unsigned packed_get(int bits, const void *p, int64_t i) {
    int each = 8 / bits;
    return (unsigned)(((const uint8_t *)p)[i / each] >> (bits * (int)(i % each))) &
           ((1u << bits) - 1);
}
static void packed_set(int bits, void *p, int64_t i, unsigned x) {
    int each = 8 / bits, shift = bits * (int)(i % each);
    uint8_t *at = (uint8_t *)p + i / each;
    *at = (uint8_t)((*at & ~(((1u << bits) - 1) << shift)) | (x & ((1u << bits) - 1)) << shift);
}
static unsigned bits_get(DType t, const void *p, int64_t i) {
    int bits = dtype_bits(t);
    uint16_t x;
    if (bits == 16) return memcpy(&x, (const char *)p + 2 * i, sizeof x), x;
    return bits == 8 ? ((const uint8_t *)p)[i] : packed_get(bits, p, i);
}
static void bits_set(DType t, void *p, int64_t i, unsigned x) {
    int bits = dtype_bits(t);
    if (bits == 16) ((uint16_t *)p)[i] = (uint16_t)x;
    else if (bits == 8) ((uint8_t *)p)[i] = (uint8_t)x;
    else packed_set(bits, p, i, x);
}

bool element_readable(DType t) {
    return t == DT_BOOL || dtype_class(t) == 'F' || dtype_is_integer(t);
}

double element_greatest(DType t) {
    const SmallFloat *f = small_float(t);
    return t == DT_FLOAT8E8M0 ? 0x1p127 : f ? f->most : 0;
}

/* Returns element i of p, of a C type, as another type. It is copied because data in files may not
   be aligned. */
#define READ_CASE(id, type, as)                                                \
    case id: {                                                                 \
        type x;                                                                \
        memcpy(&x, (const char *)p + i * (int64_t)sizeof(type), sizeof(type)); \
        return (as)x;                                                          \
    }

double element_real(DType t, const void *p, int64_t i) {
    switch (t) {
#define X(id, type) READ_CASE(id, type, double)
        C_TYPES(X)
#undef X
    case DT_FLOAT8E8M0:
        return ((const uint8_t *)p)[i] == E8M0_NAN ? (double)NAN
                                                   : ldexp(1, ((const uint8_t *)p)[i] - E8M0_BIAS);
    default:
        return small_float(t) ? small_decode(small_float(t), bits_get(t, p, i))
                              : (double)element_integer(t, p, i);
    }
}

static int64_t clamp(double x, double low, double high) {
    return isnan(x) ? 0 : x <= low ? (int64_t)low : x >= high ? (int64_t)high : (int64_t)x;
}

int64_t element_integer(DType t, const void *p, int64_t i) {
    if (dtype_class(t) == 'F') return clamp(element_real(t, p, i), -0x1p62, 0x1p62);
    int sign = 1 << (dtype_bits(t) - 1) % 8; /* the sign bit of an element of less than 8 bits */
    switch (t) {
#define X(id, type) READ_CASE(id, type, int64_t)
        C_TYPES(X)
#undef X
    case DT_INT4:
    case DT_INT2: return ((int)bits_get(t, p, i) ^ sign) - sign;
    case DT_UINT4:
    case DT_UINT2: return bits_get(t, p, i);
    default: return 0;
    }
}

bool element_exact(DType t, const void *p, int64_t i, double *out) {
    const int64_t most = INT64_C(1) << 53, x = element_integer(t, p, i);
    *out = element_real(t, p, i);
    return dtype_class(t) == 'F' || (x >= -most && x <= most && (x >= 0) == (*out >= 0));
}

bool element_holds(DType t, int64_t x) {
    const IntegerRange all = dtype_range(t);
    return all.low <= x && x <= all.high;
}

void element_set_integer(DType t, void *p, int64_t i, int64_t x) {
    switch (t) {
#define X(id, type) \
    case id: ((type *)p)[i] = (type)x; break;
        C_TYPES(X)
#undef X
    case DT_INT4:
    case DT_INT2:
    case DT_UINT4:
    case DT_UINT2: bits_set(t, p, i, (unsigned)x); break;
    default: element_set_real(t, p, i, (double)x);
    }
}

void element_set_real(DType t, void *p, int64_t i, double x) {
    switch (t) {
    case DT_FLOAT: ((float *)p)[i] = (float)x; break;
    case DT_DOUBLE: ((double *)p)[i] = x; break;
    case DT_FLOAT8E8M0: ((uint8_t *)p)[i] = (uint8_t)scale_encode(x); break;
    case DT_BOOL: ((uint8_t *)p)[i] = x != 0; break;
    case DT_INT64:
        ((int64_t *)p)[i] = x >= 0x1p63 ? INT64_MAX : clamp(x, -0x1p63, 0x1.fffffffffffffp62);
        break;
    case DT_UINT64:
        ((uint64_t *)p)[i] = isnan(x) || x <= 0 ? 0 : x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
        break;
    default:
        if (small_float(t)) bits_set(t, p, i, small_encode(small_float(t), x));
        if (dtype_is_integer(t)) {
            const IntegerRange all = dtype_range(t);
            element_set_integer(t, p, i, clamp(x, (double)all.low, (double)all.high));
        }
    }
}

double element_nearest(DType t, double x) {
    double held = 0; /* room for an element of any type */
    element_set_real(t, &held, 0, x);
    return element_real(t, &held, 0);
}

bool element_keeps(DType t, double x) {
    const double nearest = element_nearest(t, x);
    if (dtype_class(t) != 'F') return nearest == x;
    return isfinite(x) && isfinite(nearest) && (nearest != 0) == (x != 0);
}

/* The common case, which must be fast since kernels are compared on all of their elements. */
static void fill_float(float *p, int64_t n, uint32_t seed) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t x = (uint32_t)i * 2654435761u + seed;
        x = (x ^ x >> 15) * 2246822519u;
        p[i] = 0.5f + (float)(x >> 8) * 0x1p-24f;
    }
}

void element_fill(DType t, void *p, int64_t n, uint64_t seed) {
    const bool real = dtype_class(t) == 'F';
    if (t == DT_FLOAT) fill_float(p, n, (uint32_t)random_at(seed, 0));
    else
        for (int64_t i = 0; i < n && element_readable(t); i++) {
            const uint64_t x = random_at(seed, (uint64_t)i);
            if (real) element_set_real(t, p, i, 0.5 + (double)(x >> 40) / (double)(1 << 24));
            else element_set_integer(t, p, i, (int64_t)(x & 1));
        }
}

size_t element_bytes(DType t, int64_t count) {
    const size_t bits = (size_t)dtype_bits(t), n = (size_t)count;
    return n / 8 * bits + (n % 8 * bits + 7) / 8; /* not n * bits / 8, as n * bits may overflow */
}

bool elements_multiply(int64_t *count, int64_t size) {
    return !__builtin_mul_overflow(*count, size, count) && *count <= ELEMENT_COUNT_MAX;
}

bool elements_same(DType t, const void *p, int64_t n) {
    const size_t each = (size_t)dtype_bits(t) / 8;
    bool same = true;
    if (each) return !memcmp(p, (const char *)p + each, each * (size_t)(n - 1));
    for (int64_t i = 1; i < n && same; i++) same = bits_get(t, p, i) == bits_get(t, p, 0);
    return same;
}
