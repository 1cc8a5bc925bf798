/* simd_whole.h -- operations on integers that have no vector instructions, or whose vector form
   depends on the operands; the operations of the narrow classes; and the remainder of floats.
   Included by simd_body.h.

   Quotients and remainders are computed in floating-point numbers that hold the operands exactly: a
   quotient of integers below 2^53 never rounds up to the next integer. Division by zero gives 0,
   and the least integer divided by -1 wraps; nothing traps. */
static inline int64_t int_div(int64_t x, int64_t z) {
    return z == 0 ? 0 : z == -1 ? (int64_t)(0 - (uint64_t)x) : x / z;
}
static inline int64_t int_rest(int64_t x, int64_t z) { return z == 0 || z == -1 ? 0 : x % z; }
static inline int64_t int_mod(int64_t x, int64_t z) {
    const int64_t r = int_rest(x, z);
    return r != 0 && (r < 0) != (z < 0) ? r + z : r;
}
/* The same for operands below 2^53. */
static inline int64_t near_div(int64_t x, int64_t z) {
    const double q = (double)x / (double)(z == 0 ? 1 : z);
    return z == 0 ? 0 : (int64_t)q;
}
static inline int64_t near_rest(int64_t x, int64_t z) {
    const int64_t r = x - near_div(x, z) * z;
    return z == 0 ? 0 : r;
}
static inline int64_t near_mod(int64_t x, int64_t z) {
    const int64_t r = near_rest(x, z);
    return r != 0 && (r ^ z) < 0 ? r + z : r;
}
enum { CHUNK = 64 };
static inline bool chunk_is_near(const int64_t *a, const int64_t *b, int64_t n) {
    const uint64_t half = (uint64_t)1 << 52;
    uint64_t high = 0;
    _Pragma("omp simd reduction(| : high)") for (int64_t i = 0; i < n; i++) high |=
        ((uint64_t)a[i] + half) >> 53 | ((uint64_t)b[i] + half) >> 53;
    return high == 0;
}
#define DEFINE_QUOTIENT(name, value)                                                    \
    static void int_##name(void *py, const void *pa, const void *pb, int64_t total) {   \
        for (int64_t at = 0; at < total; at += CHUNK) {                                 \
            const int64_t n = total - at < CHUNK ? total - at : CHUNK,                  \
                          *a = (const int64_t *)pa + at, *b = (const int64_t *)pb + at; \
            int64_t *y = (int64_t *)py + at;                                            \
            if (chunk_is_near(a, b, n)) EACH y[i] = near_##value(a[i], b[i]);           \
            else                                                                        \
                for (int64_t i = 0; i < n; i++) y[i] = int_##value(a[i], b[i]);         \
        }                                                                               \
    }
DEFINE_QUOTIENT(C_DIV, div)
DEFINE_QUOTIENT(C_MOD, mod)
DEFINE_QUOTIENT(F_REST, rest)

static inline int32_t int32_div(int32_t x, int32_t z) {
    const double q = (double)x / (double)(z == 0 || z == -1 ? 1 : z);
    const int32_t y = (int32_t)q, negative = (int32_t)(0 - (uint32_t)x);
    return z == 0 ? 0 : z == -1 ? negative : y;
}
static inline int32_t int32_rest(int32_t x, int32_t z) {
    const int32_t r = (int32_t)((uint32_t)x - (uint32_t)int32_div(x, z) * (uint32_t)z);
    return z == 0 ? 0 : r;
}
static inline int32_t int32_mod(int32_t x, int32_t z) {
    const int32_t r = int32_rest(x, z);
    return r != 0 && (r ^ z) < 0 ? (int32_t)((uint32_t)r + (uint32_t)z) : r;
}
static inline int32_t int16_div(int16_t x, int16_t z) {
    const float q = (float)x / (float)(z == 0 ? 1 : z);
    return z == 0 ? 0 : (int32_t)q;
}
static inline int32_t int16_rest(int16_t x, int16_t z) {
    const int32_t r = x - int16_div(x, z) * z;
    return z == 0 ? 0 : r;
}
static inline int32_t int16_mod(int16_t x, int16_t z) {
    const int32_t r = int16_rest(x, z);
    return r != 0 && (r ^ z) < 0 ? r + z : r;
}

/* ---- bits. X(op, number of operands, value computed from x and z) */
#define FOR_BITS(X)         \
    X(F_BITS_NOT, 1, ~x)    \
    X(F_BITS_AND, 2, x &z)  \
    X(F_BITS_OR, 2, x | z)  \
    X(F_BITS_XOR, 2, x ^ z) \
    X(F_SHIFT_LEFT, 2, (uint64_t)z > 63 ? 0 : (uint64_t)x << z)
