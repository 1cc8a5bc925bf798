/* simd_reduce.h -- reductions, of many outputs side by side and of a single run, and sums with
   weights; included by simd_body.h. */

/* Elements with a stride are first gathered, GATHERED at a time. */
enum { GATHERED = 64 };
typedef uint8_t Any8 __attribute__((may_alias));
typedef uint16_t Any16 __attribute__((may_alias));
typedef uint32_t Any32 __attribute__((may_alias));
typedef uint64_t Any64 __attribute__((may_alias));
#define DEFINE_GATHERED(T)                                                          \
    static void gathered_##T(void *py, const void *px, int64_t stride, int64_t n) { \
        T *restrict y = py;                                                         \
        const T *restrict x = px;                                                   \
        switch (stride) {                                                           \
        case 2: EACH y[i] = x[2 * i]; break;                                        \
        case 3: EACH y[i] = x[3 * i]; break;                                        \
        case 4: EACH y[i] = x[4 * i]; break;                                        \
        case 8: EACH y[i] = x[8 * i]; break;                                        \
        default:                                                                    \
            for (int64_t i = 0; i < n; i++) y[i] = x[i * stride];                   \
        }                                                                           \
    }
DEFINE_GATHERED(Any8)
DEFINE_GATHERED(Any16)
DEFINE_GATHERED(Any32)
DEFINE_GATHERED(Any64)
#define GATHERED_OF(T)                 \
    (sizeof(T) == 8   ? gathered_Any64 \
     : sizeof(T) == 4 ? gathered_Any32 \
     : sizeof(T) == 2 ? gathered_Any16 \
                      : gathered_Any8)
/* Merges, by `value`, what `of` makes of the elements x into results z. */
#define DEFINE_MERGE(name, W, T, of, value)                                   \
    static void name(void *pacc, const void *px, int64_t stride, int64_t n) { \
        W *acc = pacc;                                                        \
        const T *p = px;                                                      \
        if (stride == 1) {                                                    \
            EACH {                                                            \
                const W z = acc[i], x = of((W)p[i]);                          \
                acc[i] = (W)(value);                                          \
            }                                                                 \
        } else                                                                \
            for (int64_t at = 0; at < n; at += GATHERED) {                    \
                const int64_t m = n - at < GATHERED ? n - at : GATHERED;      \
                T run[GATHERED];                                              \
                GATHERED_OF(T)(run, p + at * stride, stride, m);              \
                _Pragma("omp simd") for (int64_t i = 0; i < m; i++) {         \
                    const W z = acc[at + i], x = of((W)run[i]);               \
                    acc[at + i] = (W)(value);                                 \
                }                                                             \
            }                                                                 \
    }
DEFINE_MERGE(add_floats, float, float, SAME, z + x)
/* Merges rows of adjacent elements, MERGED_ROWS at a time. */
enum { MERGED_ROWS = 4 };
#define MERGE_ROW(W, at, of, value) \
    {                               \
        const W x = of((W)p[at]);   \
        z = (W)(value);             \
    }
#define DEFINE_MERGE_ROWS(name, W, T, of, value)                                               \
    static void rows_##name(void *pacc, const void *px, int64_t xs, int64_t rows, int64_t n) { \
        W *restrict acc = pacc;                                                                \
        const T *restrict p = px;                                                              \
        for (; rows >= MERGED_ROWS; rows -= MERGED_ROWS, p += MERGED_ROWS * xs) EACH {         \
                W z = acc[i];                                                                  \
                MERGE_ROW(W, i, of, value)                                                     \
                MERGE_ROW(W, xs + i, of, value)                                                \
                MERGE_ROW(W, 2 * xs + i, of, value)                                            \
                MERGE_ROW(W, 3 * xs + i, of, value)                                            \
                acc[i] = z;                                                                    \
            }                                                                                  \
        for (; rows > 0; rows--, p += xs) EACH {                                               \
                W z = acc[i];                                                                  \
                MERGE_ROW(W, i, of, value)                                                     \
                acc[i] = z;                                                                    \
            }                                                                                  \
    }
/* Partial results are kept in LANES accumulators, which become registers, and are folded at the
   end. */
enum { LANES = 32 };
#define FOLD_LANES(sum)                                                                     \
    _Pragma("GCC unroll 5") /* log2 of LANES */                                             \
        for (int width = LANES / 2; width >= 1; width /= 2) for (int i = 0; i < width; i++) \
            sum[i] += sum[i + width]
