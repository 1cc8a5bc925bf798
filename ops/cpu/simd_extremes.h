/* simd_extremes.h -- the maximum and the minimum of a run of floats; included by simd_body.h. The
   vector instructions ignore NaN but are single instructions; whether there was a NaN is recorded
   beside them where that matters. */
enum { EXTREMES = 4 };
typedef int32_t Truths __attribute__((vector_size(WIDTH * sizeof(int32_t)), may_alias));
/* The first n places of a vector. */
static inline Truths places_before(int64_t n) {
    static const int32_t place[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    Truths at;
    memcpy(&at, place, sizeof at);
    return at < (int32_t)n;
}
/* Defines NAME, which changes *acc to the extreme of itself and n floats, and NAME_run, the extreme
   of n > 0 floats. A NaN is the extreme where there is one; without `nans` it may be passed
   over. */
#define DEFINE_EXTREME(name, BETTER, worst, value)                                                \
    static inline void name##_of(Floats *best, Truths *odd, Floats here, bool nans) {             \
        *best = BETTER(here, *best);                                                              \
        if (nans) *odd |= (Truths)(here != here);                                                 \
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
    static inline Floats name##_first(const float *x, int64_t n) {                                \
        const Truths in = places_before(n);                                                       \
        const Floats none = (Floats){0} + (worst), some = LOAD_FIRST(x, n);                       \
        return (Floats)((in & (Truths)some) | (~in & (Truths)none));                              \
    }                                                                                             \
    static inline                                                                                 \
        __attribute__((always_inline)) float name##_run(const float *x, int64_t n, bool nans) {   \
        const Floats first = n < WIDTH ? name##_first(x, n) : *(const Floats *)x;                 \
        Floats best[EXTREMES] = {first, first, first, first};                                     \
        Truths odd[EXTREMES] = {0};                                                               \
        if (nans) odd[0] = (Truths)(first != first);                                              \
        int64_t at = WIDTH;                                                                       \
        for (; at + EXTREMES * WIDTH <= n; at += EXTREMES * WIDTH)                                \
            UNROLLED(int v = 0; v < EXTREMES; v++)                                                \
        name##_of(&best[v], &odd[v], *(const Floats *)(x + at + v * WIDTH), nans);                \
        for (; at + WIDTH <= n; at += WIDTH)                                                      \
            name##_of(&best[0], &odd[0], *(const Floats *)(x + at), nans);                        \
        if (at < n) name##_of(&best[1], &odd[1], *(const Floats *)(x + n - WIDTH), nans);         \
        best[0] = BETTER(best[0], best[1]), best[2] = BETTER(best[2], best[3]);                   \
        best[0] = BETTER(best[0], best[2]), odd[0] |= odd[1] | odd[2] | odd[3];                   \
        return name##_fold(best[0], odd[0]);                                                      \
    }                                                                                             \
    static void name(void *acc, const void *px, int64_t n) {                                      \
        const float *x = px;                                                                      \
        for (int64_t i = 0; i < n && n < WIDTH; i++) name##_single(acc, x[i]);                    \
        if (n >= WIDTH) name##_single(acc, name##_run(x, n, true));                               \
    }
DEFINE_EXTREME(total_float_max, MAXIMUM, -INFINITY, x > z || x != x ? x : z)
DEFINE_EXTREME(total_float_min, MINIMUM, INFINITY, x < z || x != x ? x : z)