#define FOR_INT_SHIFT(X) X(F_SHIFT_RIGHT, 2, x >> ((uint64_t)z > 63 ? 63 : z))
/* For the narrow classes: arithmetic modulo 2^32, stored modulo 2^32 or 2^16. */
#define FOR_NARROW(X)                                           \
    X(C_ADD, 2, (uint32_t)x + (uint32_t)z)                      \
    X(C_SUB, 2, (uint32_t)x - (uint32_t)z)                      \
    X(C_MUL, 2, (uint32_t)x *(uint32_t)z)                       \
    X(C_NEG, 1, 0 - (uint32_t)x)                                \
    X(C_ABS, 1, x < 0 ? 0 - (uint32_t)x : (uint32_t)x)          \
    X(C_RELU, 1, x < 0 ? 0 : x)                                 \
    X(C_FLOOR, 1, x)                                            \
    X(C_CEIL, 1, x)                                             \
    X(C_ROUND, 1, x)                                            \
    X(C_ISNAN, 1, 0)                                            \
    X(C_ISINF, 1, 0)                                            \
    X(C_SIGN, 1, (x > 0) - (x < 0))                             \
    X(F_BITS_NOT, 1, ~x)                                        \
    X(F_BITS_AND, 2, x &z)                                      \
    X(F_BITS_OR, 2, x | z)                                      \
    X(F_BITS_XOR, 2, x ^ z)                                     \
    X(F_SHIFT_LEFT, 2, (uint32_t)z > 31 ? 0 : (uint32_t)x << z) \
    X(F_SHIFT_RIGHT, 2, x >> ((uint32_t)z > 31 ? 31 : z))
#define FOR_INT32(X)             \
    X(C_DIV, 2, int32_div(x, z)) \
    X(C_MOD, 2, int32_mod(x, z)) \
    X(F_REST, 2, int32_rest(x, z))
#define FOR_INT16(X)             \
    X(C_DIV, 2, int16_div(x, z)) \
    X(C_MOD, 2, int16_mod(x, z)) \
    X(F_REST, 2, int16_rest(x, z))

/* For single bytes: likewise modulo 2^8. The other operations are computed in a wider class
   (narrow.c). */
#define FOR_BYTES(X)                       \
    X(C_ADD, 2, (uint32_t)x + (uint32_t)z) \
    X(C_SUB, 2, (uint32_t)x - (uint32_t)z) \
    X(C_MUL, 2, (uint32_t)x *(uint32_t)z)  \
    X(C_NEG, 1, 0 - (uint32_t)x)           \
    X(C_FLOOR, 1, x)                       \
    X(C_CEIL, 1, x)                        \
    X(C_ROUND, 1, x)                       \
    X(F_BITS_NOT, 1, ~x)                   \
    X(F_BITS_AND, 2, x &z)                 \
    X(F_BITS_OR, 2, x | z)                 \
    X(F_BITS_XOR, 2, x ^ z)

/* ---- the remainder of floats, exact like fmodf. Quotients below 2^28, and their products, are
   exact in doubles; chunks with other quotients, zeros or infinities are left to the C library. */
static void float_F_REST(void *py, const void *pa, const void *pb, int64_t total) {
    for (int64_t at = 0; at < total; at += CHUNK) {
        const int64_t n = total - at < CHUNK ? total - at : CHUNK;
        const float *a = (const float *)pa + at, *b = (const float *)pb + at;
        float *y = (float *)py + at, room[CHUNK];
        int far = 0;
        _Pragma("omp simd reduction(| : far)") for (int64_t i = 0; i < n; i++) {
            const double x = a[i], z = b[i], q = x / z;
            const int near = (fabs(q) < 0x1p28) & (fabs(z) < (double)INFINITY);
            const int32_t whole = (int32_t)(near ? q : 0);
            const float r = (float)(x - (double)whole * z);
            room[i] = bits_float((float_bits(r) & 0x7fffffffu) | (float_bits(a[i]) & 0x80000000u));
            far |= !near;
        }
        if (far)
            for (int64_t i = 0; i < n; i++) y[i] = fmodf(a[i], b[i]);
        else memcpy(y, room, (size_t)n * sizeof *y);
    }
}
#ifdef FUSED
/* The same for doubles. The rounded quotient may be greater by 1 than its whole part; then the rest
   is negative. The rest, which is at most |z|, is exact. */
static void double_F_REST(void *py, const void *pa, const void *pb, int64_t total) {
    for (int64_t at = 0; at < total; at += CHUNK) {
        const int64_t n = total - at < CHUNK ? total - at : CHUNK;
        const double *a = (const double *)pa + at, *b = (const double *)pb + at;
        double *y = (double *)py + at, room[CHUNK];
        int far = 0;
        _Pragma("omp simd reduction(| : far)") for (int64_t i = 0; i < n; i++) {
            const double x = fabs(a[i]), z = fabs(b[i]), q = trunc(x / z),
                         r = __builtin_fma(-q, z, x);
            room[i] = copysign(r < 0 ? r + z : r, a[i]);
            far |= !((q < 0x1p52) & (z < (double)INFINITY));
        }
        if (far)
            for (int64_t i = 0; i < n; i++) y[i] = fmod(a[i], b[i]);
        else memcpy(y, room, (size_t)n * sizeof *y);
    }
}
#else
static void double_F_REST(void *y, const void *a, const void *b, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        ((double *)y)[i] = fmod(((const double *)a)[i], ((const double *)b)[i]);
}
#endif
