/* simd_moves.h -- loads, stores and conversions between the classes and the element types; included
   by simd_body.h. */
/* ---- loads and stores. X(element type, C type, its conversion to a class, conversion to it from a
   float or double, conversion to it from an integer) */
#define SAME(x) (x)
#define TO_BOOL(x) ((x) != 0)
/* Clamps x in its own type and converts it by way of 32 bits, both of which have vector
   instructions. NaN becomes 0; for an unsigned type this follows from the comparison with 0. */
#define DEFINE_SATURATED(T)                                                                    \
    static inline int32_t saturated_##T(T x, int type) {                                       \
        const T low = saturated_low[type], high = saturated_high[type], a = x > low ? x : low; \
        const int32_t whole = (int32_t)(a < high ? a : high);                                  \
        return type % 2 || x == x ? whole : 0;                                                 \
    }
DEFINE_SATURATED(float)
DEFINE_SATURATED(double)
#define SATURATION(T) ((sizeof(T) == 2 ? 2 : 0) + ((T)-1 > 0))
#define SATURATE(T)                                                 \
    ((T)(sizeof x == 8 ? saturated_double((double)x, SATURATION(T)) \
                       : saturated_float((float)x, SATURATION(T))))
#define TYPES(X) HALF_TYPE(X) OTHER_TYPES(X)
#define HALF_TYPE(X) X(DT_FLOAT16, uint16_t, half_float, float_half((float)x), float_half((float)x))
#define OTHER_TYPES(X)                                                                     \
    X(DT_FLOAT, float, SAME, (float)x, (float)x)                                           \
    X(DT_DOUBLE, double, SAME, (double)x, (double)x)                                       \
    X(DT_BFLOAT16, uint16_t, bfloat_float, float_bfloat((float)x), float_bfloat((float)x)) \
    X(DT_UINT32, uint32_t, SAME,                                                           \
      (x != x || x <= 0     ? 0                                                            \
       : x >= 4294967296.0f ? UINT32_MAX                                                   \
                            : (uint32_t)x),                                                \
      x)                                                                                   \
    X(DT_INT64, int64_t, SAME,                                                             \
      (x != x          ? 0                                                                 \
       : x >= 0x1p63f  ? INT64_MAX                                                         \
       : x <= -0x1p63f ? INT64_MIN                                                         \
                       : (int64_t)x),                                                      \
      x)                                                                                   \
    X(DT_UINT64, uint64_t, SAME,                                                           \
      (x != x || x <= 0 ? 0                                                                \
       : x >= 0x1p64f   ? UINT64_MAX                                                       \
                        : (uint64_t)x),                                                      \
      x)                                                                                   \
    NARROW_TYPES(X)
/* The element types of the narrow classes. */
#define BYTE_TYPES(X)                             \
    X(DT_BOOL, uint8_t, TO_BOOL, x != 0, x != 0)  \
    X(DT_INT8, int8_t, SAME, SATURATE(int8_t), x) \
    X(DT_UINT8, uint8_t, SAME, SATURATE(uint8_t), x)
#define NARROW_TYPES(X)                                 \
    BYTE_TYPES(X)                                       \
    X(DT_INT16, int16_t, SAME, SATURATE(int16_t), x)    \
    X(DT_UINT16, uint16_t, SAME, SATURATE(uint16_t), x) \
    X(DT_INT32, int32_t, SAME,                          \
      (x != x                ? 0                        \
       : x >= 2147483648.0f  ? INT32_MAX                \
       : x <= -2147483648.0f ? INT32_MIN                \
                             : (int32_t)x),             \
      x)

/* A run whose length is not a multiple of a block ends with a block that overlaps the one before,
   because single elements would take as long as a vector. */
