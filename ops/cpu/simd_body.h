/* simd_body.h -- the code of the inner loops of simd.h. It is included once for each instruction
   set, with these macros defined: SIMD_TABLE (the name of the table), SIMD_NAME (its name as text),
   WIDTH (floats of a register) and FMA(a, b, c) = a*b + c for floats. Everything except the table
   is static. */
#include "ops/cpu/simd.h"
#include "ops/cpu/simd_math.h"

#define EACH _Pragma("omp simd") for (int64_t i = 0; i < n; i++)

/* ---- operations */
#define DEFINE1(name, T, value)                                             \
    static void name(void *py, const void *pa, const void *pb, int64_t n) { \
        T *y = py;                                                          \
        const T *a = pa;                                                    \
        (void)pb;                                                           \
        EACH {                                                              \
            const T x = a[i];                                               \
            (void)x;                                                        \
            y[i] = (T)(value);                                              \
        }                                                                   \
    }
#define DEFINE2(name, T, value)                                             \
    static void name(void *py, const void *pa, const void *pb, int64_t n) { \
        T *y = py;                                                          \
        const T *a = pa, *b = pb;                                           \
        EACH {                                                              \
            const T x = a[i], z = b[i];                                     \
            y[i] = (T)(value);                                              \
        }                                                                   \
    }

/* The vector forms of the C library's functions and its scalar forms differ in the last bit. These
   loops therefore compute whole vectors only, the last of them on copies, so that equal operands
   give equal results wherever they lie. */
enum { WHOLE = 16 };
#define DEFINE_WHOLE(name, T, second)                                              \
    static void name(void *py, const void *pa, const void *pb, int64_t n) {        \
        (void)pb;                                                                  \
        const int64_t whole = n - n % WHOLE, rest = n - whole;                     \
        const size_t bytes = (size_t)rest * sizeof(T);                             \
        T *y = py, a_end[WHOLE], b_end[WHOLE], y_end[WHOLE];                       \
        const T *a = pa, *b = second;                                              \
        for (int64_t i = 0; i < whole; i += WHOLE) name##_of(y + i, a + i, b + i); \
        if (!rest) return;                                                         \
        for (int i = 0; i < WHOLE; i++) a_end[i] = b_end[i] = 1;                   \
        memcpy(a_end, a + whole, bytes), memcpy(b_end, b + whole, bytes);          \
        name##_of(y_end, a_end, b_end);                                            \
        memcpy(y + whole, y_end, bytes);                                           \
    }
#define DEFINE_LIBRARY1(name, T, value)                          \
    static inline void name##_of(T *y, const T *a, const T *b) { \
        (void)b;                                                 \
        _Pragma("omp simd") for (int i = 0; i < WHOLE; i++) {    \
            const T x = a[i];                                    \
            y[i] = (T)(value);                                   \
        }                                                        \
    }                                                            \
    DEFINE_WHOLE(name, T, pa)
#define DEFINE_LIBRARY2(name, T, value)                          \
    static inline void name##_of(T *y, const T *a, const T *b) { \
        _Pragma("omp simd") for (int i = 0; i < WHOLE; i++) {    \
            const T x = a[i], z = b[i];                          \
            y[i] = (T)(value);                                   \
        }                                                        \
    }                                                            \
    DEFINE_WHOLE(name, T, pb)

/* Formulas that are the same for all classes: X(op, number of operands, value computed from x and
   z). */
#define FOR_ALL(X)                       \
    X(C_MIN, 2, x < z || x != x ? x : z) \
    X(C_MAX, 2, x > z || x != x ? x : z) \
    X(C_EQ, 2, x == z)                   \
    X(C_LT, 2, x < z)                    \
    X(C_LE, 2, x <= z)                   \
    X(C_AND, 2, (x != 0) & (z != 0))     \
    X(C_OR, 2, (x != 0) | (z != 0))      \
    X(C_XOR, 2, (x != 0) ^ (z != 0))     \
    X(C_NOT, 1, x == 0)
