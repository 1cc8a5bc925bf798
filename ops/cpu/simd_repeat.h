/* simd_repeat.h -- repeats each element of a run K times (Simd.repeat), as nearest neighbours do
   where an image grows by a whole factor; included by simd_body.h. A few elements at a time are
   written to all rows that need them; the last few overlap those before. If an integer type is wide
   enough for K copies, an element is replicated by shifts within it. */
typedef uint16_t Wide16 __attribute__((aligned(1), may_alias));
typedef uint32_t Wide32 __attribute__((aligned(1), may_alias));
typedef uint64_t Wide64 __attribute__((aligned(1), may_alias));
#define DEFINE_REPEAT(T, K, Y, FEW, value)                                                        \
    static inline void repeat_##T##_##K##_few(T *restrict y, int64_t ys, int64_t rows,            \
                                              const T *restrict p, int64_t n) {                   \
        for (int64_t r = 0; r < rows; r++) {                                                      \
            Y *restrict to = (Y *)(void *)(y + r * ys);                                           \
            EACH {                                                                                \
                const Y x = p[i];                                                                 \
                value;                                                                            \
            }                                                                                     \
        }                                                                                         \
    }                                                                                             \
    static void repeat_##T##_##K(void *py, int64_t ys, int64_t rows, const void *px, int64_t n) { \
        enum { ALL = FEW, HALF = ALL / 2 };                                                       \
        T *y = py;                                                                                \
        const T *x = px;                                                                          \
        if (n < HALF) repeat_##T##_##K##_few(y, ys, rows, x, n);                                  \
        else if (n < ALL) {                                                                       \
            repeat_##T##_##K##_few(y, ys, rows, x, HALF);                                         \
            repeat_##T##_##K##_few(y + (n - HALF) * K, ys, rows, x + n - HALF, HALF);             \
        } else                                                                                    \
            for (int64_t at = 0; at < n; at += ALL) {                                             \
                const int64_t here = at + ALL <= n ? at : n - ALL;                                \
                repeat_##T##_##K##_few(y + here * K, ys, rows, x + here, ALL);                    \
            }                                                                                     \
    }
#define TWICE(x, bits) ((x) | (x) << (bits))
#define DEFINE_TWICE(T, Y) \
    DEFINE_REPEAT(T, 2, Y, 64 / sizeof(Y), to[i] = (Y)TWICE(x, 8 * sizeof(T)))
#define DEFINE_FOUR(T, Y)                                                            \
    DEFINE_REPEAT(T, 4, Y, 64 / sizeof(Y), const Y two = (Y)TWICE(x, 8 * sizeof(T)); \
                  to[i] = (Y)TWICE(two, 16 * sizeof(T)))
#define DEFINE_ONE_BY_ONE(T, K) \
    DEFINE_REPEAT(T, K, T, 8, for (int j = 0; j < K; j++) to[i * K + j] = x)
DEFINE_TWICE(uint8_t, Wide16)
DEFINE_TWICE(uint16_t, Wide32)
DEFINE_TWICE(uint32_t, Wide64)
DEFINE_ONE_BY_ONE(uint64_t, 2)
DEFINE_ONE_BY_ONE(uint8_t, 3)
DEFINE_ONE_BY_ONE(uint16_t, 3)
DEFINE_ONE_BY_ONE(uint32_t, 3)
DEFINE_ONE_BY_ONE(uint64_t, 3)
DEFINE_FOUR(uint8_t, Wide32)
DEFINE_FOUR(uint16_t, Wide64)
DEFINE_ONE_BY_ONE(uint32_t, 4)
DEFINE_ONE_BY_ONE(uint64_t, 4)
DEFINE_ONE_BY_ONE(uint8_t, 8)
DEFINE_ONE_BY_ONE(uint16_t, 8)
DEFINE_ONE_BY_ONE(uint32_t, 8)
DEFINE_ONE_BY_ONE(uint64_t, 8)
#define REPEATS(T) \
    { [2] = repeat_##T##_2, [3] = repeat_##T##_3, [4] = repeat_##T##_4, [8] = repeat_##T##_8 }
