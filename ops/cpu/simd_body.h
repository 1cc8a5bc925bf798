/* simd_body.h -- the text of the inner loops (simd.h). Included once for each instruction set, with
   SIMD_TABLE the table's name, SIMD_NAME its text, WIDTH the floats of a register and FMA(a, b, c)
   = a*b + c in float. Everything else is static. */
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

/* The vector forms of the C library and its scalar ones differ in the last bit. These loops compute
   whole vectors only, the last of them over copies: equal operands give equal results wherever they
   lie. */
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

/* The same formula for all classes: X(op, operands, value of x and z) */
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
/* What the C library computes. */
#define FOR_FLOAT_LIBRARY(X) \
    X(C_POW, 2, powf(x, z))  \
    X(C_LOG, 1, logf(x))     \
    X(C_SIN, 1, sinf(x))     \
    X(C_COS, 1, cosf(x))     \
    X(F_ASIN, 1, asinf(x))   \
    X(F_ACOS, 1, acosf(x))   \
    X(F_ATAN, 1, atanf(x))   \
    X(F_SINH, 1, sinhf(x))   \
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
    X(F_ASINH, 1, asinh(x))            \
    X(F_ACOSH, 1, acosh(x))            \
    X(F_ATANH, 1, atanh(x))            \
    X(F_REST, 2, fmod(x, z))
/* Integers wrap modulo 2^64, so the arithmetic is unsigned; what has no meaning for integers is
   computed in double. */
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

#include "ops/cpu/simd_moves.h"

static void cube(void *py, const void *pa, const void *pb, int64_t n) {
    float *y = py;
    const float *x = pa;
    (void)pb;
    EACH y[i] = x[i] * x[i] * x[i];
}
/* y[i] = x[i] quantized and dequantized: x is divided by k[0], rounded, shifted by k[1], clamped to
   k[2]..k[3] (what is not a number becomes k[2]), and the result less k[4] is
   multiplied by k[5]. */
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
static void to_bytes(uint8_t *y, const float *x, float scale, float zero, float low, float high,
                     int64_t n) {
    EACH {
        float q = rintf(x[i] / scale) + zero;
        q = q > low ? q : low;
        q = q < high ? q : high;
        y[i] = (uint8_t)(int32_t)q;
    }
}
static void dequantize(float *y, const float *x, const float k[6], int64_t n) {
    const float zero = k[0], scale = k[1];
    EACH y[i] = (x[i] - zero) * scale;
}

/* As several instructions round: products and sums are not contracted. */
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

/* ---- reductions */
/* Elements that do not lie side by side are gathered first. */
enum { GATHERED = 64 };
#define DEFINE_MERGE(name, W, T, value)                                            \
    static void name(void *pacc, const void *px, int64_t stride, int64_t n) {      \
        W *acc = pacc;                                                             \
        const T *p = px;                                                           \
        if (stride == 1) {                                                         \
            EACH {                                                                 \
                const W z = acc[i], x = (W)p[i];                                   \
                acc[i] = (W)(value);                                               \
            }                                                                      \
        } else                                                                     \
            for (int64_t at = 0; at < n; at += GATHERED) {                         \
                const int64_t m = n - at < GATHERED ? n - at : GATHERED;           \
                T run[GATHERED];                                                   \
                if (stride == 2)                                                   \
                    for (int64_t i = 0; i < m; i++) run[i] = p[2 * (at + i)];      \
                else                                                               \
                    for (int64_t i = 0; i < m; i++) run[i] = p[(at + i) * stride]; \
                _Pragma("omp simd") for (int64_t i = 0; i < m; i++) {              \
                    const W z = acc[at + i], x = (W)run[i];                        \
                    acc[at + i] = (W)(value);                                      \
                }                                                                  \
            }                                                                      \
    }