#define FOR_REALS(X)                         \
    X(C_ADD, 2, x + z)                       \
    X(C_SUB, 2, x - z)                       \
    X(C_MUL, 2, x *z)                        \
    X(C_DIV, 2, x / z)                       \
    X(C_NEG, 1, -x)                          \
    X(C_RECIP, 1, 1 / x)                     \
    X(C_RELU, 1, x < 0 ? 0 : x)              \
    X(C_SIGN, 1, x > 0 ? 1 : x < 0 ? -1 : x) \
    X(C_ISNAN, 1, x != x)
#define FOR_FLOAT(X)                   \
    X(C_MOD, 2, x - floorf(x / z) * z) \
    X(C_ABS, 1, fabsf(x))              \
    X(C_EXP, 1, exp_float(x))          \
    X(C_SQRT, 1, sqrtf(x))             \
    X(C_SIGMOID, 1, sigmoid_float(x))  \
    X(C_TANH, 1, tanh_float(x))        \
    X(C_ERF, 1, erf_float(x))          \
    X(C_FLOOR, 1, floorf(x))           \
    X(C_CEIL, 1, ceilf(x))             \
    X(C_ROUND, 1, rintf(x))            \
    X(C_ISINF, 1, fabsf(x) == INFINITY)
#define FOR_DOUBLE(X)                 \
    X(C_MOD, 2, x - floor(x / z) * z) \
    X(C_ABS, 1, fabs(x))              \
    X(C_SQRT, 1, sqrt(x))             \
    X(C_FLOOR, 1, floor(x))           \
    X(C_CEIL, 1, ceil(x))             \
    X(C_ROUND, 1, rint(x))            \
    X(C_ISINF, 1, fabs(x) == (double)INFINITY)
/* Functions of the C library. */
#define FOR_FLOAT_LIBRARY(X) \
    X(C_POW, 2, powf(x, z))  \
    X(C_LOG, 1, logf(x))     \
    X(C_SIN, 1, sinf(x))     \
    X(C_COS, 1, cosf(x))     \
    X(F_ASIN, 1, asinf(x))   \
    X(F_ACOS, 1, acosf(x))   \
    X(F_ATAN, 1, atanf(x))   \
    X(F_SINH, 1, sinhf(x))   \
    X(F_COSH, 1, coshf(x))   \
    X(F_ASINH, 1, asinhf(x)) \
    X(F_ACOSH, 1, acoshf(x)) \
    X(F_ATANH, 1, atanhf(x))
#define FOR_DOUBLE_LIBRARY(X)          \
    X(C_POW, 2, pow(x, z))             \
    X(C_EXP, 1, exp(x))                \
    X(C_LOG, 1, log(x))                \
    X(C_SIGMOID, 1, 1 / (1 + exp(-x))) \
    X(C_TANH, 1, tanh(x))              \
    X(C_ERF, 1, erf(x))                \
    X(C_SIN, 1, sin(x))                \
    X(C_COS, 1, cos(x))                \
    X(F_ASIN, 1, asin(x))              \
    X(F_ACOS, 1, acos(x))              \
    X(F_ATAN, 1, atan(x))              \
    X(F_SINH, 1, sinh(x))              \
    X(F_COSH, 1, cosh(x))              \
    X(F_ASINH, 1, asinh(x))            \
    X(F_ACOSH, 1, acosh(x))            \
    X(F_ATANH, 1, atanh(x))
/* Integers wrap modulo 2^64, so the arithmetic is unsigned. Functions of real numbers are computed
   in double. */
#define FOR_INTEGERS(X)                    \
    X(C_ADD, 2, (uint64_t)x + (uint64_t)z) \
    X(C_SUB, 2, (uint64_t)x - (uint64_t)z) \
    X(C_MUL, 2, (uint64_t)x *(uint64_t)z)  \
    X(C_NEG, 1, 0 - (uint64_t)x)           \
    X(C_SQRT, 1, sqrt((double)x))          \
    X(C_FLOOR, 1, x)                       \
    X(C_CEIL, 1, x)                        \
    X(C_ROUND, 1, x)                       \
    X(C_ISNAN, 1, 0)                       \
    X(C_ISINF, 1, 0)