enum { MOVED = 64 };
#define DEFINE_MOVES(class, T, dt, S, from, to)                                             \
    static inline void load_##class##_##dt##_run(T *y, const S *x, int64_t n) {             \
        EACH y[i] = (T)from(x[i]);                                                          \
    }                                                                                       \
    static inline void store_##class##_##dt##_run(S *y, const T *p, int64_t n) {            \
        EACH {                                                                              \
            const T x = p[i];                                                               \
            y[i] = (S)(to);                                                                 \
        }                                                                                   \
    }                                                                                       \
    static void load_##class##_##dt(void *py, const void *px, int64_t stride, int64_t n) {  \
        T *y = py;                                                                          \
        const S *x = px;                                                                    \
        if (stride == 1 && n < MOVED) load_##class##_##dt##_run(y, x, n);                   \
        else if (stride == 1)                                                               \
            for (int64_t at = 0; at < n; at += MOVED) {                                     \
                const int64_t here = n - at < MOVED ? n - MOVED : at;                       \
                load_##class##_##dt##_run(y + here, x + here, MOVED);                       \
            }                                                                               \
        else if (stride == 0) {                                                             \
            const T one = (T)from(x[0]);                                                    \
            EACH y[i] = one;                                                                \
        } else if (stride == 2) {                                                           \
            EACH y[i] = (T)from(x[2 * i]);                                                  \
        } else                                                                              \
            for (int64_t i = 0; i < n; i++) y[i] = (T)from(x[i * stride]);                  \
    }                                                                                       \
    static void store_##class##_##dt(void *py, int64_t stride, const void *px, int64_t n) { \
        S *y = py;                                                                          \
        const T *p = px;                                                                    \
        if (stride == 1 && n < MOVED) store_##class##_##dt##_run(y, p, n);                  \
        else if (stride == 1)                                                               \
            for (int64_t at = 0; at < n; at += MOVED) {                                     \
                const int64_t here = n - at < MOVED ? n - MOVED : at;                       \
                store_##class##_##dt##_run(y + here, p + here, MOVED);                      \
            }                                                                               \
        else                                                                                \
            for (int64_t i = 0; i < n; i++) {                                               \
                const T x = p[i];                                                           \
                y[i * stride] = (S)(to);                                                    \
            }                                                                               \
    }
