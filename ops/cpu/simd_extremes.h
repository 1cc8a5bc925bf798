/* simd_extremes.h -- the maximum and the minimum of a run of floats; included by simd_body.h. The
   vector instructions ignore NaN but are single instructions; whether there was a NaN is recorded
   beside them. */
enum { EXTREMES = 4 };
typedef int32_t Truths __attribute__((vector_size(WIDTH * sizeof(int32_t)), may_alias));
#define DEFINE_EXTREME(name, BETTER, value)                                                       \
    static inline void name##_of(Floats *best, Truths *odd, const float *x) {                     \
        const Floats here = *(const Floats *)x;                                                   \
        *best = BETTER(here, *best);                                                              \
        *odd |= (Truths)(here != here);                                                           \
    }                                                                                             \
    static inline void name##_single(float *acc, float x) {                                       \
        const float z = *acc;                                                                     \
        *acc = value;                                                                             \
    }                                                                                             \
    static inline float name##_fold(Floats best, Truths odd) {                                    \
        float part[WIDTH];                                                                        \
        int32_t nan[WIDTH];                                                                       \
        memcpy(part, &best, sizeof part), memcpy(nan, &odd, sizeof nan);                          \
        _Pragma("GCC unroll 4") /* log2 of WIDTH, at most */                                      \
            for (int width = WIDTH / 2; width >= 1; width /= 2) for (int i = 0; i < width; i++) { \
            const float x = part[i], z = part[i + width];                                         \
            part[i] = value;                                                                      \
            nan[i] |= nan[i + width];                                                             \
        }                                                                                         \
        return nan[0] ? NAN : part[0];                                                            \
    }                                                                                             \
    static void name(void *acc, const void *px, int64_t n) {                                      \
        const float *x = px;                                                                      \
        if (n < WIDTH) {                                                                          \
            for (int64_t i = 0; i < n; i++) name##_single(acc, x[i]);                             \
            return;                                                                               \
        }                                                                                         \
        const Floats first = *(const Floats *)x;                                                  \
        Floats best[EXTREMES] = {first, first, first, first};                                     \
        Truths odd[EXTREMES] = {(Truths)(first != first)};                                        \
        int64_t at = WIDTH;                                                                       \
        for (; at + EXTREMES * WIDTH <= n; at += EXTREMES * WIDTH)                                \
            UNROLLED(int v = 0; v < EXTREMES; v++)                                                \
        name##_of(&best[v], &odd[v], x + at + v * WIDTH);                                         \
        for (; at + WIDTH <= n; at += WIDTH) name##_of(&best[0], &odd[0], x + at);                \
        if (at < n) name##_of(&best[1], &odd[1], x + n - WIDTH);                                  \
        best[0] = BETTER(best[0], best[1]), best[2] = BETTER(best[2], best[3]);                   \
        best[0] = BETTER(best[0], best[2]), odd[0] |= odd[1] | odd[2] | odd[3];                   \
        name##_single(acc, name##_fold(best[0], odd[0]));                                         \
    }
DEFINE_EXTREME(total_float_max, MAXIMUM, x > z || x != x ? x : z)
DEFINE_EXTREME(total_float_min, MINIMUM, x < z || x != x ? x : z)