#define FOR_INTEGERS_LIBRARY(X)                \
    X(C_EXP, 1, exp((double)x))                \
    X(C_LOG, 1, log((double)x))                \
    X(C_SIGMOID, 1, 1 / (1 + exp(-(double)x))) \
    X(C_TANH, 1, tanh((double)x))              \
    X(C_ERF, 1, erf((double)x))                \
    X(C_SIN, 1, sin((double)x))                \
    X(C_COS, 1, cos((double)x))
#define FOR_INT(X)                                     \
    X(C_POW, 2, int_pow(x, z))                         \
    X(C_ABS, 1, x < 0 ? 0 - (uint64_t)x : (uint64_t)x) \
    X(C_RECIP, 1, int_div(1, x))                       \
    X(C_RELU, 1, x < 0 ? 0 : x)                        \
    X(C_SIGN, 1, (x > 0) - (x < 0))
#define FOR_UINT(X)             \
    X(C_DIV, 2, z ? x / z : 0)  \
    X(C_MOD, 2, z ? x % z : 0)  \
    X(C_POW, 2, power(x, z))    \
    X(C_ABS, 1, x)              \
    X(C_RECIP, 1, x == 1)       \
    X(C_RELU, 1, x)             \
    X(C_SIGN, 1, x != 0)        \
    X(F_REST, 2, z ? x % z : 0) \
    X(F_SHIFT_RIGHT, 2, z > 63 ? 0 : x >> z)

static inline uint64_t power(uint64_t x, uint64_t n) {
    uint64_t y = 1;
    for (; n; n >>= 1, x *= x)
        if (n & 1) y *= x;
    return y;
}
static inline int64_t int_pow(int64_t x, int64_t n) {
    if (n >= 0) return (int64_t)power((uint64_t)x, (uint64_t)n);
    return x == 1 ? 1 : x == -1 ? (n & 1 ? -1 : 1) : 0;
}

#include "ops/cpu/simd_whole.h"

#define DEFINE_FLOAT(op, k, value) DEFINE##k(float_##op, float, value)
#define DEFINE_DOUBLE(op, k, value) DEFINE##k(double_##op, double, value)
#define DEFINE_INT(op, k, value) DEFINE##k(int_##op, int64_t, value)
#define DEFINE_UINT(op, k, value) DEFINE##k(uint_##op, uint64_t, value)
#define DEFINE_INT32(op, k, value) DEFINE##k(int32_##op, int32_t, value)
#define DEFINE_INT16(op, k, value) DEFINE##k(int16_##op, int16_t, value)
#define DEFINE_INT8(op, k, value) DEFINE##k(int8_##op, int8_t, value)
#define DEFINE_UINT8(op, k, value) DEFINE##k(uint8_##op, uint8_t, value)
#define DEFINE_FLOAT_LIBRARY(op, k, value) DEFINE_LIBRARY##k(float_##op, float, value)
#define DEFINE_DOUBLE_LIBRARY(op, k, value) DEFINE_LIBRARY##k(double_##op, double, value)
#define DEFINE_INT_LIBRARY(op, k, value) DEFINE_LIBRARY##k(int_##op, int64_t, value)
#define DEFINE_UINT_LIBRARY(op, k, value) DEFINE_LIBRARY##k(uint_##op, uint64_t, value)
FOR_ALL(DEFINE_FLOAT)
FOR_REALS(DEFINE_FLOAT)
FOR_FLOAT(DEFINE_FLOAT)
FOR_ALL(DEFINE_DOUBLE)
FOR_REALS(DEFINE_DOUBLE)
FOR_DOUBLE(DEFINE_DOUBLE)
FOR_ALL(DEFINE_INT)
FOR_INTEGERS(DEFINE_INT)
FOR_INT(DEFINE_INT)
FOR_ALL(DEFINE_UINT)
FOR_INTEGERS(DEFINE_UINT)
FOR_UINT(DEFINE_UINT)
FOR_FLOAT_LIBRARY(DEFINE_FLOAT_LIBRARY)
FOR_DOUBLE_LIBRARY(DEFINE_DOUBLE_LIBRARY)
FOR_INTEGERS_LIBRARY(DEFINE_INT_LIBRARY)
FOR_INTEGERS_LIBRARY(DEFINE_UINT_LIBRARY)
FOR_BITS(DEFINE_INT)
FOR_BITS(DEFINE_UINT)
FOR_INT_SHIFT(DEFINE_INT)
FOR_ALL(DEFINE_INT32)
FOR_NARROW(DEFINE_INT32)
FOR_INT32(DEFINE_INT32)
FOR_ALL(DEFINE_INT16)
FOR_NARROW(DEFINE_INT16)
FOR_INT16(DEFINE_INT16)
FOR_ALL(DEFINE_INT8)
FOR_BYTES(DEFINE_INT8)
FOR_ALL(DEFINE_UINT8)
FOR_BYTES(DEFINE_UINT8)