DEFINE_MERGE(max_uint8, uint8_t, uint8_t, x > z ? x : z)
DEFINE_MERGE(max_int8, int8_t, int8_t, x > z ? x : z)
/* Partial results in LANES places, which become registers, folded at the end. */
enum { LANES = 32 };
#define DEFINE_TOTAL(name, W, T, value)                                                        \
    static void total_##name(void *pacc, const void *px, int64_t n) {                          \
        W lane[LANES], *acc = pacc;                                                            \
        const T *p = px;                                                                       \
        int64_t at = LANES;                                                                    \
        if (n >= LANES) {                                                                      \
            for (int i = 0; i < LANES; i++) lane[i] = (W)p[i];                                 \
            for (; at + LANES <= n; at += LANES)                                               \
                for (int i = 0; i < LANES; i++) {                                              \
                    const W z = lane[i], x = (W)p[at + i];                                     \
                    lane[i] = (W)(value);                                                      \
                }                                                                              \
            _Pragma("GCC unroll 5") /* log2 of LANES */                                        \
                for (int width = LANES / 2; width >= 1; width /= 2) for (int i = 0; i < width; \
                                                                         i++) {                \
                const W z = lane[i], x = lane[i + width];                                      \
                lane[i] = (W)(value);                                                          \
            }                                                                                  \
            const W z = acc[0], x = lane[0];                                                   \
            acc[0] = (W)(value);                                                               \
        } else at = 0;                                                                         \
        for (; at < n; at++) {                                                                 \
            const W z = acc[0], x = (W)p[at];                                                  \
            acc[0] = (W)(value);                                                               \
        }                                                                                      \
    }
#define DEFINE_BOTH(name, W, T, value) \
    DEFINE_MERGE(name, W, T, value) DEFINE_TOTAL(name, W, T, value)