enum { TOTAL_REST = 8 }; /* so many elements at the end are worth a block */
#define DEFINE_TOTAL(name, W, T, of, value)                                                    \
    static void total_##name(void *pacc, const void *px, int64_t n) {                          \
        W lane[LANES], *acc = pacc;                                                            \
        const T *p = px;                                                                       \
        int64_t at = n < LANES ? 0 : LANES;                                                    \
        if (at) {                                                                              \
            for (int i = 0; i < LANES; i++) lane[i] = of((W)p[i]);                             \
            for (; at + LANES <= n; at += LANES)                                               \
                for (int i = 0; i < LANES; i++) {                                              \
                    const W z = lane[i], x = of((W)p[at + i]);                                 \
                    lane[i] = (W)(value);                                                      \
                }                                                                              \
            const int rest = (int)(n - at);                                                    \
            if (rest >= TOTAL_REST) { /* the block overlaps the elements before */             \
                for (int i = 0; i < LANES; i++) {                                              \
                    const W z = lane[i], x = of((W)p[n - LANES + i]);                          \
                    lane[i] = i < LANES - rest ? z : (W)(value);                               \
                }                                                                              \
                at = n;                                                                        \
            }                                                                                  \
            _Pragma("GCC unroll 5") /* log2 of LANES */                                        \
                for (int width = LANES / 2; width >= 1; width /= 2) for (int i = 0; i < width; \
                                                                         i++) {                \
                const W z = lane[i], x = lane[i + width];                                      \
                lane[i] = (W)(value);                                                          \
            }                                                                                  \
            const W z = acc[0], x = lane[0];                                                   \
            acc[0] = (W)(value);                                                               \
        }                                                                                      \
        for (; at < n; at++) {                                                                 \
            const W z = acc[0], x = of((W)p[at]);                                              \
            acc[0] = (W)(value);                                                               \
        }                                                                                      \
    }
#define DEFINE_SIDE(name, W, T, of, value) \
    DEFINE_MERGE(name, W, T, of, value) DEFINE_MERGE_ROWS(name, W, T, of, value)
#define DEFINE_BOTH(name, W, T, of, value) \
    DEFINE_SIDE(name, W, T, of, value) DEFINE_TOTAL(name, W, T, of, value)
#define DEFINE_MERGES(class, W, T, U)                             \
    DEFINE_BOTH(class##_sum, W, T, SAME, (U)z + (U)x)             \
    DEFINE_BOTH(class##_max, T, T, SAME, x > z || x != x ? x : z) \
    DEFINE_BOTH(class##_min, T, T, SAME, x < z || x != x ? x : z) \
    DEFINE_BOTH(class##_prod, W, T, SAME, (U)z *(U)x)
#define SQUARE(x) ((x) * (x))
#define DEFINE_NORMS(class, T)                             \
    DEFINE_BOTH(class##_squares, double, T, SQUARE, z + x) \
    DEFINE_BOTH(class##_magnitudes, double, T, fabs, z + x)
#define DEFINE_SCALE_ADD(class, T)                                                          \
    static void class##_scale_add(void *py, const void *px, int64_t stride, const void *pw, \
                                  int64_t n) {                                              \
        T *y = py;                                                                          \
        const T *x = px, w = *(const T *)pw;                                                \
        if (stride == 1) {                                                                  \
            EACH y[i] = (T)MULTIPLY_##class(w, x[i], y[i]);                                 \
        } else EACH y[i] = (T)MULTIPLY_##class(w, x[i * stride], y[i]);                     \
    }
/* Multiplies and adds vectors; w may be a number, which the subtraction of a zero vector turns into
   a vector. */
#ifdef FUSE
#define MULTIPLY_floats(x, w, y) FUSE(x, (w) - (Floats){0}, y)
#else
#define MULTIPLY_floats(x, w, y) ((x) * (w) + (y))
#endif
#define MULTIPLY_float(w, x, y) FMA(w, x, y)
#define MULTIPLY_double(w, x, y) ((w) * (x) + (y))
#define MULTIPLY_int(w, x, y) ((uint64_t)(w) * (uint64_t)(x) + (uint64_t)(y))
#define MULTIPLY_uint(w, x, y) MULTIPLY_int(w, x, y)
#define MULTIPLY_uint32(w, x, y) ((w) * (x) + (y))
DEFINE_SIDE(float_sum, double, float, SAME, (double)z + (double)x)
DEFINE_SIDE(float_max, float, float, SAME, x > z || x != x ? x : z)
DEFINE_SIDE(float_min, float, float, SAME, x < z || x != x ? x : z)
DEFINE_BOTH(float_prod, double, float, SAME, (double)z *(double)x)
DEFINE_NORMS(float, float)
DEFINE_MERGES(double, double, double, double)
DEFINE_NORMS(double, double)
DEFINE_MERGES(int, int64_t, int64_t, uint64_t)
DEFINE_MERGES(uint, uint64_t, uint64_t, uint64_t)
DEFINE_MERGES(int32, int64_t, int32_t, uint64_t)
DEFINE_MERGES(int16, int64_t, int16_t, uint64_t)
DEFINE_BOTH(int8_max, int8_t, int8_t, SAME, x > z ? x : z)
DEFINE_BOTH(int8_min, int8_t, int8_t, SAME, x < z ? x : z)
DEFINE_BOTH(uint8_max, uint8_t, uint8_t, SAME, x > z ? x : z)
DEFINE_BOTH(uint8_min, uint8_t, uint8_t, SAME, x < z ? x : z)
DEFINE_SCALE_ADD(float, float)
DEFINE_SCALE_ADD(double, double)
DEFINE_SCALE_ADD(int, int64_t)
DEFINE_SCALE_ADD(uint, uint64_t)
DEFINE_SCALE_ADD(uint32, uint32_t)
