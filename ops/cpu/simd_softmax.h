/* simd_softmax.h -- softmax of one row, of many short rows, and of columns; included by
   simd_body.h. */

/* Computes the maximum, then exponentials and their sum (in LANES partial sums), then divides. */
#define DEFINE_SOFTMAX(name, T, EXP, max)                                                      \
    static inline void name##_part(T *y, const T *x, T peak, T *sum, int64_t n) {              \
        EACH {                                                                                 \
            const T e = EXP(x[i] - peak);                                                      \
            y[i] = e;                                                                          \
            sum[i] += e;                                                                       \
        }                                                                                      \
    }                                                                                          \
    static void name(void *py, const void *px, int64_t rows) {                                 \
        T *y = py;                                                                             \
        const T *x = px;                                                                       \
        T sum[LANES] = {0}, peak = (T)-INFINITY;                                               \
        int64_t at = 0;                                                                        \
        max(&peak, x, rows);                                                                   \
        for (; at + LANES <= rows; at += LANES) name##_part(y + at, x + at, peak, sum, LANES); \
        name##_part(y + at, x + at, peak, sum, rows - at);                                     \
        FOLD_LANES(sum);                                                                       \
        const T scale = 1 / sum[0];                                                            \
        const int64_t n = rows;                                                                \
        EACH y[i] *= scale;                                                                    \
    }
DEFINE_SOFTMAX(softmax_float, float, exp_small, total_float_max)
DEFINE_SOFTMAX(softmax_double, double, exp, total_double_max)

/* Softmax of short rows: a block of rows lies side by side, so that one column of all of them is a
   vector. The result for a row does not depend on the others. */
#define DEFINE_SHORT(name, T, EXP)                                                            \
    static void name##_block(T *restrict y, const T *restrict x, int64_t columns, int rows) { \
        enum { n = SIMD_SHORT_ROWS };                                                         \
        T room[SIMD_SHORT * n], peak[n], sum[n] = {0};                                        \
        EACH peak[i] = (T)-INFINITY;                                                          \
        for (int i = 0; i < rows; i++)                                                        \
            for (int64_t c = 0; c < columns; c++) room[c * n + i] = x[i * columns + c];       \
        for (int64_t c = 0; c < columns; c++)                                                 \
            for (int i = rows; i < n; i++) room[c * n + i] = 0;                               \
        for (int64_t c = 0; c < columns; c++)                                                 \
            EACH peak[i] = room[c * n + i] > peak[i] ? room[c * n + i] : peak[i];             \
        for (int64_t c = 0; c < columns; c++) EACH {                                          \
                const T e = EXP(room[c * n + i] - peak[i]);                                   \
                room[c * n + i] = e;                                                          \
                sum[i] += e;                                                                  \
            }                                                                                 \
        EACH sum[i] = 1 / sum[i];                                                             \
        for (int64_t c = 0; c < columns; c++) EACH room[c * n + i] *= sum[i];                 \
        for (int i = 0; i < rows; i++)                                                        \
            for (int64_t c = 0; c < columns; c++) y[i * columns + c] = room[c * n + i];       \
    }                                                                                         \
    static void name(void *y, const void *x, int64_t columns, int64_t rows) {                 \
        for (int64_t r = 0; r < rows; r += SIMD_SHORT_ROWS)                                   \
            name##_block((T *)y + r * columns, (const T *)x + r * columns, columns,           \
                         (int)(rows - r < SIMD_SHORT_ROWS ? rows - r : SIMD_SHORT_ROWS));     \
    }
DEFINE_SHORT(softmax_short_float, float, exp_small)
DEFINE_SHORT(softmax_short_double, double, exp)

/* Softmax of SIMD_BESIDE columns; y may be x. */
#define DEFINE_COLUMNS(name, T, EXP)                                                   \
    static void name(void *py, int64_t ys, const void *px, int64_t xs, int64_t rows) { \
        enum { n = SIMD_BESIDE };                                                      \
        T *y = py, peak[n], sum[n] = {0};                                              \
        const T *x = px;                                                               \
        EACH peak[i] = (T)-INFINITY;                                                   \
        for (int64_t r = 0; r < rows; r++) EACH {                                      \
                const T here = x[r * xs + i];                                          \
                peak[i] = here > peak[i] ? here : peak[i];                             \
            }                                                                          \
        for (int64_t r = 0; r < rows; r++) EACH {                                      \
                const T e = EXP(x[r * xs + i] - peak[i]);                              \
                y[r * ys + i] = e;                                                     \
                sum[i] += e;                                                           \
            }                                                                          \
        EACH sum[i] = 1 / sum[i];                                                      \
        for (int64_t r = 0; r < rows; r++) EACH y[r * ys + i] *= sum[i];               \
    }
DEFINE_COLUMNS(softmax_columns_float, float, exp_small)
DEFINE_COLUMNS(softmax_columns_double, double, exp)