/* Stores and loads again, without going through memory. */
#define STORED(S, from, to) from((S)(to))
#define MOVES_FLOAT(dt, S, from, to, to_int)    \
    DEFINE_MOVES(float, float, dt, S, from, to) \
    DEFINE1(as_float_##dt, float, STORED(S, from, to))
#define MOVES_DOUBLE(dt, S, from, to, to_int)     \
    DEFINE_MOVES(double, double, dt, S, from, to) \
    DEFINE1(as_double_##dt, double, STORED(S, from, to))
#define MOVES_INT(dt, S, from, to, to_int)          \
    DEFINE_MOVES(int, int64_t, dt, S, from, to_int) \
    DEFINE1(as_int_##dt, int64_t, STORED(S, from, to_int))
#define MOVES_UINT(dt, S, from, to, to_int)           \
    DEFINE_MOVES(uint, uint64_t, dt, S, from, to_int) \
    DEFINE1(as_uint_##dt, uint64_t, STORED(S, from, to_int))
#define MOVES_INT32(dt, S, from, to, to_int)          \
    DEFINE_MOVES(int32, int32_t, dt, S, from, to_int) \
    DEFINE1(as_int32_##dt, int32_t, STORED(S, from, to_int))
#define MOVES_INT16(dt, S, from, to, to_int)          \
    DEFINE_MOVES(int16, int16_t, dt, S, from, to_int) \
    DEFINE1(as_int16_##dt, int16_t, STORED(S, from, to_int))
#define MOVES_INT8(dt, S, from, to, to_int)         \
    DEFINE_MOVES(int8, int8_t, dt, S, from, to_int) \
    DEFINE1(as_int8_##dt, int8_t, STORED(S, from, to_int))
#define MOVES_UINT8(dt, S, from, to, to_int)          \
    DEFINE_MOVES(uint8, uint8_t, dt, S, from, to_int) \
    DEFINE1(as_uint8_##dt, uint8_t, STORED(S, from, to_int))
OTHER_TYPES(MOVES_FLOAT)
/* Half floats use the processor's instructions if it has them. */
#ifdef LOAD_HALVES
static void load_float_DT_FLOAT16(void *py, const void *px, int64_t stride, int64_t n) {
    float *y = py;
    const uint16_t *x = px;
    const int64_t whole = stride == 1 ? n - n % WIDTH : 0;
    for (int64_t i = 0; i < whole; i += WIDTH) LOAD_HALVES(y + i, x + i);
    for (int64_t i = whole; i < n; i++) y[i] = half_float(x[i * stride]);
}
static void store_float_DT_FLOAT16(void *py, int64_t stride, const void *px, int64_t n) {
    uint16_t *y = py;
    const float *x = px;
    const int64_t whole = stride == 1 ? n - n % WIDTH : 0;
    for (int64_t i = 0; i < whole; i += WIDTH) STORE_HALVES(y + i, x + i);
    for (int64_t i = whole; i < n; i++) y[i * stride] = float_half(x[i]);
}
static void as_float_DT_FLOAT16(void *py, const void *pa, const void *pb, int64_t n) {
    float *y = py;
    const float *a = pa;
    const int64_t whole = n - n % WIDTH;
    uint16_t half[WIDTH];
    (void)pb;
    for (int64_t i = 0; i < whole; i += WIDTH) {
        STORE_HALVES(half, a + i);
        LOAD_HALVES(y + i, half);
    }
    for (int64_t i = whole; i < n; i++) y[i] = half_float(float_half(a[i]));
}
#else
HALF_TYPE(MOVES_FLOAT)
#endif
TYPES(MOVES_DOUBLE)
TYPES(MOVES_INT)
TYPES(MOVES_UINT)
NARROW_TYPES(MOVES_INT32)
NARROW_TYPES(MOVES_INT16)
BYTE_TYPES(MOVES_INT8)
BYTE_TYPES(MOVES_UINT8)

/* Moves rows of n bytes. The last piece of a row overlaps the one before; in long rows also the
   first piece the second one, from which on the pieces of y fill cache lines. */
enum { MOVED_BYTES = 64, LONG_ROW = 256 };
/* The empty statement keeps compilers from making the loop one call of memcpy, which takes longer
   for short rows. */
static inline __attribute__((always_inline)) void move_pieces(char *y, const char *x, int64_t from,
                                                              int64_t n, int part) {
    for (int64_t at = from; at < n - part; at += part) {
        memcpy(y + at, x + at, (size_t)part);
        __asm__("" ::: "memory");
    }
    memcpy(y + n - part, x + n - part, (size_t)part);
}
static inline __attribute__((always_inline)) void move_long(char *y, const char *x, int64_t n) {
    memcpy(y, x, MOVED_BYTES);
    move_pieces(y, x, MOVED_BYTES - (int64_t)((uintptr_t)y % MOVED_BYTES), n, MOVED_BYTES);
}
static inline __attribute__((always_inline)) void move_ends(char *y, const char *x, int64_t n,
                                                            int part) {
    memcpy(y, x, (size_t)part), memcpy(y + n - part, x + n - part, (size_t)part);
}
/* row: declares y and x, the beginnings of row r. */
#define EACH_ROW_OF(row, move)                       \
    for (int64_t r = 0; r < rows; r++) { row move; } \
    return
#define MOVE_ROWS(row)                                             \
    if (n >= LONG_ROW) { EACH_ROW_OF(row, move_long(y, x, n)); }   \
    if (n > 64) { EACH_ROW_OF(row, move_pieces(y, x, 0, n, 32)); } \
    if (n >= 32) { EACH_ROW_OF(row, move_ends(y, x, n, 32)); }     \
    if (n >= 16) { EACH_ROW_OF(row, move_ends(y, x, n, 16)); }     \
    if (n >= 8) { EACH_ROW_OF(row, move_ends(y, x, n, 8)); }       \
    if (n >= 4) { EACH_ROW_OF(row, move_ends(y, x, n, 4)); }       \
    if (n >= 2) { EACH_ROW_OF(row, move_ends(y, x, n, 2)); }       \
    if (n == 1) { EACH_ROW_OF(row, *y = *x); }
static void move_rows(void *py, int64_t ys, const void *px, int64_t xs, int64_t rows, int64_t n) {
    char *restrict to = py;
    const char *restrict from = px;
    MOVE_ROWS(char *y = to + r * ys; const char *x = from + r * xs;)
}
static void move_chosen(const ChosenRows *c) {
    const int64_t *yo = c->yo, *xo = c->xo, os = c->os, size = c->size, ys = c->ys, xs = c->xs,
                  rows = c->rows, n = c->bytes;
    char *restrict to = c->y;
    const char *restrict from = c->x;
    MOVE_ROWS(char *y = to + r * ys + (yo ? yo[r * os] * size : 0);
              const char *x = from + r * xs + (xo ? xo[r * os] * size : 0);)
}
#undef MOVE_ROWS
#undef EACH_ROW_OF