#define DEFINE_WHERE(class, T)                                                          \
    static void class##_where(void *py, const void *pc, const void *pa, const void *pb, \
                              int64_t n) {                                              \
        T *y = py;                                                                      \
        const T *c = pc, *a = pa, *b = pb;                                              \
        EACH {                                                                          \
            const T x = a[i], z = b[i];                                                 \
            y[i] = c[i] != 0 ? x : z;                                                   \
        }                                                                               \
    }
DEFINE_WHERE(float, float)
DEFINE_WHERE(double, double)
DEFINE_WHERE(int, int64_t)
DEFINE_WHERE(uint, uint64_t)
DEFINE_WHERE(int32, int32_t)
DEFINE_WHERE(int16, int16_t)
DEFINE_WHERE(int8, int8_t)
DEFINE_WHERE(uint8, uint8_t)

#include "ops/cpu/simd_moves.h"

static void cube(void *py, const void *pa, const void *pb, int64_t n) {
    float *y = py;
    const float *x = pa;
    (void)pb;
    EACH y[i] = x[i] * x[i] * x[i];
}
/* Computes y[i], which is x[i] quantized and dequantized: x is divided by k[0], rounded, shifted by
   k[1], clamped to k[2]..k[3] (NaN becomes k[2]); then k[4] is subtracted and the result multiplied
   by k[5]. */
static void requantize(float *y, const float *x, const float k[6], int64_t n) {
    const float scale = k[0], zero = k[1], low = k[2], high = k[3], shift = k[4], factor = k[5];
    EACH {
        float q = rintf(x[i] / scale) + zero;
        q = q > low ? q : low;
        q = q < high ? q : high;
        y[i] = (q - shift) * factor;
    }
}

static void quantize(float *y, const float *x, const float k[6], int64_t n) {
    const float scale = k[0], zero = k[1];
    EACH y[i] = rintf(x[i] / scale) + zero;
}
/* Between bytes and floats, for each row. Compilers make whole vectors only of runs of these
   lengths; the last run may overlap the one before. */
#define BY_RUNS(loop, ...)                                                    \
    for (int64_t r = 0; r < b->rows; r++, y += b->ys, x += b->xs) {           \
        const int64_t n = b->n;                                               \
        const float scale = b->scale[r], zero = b->zero[r];                   \
        int64_t at = 0;                                                       \
        for (; n - at >= 64; at += 64) loop(y + at, x + at, __VA_ARGS__, 64); \
        if (n - at >= 32) loop(y + at, x + at, __VA_ARGS__, 32), at += 32;    \
        if (n - at >= 16) loop(y + at, x + at, __VA_ARGS__, 16), at += 16;    \
        if (at == n) continue;                                                \
        if (n >= 16) loop(y + n - 16, x + n - 16, __VA_ARGS__, 16);           \
        else loop(y, x, __VA_ARGS__, n);                                      \
    }
static inline void to_bytes_run(uint8_t *y, const float *x, float scale, float zero, float low,
                                float high, int64_t n) {
    EACH {
        float q = rintf(x[i] / scale) + zero;
        q = q > low ? q : low;
        q = q < high ? q : high;
        y[i] = (uint8_t)(int32_t)q;
    }
}
static void to_bytes(uint8_t *y, const float *x,
                     const ByteRows *b){BY_RUNS(to_bytes_run, scale, zero, b->low, b->high)}