#define DEFINE_MERGES(class, W, T, U)                       \
    DEFINE_BOTH(class##_sum, W, T, (U)z + (U)x)             \
    DEFINE_BOTH(class##_max, T, T, x > z || x != x ? x : z) \
    DEFINE_BOTH(class##_min, T, T, x < z || x != x ? x : z) \
    DEFINE_BOTH(class##_prod, W, T, (U)z *(U)x)
#define DEFINE_SCALE_ADD(class, T)                                                          \
    static void class##_scale_add(void *py, const void *px, int64_t stride, const void *pw, \
                                  int64_t n) {                                              \
        T *y = py;                                                                          \
        const T *x = px, w = *(const T *)pw;                                                \
        if (stride == 1) {                                                                  \
            EACH y[i] = (T)MULTIPLY_##class(w, x[i], y[i]);                                 \
        } else EACH y[i] = (T)MULTIPLY_##class(w, x[i * stride], y[i]);                     \
    }
/* Of vectors; w may be a number, which less a vector of zeros is a vector of it. */
#ifdef FUSE
#define MULTIPLY_floats(x, w, y) FUSE(x, (w) - (Floats){0}, y)
#else
#define MULTIPLY_floats(x, w, y) ((x) * (w) + (y))
#endif
#define MULTIPLY_float(w, x, y) FMA(w, x, y)
#define MULTIPLY_double(w, x, y) ((w) * (x) + (y))
#define MULTIPLY_int(w, x, y) ((uint64_t)(w) * (uint64_t)(x) + (uint64_t)(y))
#define MULTIPLY_uint(w, x, y) MULTIPLY_int(w, x, y)
DEFINE_MERGES(float, double, float, double)
DEFINE_MERGES(double, double, double, double)
DEFINE_MERGES(int, int64_t, int64_t, uint64_t)
DEFINE_MERGES(uint, uint64_t, uint64_t, uint64_t)
DEFINE_MERGES(int32, int64_t, int32_t, uint64_t)
DEFINE_MERGES(int16, int64_t, int16_t, uint64_t)
DEFINE_SCALE_ADD(float, float)
DEFINE_SCALE_ADD(double, double)
DEFINE_SCALE_ADD(int, int64_t)
DEFINE_SCALE_ADD(uint, uint64_t)

/* ---- vectors of the width of the machine's registers: any wider and the compiler keeps them in
   memory. SUMS of them stay in registers. */
enum { SUMS = WIDTH == 16 ? 16 : 8 };
typedef float Floats __attribute__((vector_size(WIDTH * sizeof(float)), aligned(4), may_alias));
#define UNROLLED _Pragma("GCC unroll 16") for

/* ---- sums of shifted runs: blocks of accumulators, then of one, then single elements */
#define DEFINE_TAPS(name, VECTORS)                                                                 \
    static void name(float *y, const float *x, const int64_t offset[], const float w[],            \
                     int64_t ntap) {                                                               \
        Floats sum[VECTORS] = {{0}};                                                               \
        for (int64_t t = 0; t < ntap; t++) {                                                       \
            const Floats *from = (const Floats *)(x + offset[t]);                                  \
            UNROLLED(int v = 0; v < VECTORS; v++) sum[v] = MULTIPLY_floats(from[v], w[t], sum[v]); \
        }                                                                                          \
        UNROLLED(int v = 0; v < VECTORS; v++)((Floats *)y)[v] = sum[v];                            \
    }
DEFINE_TAPS(taps_block, SUMS)
DEFINE_TAPS(taps_vector, 1)
static void taps(float *y, const float *x, const int64_t offset[], const float w[], int64_t ntap,
                 int64_t n) {
    int64_t at = 0;
    for (; at + SUMS * WIDTH <= n; at += SUMS * WIDTH) taps_block(y + at, x + at, offset, w, ntap);
    for (; at + WIDTH <= n; at += WIDTH) taps_vector(y + at, x + at, offset, w, ntap);
    for (int64_t i = at; i < n; i++) y[i] = 0;
    for (int64_t t = 0; t < ntap; t++)
        float_scale_add(y + at, x + offset[t] + at, 1, w + t, n - at);
}

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

/* ---- where the best element lies. Each comparison is a loop of its own, which has no branches. */
#define BETTER_EACH(condition)             \
    EACH {                                 \
        const bool better = condition;     \
        where[i] = better ? at : where[i]; \
        best[i] = better ? x[i] : best[i]; \
    }
#define DEFINE_BETTER(name, T)                                                           \
    static void name(void *pbest, int32_t *where, const void *px, int32_t at, int64_t n, \
                     bool last, bool least) {                                            \
        T *best = pbest;                                                                 \
        const T *x = px;                                                                 \
        if (last && least) BETTER_EACH(x[i] <= best[i])                                  \
        else if (last) BETTER_EACH(x[i] >= best[i])                                      \
        else if (least) BETTER_EACH(x[i] < best[i])                                      \
        else BETTER_EACH(x[i] > best[i])                                                 \
    }
DEFINE_BETTER(better_float, float)
DEFINE_BETTER(better_double, double)
DEFINE_BETTER(better_int, int64_t)
DEFINE_BETTER(better_uint, uint64_t)

/* ---- indices */
static void fold(int64_t *at, int64_t places, int64_t stride, int64_t n, bool *bad) {
    uint64_t wrong = 0;
    _Pragma("omp simd reduction(| : wrong)") for (int64_t i = 0; i < n; i++) {
        const int64_t place = at[i] + (at[i] < 0 ? places : 0);
        wrong |= (uint64_t)place >= (uint64_t)places;
        at[i] = place * stride;
    }
    *bad = wrong != 0;
}

#include "ops/cpu/simd_recurrent.h"
#include "ops/cpu/simd_sweep.h"
#include "ops/cpu/simd_windows.h"
#include "ops/cpu/simd_winograd.h"
#include "ops/cpu/simd_softmax.h"
#include "ops/cpu/simd_weave.h"
#include "ops/cpu/simd_fft.h"

#define OP_FLOAT(op, k, value) [op] = float_##op,
#define OP_DOUBLE(op, k, value) [op] = double_##op,
#define OP_INT(op, k, value) [op] = int_##op,
#define OP_UINT(op, k, value) [op] = uint_##op,
#define OP_INT32(op, k, value) [op] = int32_##op,
#define OP_INT16(op, k, value) [op] = int16_##op,
#define LOAD_FLOAT(dt, S, from, to, to_int) [dt] = load_float_##dt,
#define LOAD_DOUBLE(dt, S, from, to, to_int) [dt] = load_double_##dt,
#define LOAD_INT(dt, S, from, to, to_int) [dt] = load_int_##dt,
#define LOAD_UINT(dt, S, from, to, to_int) [dt] = load_uint_##dt,
#define STORE_FLOAT(dt, S, from, to, to_int) [dt] = store_float_##dt,
#define STORE_DOUBLE(dt, S, from, to, to_int) [dt] = store_double_##dt,
#define STORE_INT(dt, S, from, to, to_int) [dt] = store_int_##dt,
#define STORE_UINT(dt, S, from, to, to_int) [dt] = store_uint_##dt,
#define AS_FLOAT(dt, S, from, to, to_int) [dt] = as_float_##dt,
#define AS_DOUBLE(dt, S, from, to, to_int) [dt] = as_double_##dt,
#define AS_INT(dt, S, from, to, to_int) [dt] = as_int_##dt,
#define AS_UINT(dt, S, from, to, to_int) [dt] = as_uint_##dt,
#define LOAD_INT32(dt, S, from, to, to_int) [dt] = load_int32_##dt,
#define LOAD_INT16(dt, S, from, to, to_int) [dt] = load_int16_##dt,
#define STORE_INT32(dt, S, from, to, to_int) [dt] = store_int32_##dt,
#define STORE_INT16(dt, S, from, to, to_int) [dt] = store_int16_##dt,
#define AS_INT32(dt, S, from, to, to_int) [dt] = as_int32_##dt,
#define AS_INT16(dt, S, from, to, to_int) [dt] = as_int16_##dt,
#define MERGES(class) \
    { class##_sum, class##_sum, class##_max, class##_min, class##_prod }
#define TOTALS(class)                                                                       \
    {                                                                                       \
        total_##class##_sum, total_##class##_sum, total_##class##_max, total_##class##_min, \
            total_##class##_prod                                                            \
    }
const Simd SIMD_TABLE = {
    .name = SIMD_NAME,
    .width = WIDTH,
    .op = {{FOR_ALL(OP_FLOAT) FOR_REALS(OP_FLOAT) FOR_FLOAT(OP_FLOAT)
                FOR_FLOAT_LIBRARY(OP_FLOAT)[F_REST] = float_F_REST},
           {FOR_ALL(OP_DOUBLE) FOR_REALS(OP_DOUBLE) FOR_DOUBLE(OP_DOUBLE)
                FOR_DOUBLE_LIBRARY(OP_DOUBLE)},
           {FOR_ALL(OP_INT) FOR_INTEGERS(OP_INT) FOR_INT(OP_INT) FOR_INTEGERS_LIBRARY(OP_INT)
                FOR_BITS(OP_INT) FOR_INT_SHIFT(OP_INT)[C_DIV] = int_C_DIV,
            [C_MOD] = int_C_MOD, [F_REST] = int_F_REST},
           {FOR_ALL(OP_UINT) FOR_INTEGERS(OP_UINT) FOR_UINT(OP_UINT) FOR_INTEGERS_LIBRARY(OP_UINT)
                FOR_BITS(OP_UINT)},
           {FOR_ALL(OP_INT32) FOR_NARROW(OP_INT32) FOR_INT32(OP_INT32)},
           {FOR_ALL(OP_INT16) FOR_NARROW(OP_INT16) FOR_INT16(OP_INT16)}},
    .where = {float_where, double_where, int_where, uint_where, int32_where, int16_where},
    .load = {{TYPES(LOAD_FLOAT)},
             {TYPES(LOAD_DOUBLE)},
             {TYPES(LOAD_INT)},
             {TYPES(LOAD_UINT)},
             {NARROW_TYPES(LOAD_INT32)},
             {NARROW_TYPES(LOAD_INT16)}},
    .store = {{TYPES(STORE_FLOAT)},
              {TYPES(STORE_DOUBLE)},
              {TYPES(STORE_INT)},
              {TYPES(STORE_UINT)},
              {NARROW_TYPES(STORE_INT32)},
              {NARROW_TYPES(STORE_INT16)}},
    .as = {{TYPES(AS_FLOAT)},
           {TYPES(AS_DOUBLE)},
           {TYPES(AS_INT)},
           {TYPES(AS_UINT)},
           {NARROW_TYPES(AS_INT32)},
           {NARROW_TYPES(AS_INT16)}},
    .merge = {MERGES(float), MERGES(double), MERGES(int), MERGES(uint), MERGES(int32),
              MERGES(int16)},
    .total = {TOTALS(float), TOTALS(double), TOTALS(int), TOTALS(uint), TOTALS(int32),
              TOTALS(int16)},
    .scale_add = {float_scale_add, double_scale_add, int_scale_add, uint_scale_add},
    .cube = cube,
    .requantize = requantize,
    .to_bytes = to_bytes,
    .quantize = quantize,
    .dequantize = dequantize,
    .line = line,
    .gate_sigmoid = gate_sigmoid,
    .gate_erf = gate_erf,
    .max_bytes = {max_uint8, max_int8},
    .taps = taps,
    .softmax = {softmax_float, softmax_double},
    .softmax_short = {softmax_short_float, softmax_short_double},
    .blend = {blend_float, blend_double},
    .better = {better_float, better_double, better_int, better_uint},
    .panel = panel,
    .vectors = SWEEP_VECTORS,
    .sweep = sweep,
    .windows = windows,
    .winograd_enter = winograd_enter,
    .winograd_leave = winograd_leave,
    .lstm = lstm,
    .gru_reset = gru_reset,
    .gru = gru,
    .rnn = rnn,
    .transpose = transpose,
    .fold = fold,
    .fft_pass = fft_pass,
    .fft_split = fft_split,
    .fft_join = fft_join,
    .fft_scale = fft_scale,
    .weave = {[2] = weave_2, [3] = weave_3, [4] = weave_4, [8] = weave_8},
    .unweave = {[2] = unweave_2, [3] = unweave_3, [4] = unweave_4, [8] = unweave_8},
};