#define DEFINE_FROM_BYTES(T)                                                                      \
    static inline void from_##T##_run(float *y, const T *x, float zero, float scale, int64_t n) { \
        EACH y[i] = ((float)x[i] - zero) * scale;                                                 \
    }                                                                                             \
    static void from_bytes_##T(float *y, const void *px, const ByteRows *b) {                     \
        const T *x = px;                                                                          \
        BY_RUNS(from_##T##_run, zero, scale)                                                      \
    }
DEFINE_FROM_BYTES(uint8_t)
    DEFINE_FROM_BYTES(int8_t) static void dequantize(float *y, const float *x, const float k[6],
                                                     int64_t n) {
    const float zero = k[0], scale = k[1];
    EACH y[i] = (x[i] - zero) * scale;
}

/* `line` rounds as separate instructions do: products and sums are not contracted. */
#ifdef __clang__
#define APART
#define NOT_CONTRACTED _Pragma("clang fp contract(off)")
#else
#define APART __attribute__((optimize("fp-contract=off")))
#define NOT_CONTRACTED
#endif
APART static void line(float *y, const float *x, const float k[6], int64_t n) {
    NOT_CONTRACTED
    const float low = k[0], first = k[1], second = k[2], more = k[3];
    EACH y[i] = (x[i] - low) * first * second + more;
}
APART static void limited(float *y, const float *x, const float k[6], int64_t n) {
    NOT_CONTRACTED
    const float low = k[0], first = k[1], second = k[2], more = k[3], least = k[4], most = k[5];
    EACH {
        const float z = (x[i] - low) * first * second + more, limit = z < least ? least : z;
        y[i] = limit > most ? most : limit;
    }
}

/* ---- activations: x times a gate */
static void gate_sigmoid(float *y, const float *x, const float k[6], int64_t n) {
    const float scale = k[0], a = -k[1], b = -k[2];
    if (b != 0) EACH {
            const float z = x[i];
            y[i] = z / (1 + exp_flushed(FMA(b * z, z, a) * z)) * scale;
        }
    else if (scale != 1 || a != -1) EACH y[i] = x[i] / (1 + exp_flushed(a * x[i])) * scale;
    else EACH y[i] = x[i] / (1 + exp_flushed(-x[i]));
}
static void gate_erf(float *y, const float *x, const float k[6], int64_t n) {
    const float scale = k[0], a = k[1];
    EACH {
        const float z = scale * x[i];
        y[i] = FMA(z, erf_float(a * x[i]), z);
    }
}

#include "ops/cpu/simd_reduce.h"
#include "ops/cpu/simd_scan.h"
#include "ops/cpu/simd_det.h"

/* ---- vectors of exactly the width of the machine's registers; the compiler would keep wider ones
   in memory. SUMS of them fit in registers. */
enum { SUMS = WIDTH == 16 ? 16 : 8 };
typedef float Floats __attribute__((vector_size(WIDTH * sizeof(float)), aligned(4), may_alias));
#define UNROLLED _Pragma("GCC unroll 16") for

#include "ops/cpu/simd_sums.h"
#include "ops/cpu/simd_taps.h"

/* ---- elements gathered and weighted */
#define DEFINE_BLEND(name, T)                                                                      \
    static void name(void *py, const void *px, const int32_t *place, const void *pw, int64_t taps, \
                     int64_t n) {                                                                  \
        T *y = py;                                                                                 \
        const T *x = px, *w = pw;                                                                  \
        EACH y[i] = 0;                                                                             \
        for (; taps > 0; taps--, place += n, w += n) EACH {                                        \
                const T v = w[i], z = x[place[i]];                                                 \
                y[i] += v != 0 ? v * z : 0;                                                        \
            }                                                                                      \
    }
DEFINE_BLEND(blend_float, float)
DEFINE_BLEND(blend_double, double)

/* ---- the same for adjacent elements together; where a weight is 0, the element is ignored, even
   if it is NaN or infinite */
static inline Floats blended(const float *x, const int64_t offset[], const float w[],
                             int64_t taps) {
    Floats sum = {0};
    for (int64_t t = 0; t < taps; t++)
        if (w[t] != 0) sum = MULTIPLY_floats(*(const Floats *)(x + offset[t]), w[t], sum);
    return sum;
}
static void blend_pixels(float *y, int64_t ys, const float *x, const int64_t offset[],
                         const float w[], int64_t taps, int64_t places, int64_t n) {
    for (int64_t p = 0; p < places; p++, y += ys, offset += taps, w += taps)
        for (int64_t c = 0; c < n; c += WIDTH) {
            const int64_t at = c + WIDTH <= n ? c : n - WIDTH;
            *(Floats *)(y + at) = blended(x + at, offset, w, taps);
        }
}

/* Finds the first or the last place of a number in a run. Most blocks of SOUGHT elements do not
   contain it, and are skipped by a vector comparison. */
enum { SOUGHT = 64 };
#define DEFINE_PLACE(name, T)                                                             \
    static inline bool name##_within(const T *x, T value, int64_t n) {                    \
        int found = 0;                                                                    \
        _Pragma("omp simd reduction(| : found)") for (int64_t i = 0; i < n; i++) found |= \
            x[i] == value;                                                                \
        return found;                                                                     \
    }                                                                                     \
    static int64_t name(const void *px, const void *pvalue, int64_t n, bool last) {       \
        const T *x = px, value = *(const T *)pvalue;                                      \
        int64_t at = last ? n - SOUGHT : 0, end = n - SOUGHT;                             \
        if (last) {                                                                       \
            while (at > 0 && !name##_within(x + at, value, SOUGHT)) at -= SOUGHT;         \
            for (at += SOUGHT - 1; at >= 0 && x[at] != value;) at--;                      \
            return at;                                                                    \
        }                                                                                 \
        while (at < end && !name##_within(x + at, value, SOUGHT)) at += SOUGHT;           \
        while (at < n && x[at] != value) at++;                                            \
        return at < n ? at : -1;                                                          \
    }
DEFINE_PLACE(place_float, float)
DEFINE_PLACE(place_double, double)
DEFINE_PLACE(place_int, int64_t)
DEFINE_PLACE(place_uint, uint64_t)
DEFINE_PLACE(place_int32, int32_t)

#include "ops/cpu/simd_order.h"

/* ---- indices */
static void fold(int64_t *at, const int64_t *from, int64_t places, int64_t stride, int64_t n,
                 bool *bad) {
    uint64_t wrong = 0;
    _Pragma("omp simd reduction(| : wrong)") for (int64_t i = 0; i < n; i++) {
        const int64_t place = from[i] + (from[i] < 0 ? places : 0);
        wrong |= (uint64_t)place >= (uint64_t)places;
        at[i] = place * stride;
    }
    *bad = wrong != 0;
}

#include "ops/cpu/simd_recurrent.h"
#include "ops/cpu/simd_sweep.h"
#include "ops/cpu/simd_tap_channels.h"
#include "ops/cpu/simd_levels.h"
#include "ops/cpu/simd_windows.h"
#include "ops/cpu/simd_onerow.h"
#include "ops/cpu/simd_extremes.h"
#include "ops/cpu/simd_better.h"
#include "ops/cpu/simd_grid.h"
#include "ops/cpu/simd_peaks.h"
#include "ops/cpu/simd_winograd.h"
#include "ops/cpu/simd_softmax.h"
#include "ops/cpu/simd_rows.h"
#include "ops/cpu/simd_shifted.h"
#include "ops/cpu/simd_lanes.h"
#include "ops/cpu/simd_neighbours.h"
#include "ops/cpu/simd_rotate.h"
#include "ops/cpu/simd_weave.h"
#include "ops/cpu/simd_repeat.h"
#include "ops/cpu/simd_fft.h"

#include "ops/cpu/simd_table.h"
