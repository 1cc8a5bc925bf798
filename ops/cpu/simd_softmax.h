/* simd_softmax.h -- softmax of one row, of many short rows, and of columns; included by
   simd_body.h. */

/* ---- exponentials of rows of floats and their sums, in LANES partial sums. Two rows that are not
   too long are computed together, by the same operations as each alone, so that each fills the
   waits of the other. Exponentials keep the processor busy for longer than reading their operands
   takes; meanwhile what will be needed next is fetched. */
enum { EXP_PARTS = LANES / WIDTH, EXP_PAIRED = 768, LINE_FLOATS = 16 /* of the cache */ };
/* any: elements may be greater than 89. */
static inline Floats exp_floats(Floats x, bool any) {
    float from[WIDTH], to[WIDTH];
    memcpy(from, &x, sizeof from);
    if (any) _Pragma("omp simd") for (int i = 0; i < WIDTH; i++) to[i] = exp_flushed(from[i]);
    else _Pragma("omp simd") for (int i = 0; i < WIDTH; i++) to[i] = exp_small(from[i]);
    memcpy(&x, to, sizeof to);
    return x;
}
/* Computes y = e^(x - less[r]) for each row r of `rows` (1 or 2) rows, and total[r], their sum. y
   may be x, or NULL: only the sums. The floats that lie `ahead` of those of x are fetched into the
   cache; there need not be any. */
static inline __attribute__((always_inline)) void exp_rows(float *y, const float *x,
                                                           const float less[], float total[],
                                                           int64_t n, int rows, bool any,
                                                           int64_t ahead) {
    Floats sum[2][EXP_PARTS] = {{{0}}};
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES) UNROLLED(int v = 0; v < rows * EXP_PARTS; v++) {
            const int r = v / EXP_PARTS, part = v % EXP_PARTS;
            const int64_t place = r * n + at + part * WIDTH;
            if (part * WIDTH % LINE_FLOATS == 0) __builtin_prefetch(x + place + ahead);
            const Floats e = exp_floats(*(const Floats *)(x + place) - less[r], any);
            sum[r][part] += e;
            if (y) *(Floats *)(y + place) = e;
        }
    for (; at + WIDTH <= n; at += WIDTH) UNROLLED(int r = 0; r < rows; r++) {
            const int64_t place = r * n + at;
            const Floats e = exp_floats(*(const Floats *)(x + place) - less[r], any);
            sum[r][0] += e;
            if (y) *(Floats *)(y + place) = e;
        }
    if (at < n) UNROLLED(int r = 0; r < rows; r++) {
            const int64_t place = r * n + at;
            const Floats e = exp_floats(LOAD_FIRST(x + place, n - at) - less[r], any);
            sum[r][0] += (Floats)(places_before(n - at) & (Truths)e);
            if (y) STORE_FIRST(y + place, n - at, e);
        }
    UNROLLED(int r = 0; r < rows; r++) {
        float lane[LANES];
        memcpy(lane, sum[r], sizeof lane);
        FOLD_LANES(lane);
        total[r] = lane[0];
    }
}

/* ---- softmax: the maximum, exponentials and their sum, then a division. A NaN may be ignored in
   the maximum; it makes the sum a NaN. */
static inline __attribute__((always_inline)) void softmax_rows(float *y, const float *x, int64_t n,
                                                               int rows) {
    float peak[2], scale[2];
    UNROLLED(int r = 0; r < rows; r++) peak[r] = total_float_max_run(x + r * n, n, false);
    exp_rows(y, x, peak, scale, n, rows, false, rows * n);
    UNROLLED(int r = 0; r < rows; r++) scale[r] = 1 / scale[r];
    int64_t at = 0;
    for (; at + WIDTH <= n; at += WIDTH)
        UNROLLED(int r = 0; r < rows; r++) * (Floats *)(y + r * n + at) *= scale[r];
    if (at < n) UNROLLED(int r = 0; r < rows; r++) {
            const Floats e = LOAD_FIRST(y + r * n + at, n - at) * scale[r];
            STORE_FIRST(y + r * n + at, n - at, e);
        }
}
enum { FEW_LONGEST = 128 };
static inline Four greater_of_four(Four a, Four b) {
    typedef int32_t Truth __attribute__((vector_size(FOUR * sizeof(int32_t))));
    const Truth greater = a > b;
    return (Four)((greater & (Truth)a) | (~greater & (Truth)b));
}
static inline Four greatest_of_parts(Floats x) {
    Four part[WIDTH / FOUR], best;
    memcpy(part, &x, sizeof part);
    best = part[0];
    for (int k = 1; k < WIDTH / FOUR; k++) best = greater_of_four(best, part[k]);
    return best;
}
/* Each of the four results is the maximum of one of the four vectors, none of which has a NaN. */
static inline Four maxima_of_four(const Floats v[FOUR]) {
    const Four x[FOUR] = {greatest_of_parts(v[0]), greatest_of_parts(v[1]), greatest_of_parts(v[2]),
                          greatest_of_parts(v[3])};
    const Four even = greater_of_four(__builtin_shufflevector(x[0], x[1], 0, 4, 1, 5),
                                      __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7)),
               odd = greater_of_four(__builtin_shufflevector(x[2], x[3], 0, 4, 1, 5),
                                     __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7));
    return greater_of_four(__builtin_shufflevector(even, odd, 0, 1, 4, 5),
                           __builtin_shufflevector(even, odd, 2, 3, 6, 7));
}
/* Softmax of 1 to FOUR rows, for rows of at most FEW_LONGEST elements. The result for a row does
 * not depend on the others. */
static inline __attribute__((always_inline)) void softmax_few(float *y, const float *x, int64_t n,
                                                              int rows) {
    const int64_t whole = n - n % WIDTH, rest = n - whole;
    Floats peak[FOUR] = {{0}}, sum[FOUR] = {{0}};
    Four total[FOUR] = {{0}};
    UNROLLED(int r = 0; r < rows; r++) peak[r] = (Floats){0} - INFINITY;
    for (int64_t at = 0; at < whole; at += WIDTH) UNROLLED(int r = 0; r < rows; r++)
    peak[r] = MAXIMUM(*(const Floats *)(x + r * n + at), peak[r]);
    if (rest) UNROLLED(int r = 0; r < rows; r++)
    peak[r] = MAXIMUM(total_float_max_first(x + r * n + whole, rest), peak[r]);
    const Four tops = maxima_of_four(peak);
    for (int64_t at = 0; at < whole; at += WIDTH) UNROLLED(int r = 0; r < rows; r++) {
            const Floats e = exp_floats(*(const Floats *)(x + r * n + at) - tops[r], false);
            sum[r] += e;
            *(Floats *)(y + r * n + at) = e;
        }
    if (rest) UNROLLED(int r = 0; r < rows; r++) {
            float *to = y + r * n + whole;
            const Floats e = exp_floats(LOAD_FIRST(x + r * n + whole, rest) - tops[r], false);
            sum[r] += (Floats)(places_before(rest) & (Truths)e);
            STORE_FIRST(to, rest, e);
        }
    UNROLLED(int r = 0; r < rows; r++) total[r] = four_sums(sum[r]);
    const Four scale = 1 / sums_of_four(total);
    for (int64_t at = 0; at < whole; at += WIDTH)
        UNROLLED(int r = 0; r < rows; r++) * (Floats *)(y + r * n + at) *= scale[r];
    if (rest) UNROLLED(int r = 0; r < rows; r++) {
            float *to = y + r * n + whole;
            const Floats e = LOAD_FIRST(to, rest) * scale[r];
            STORE_FIRST(to, rest, e);
        }
}
static void softmax_float(void *py, const void *px, int64_t n, int64_t rows) {
    float *y = py;
    const float *x = px;
    int64_t r = 0;
    if (n <= FEW_LONGEST) {
        for (; r + FOUR <= rows; r += FOUR) softmax_few(y + r * n, x + r * n, n, FOUR);
        for (; r + 2 <= rows; r += 2) softmax_few(y + r * n, x + r * n, n, 2);
        if (r < rows) softmax_few(y + r * n, x + r * n, n, 1);
        return;
    }
    for (; n <= EXP_PAIRED && r + 2 <= rows; r += 2) softmax_rows(y + r * n, x + r * n, n, 2);
    for (; r < rows; r++) softmax_rows(y + r * n, x + r * n, n, 1);
}
static inline void softmax_part(double *y, const double *x, double peak, double *sum, int64_t n) {
    EACH {
        const double e = exp(x[i] - peak);
        y[i] = e;
        sum[i] += e;
    }
}
static void softmax_double(void *py, const void *px, int64_t n, int64_t rows) {
    double *y = py;
    const double *x = px;
    for (; rows > 0; rows--, y += n, x += n) {
        double sum[LANES] = {0}, peak = -(double)INFINITY;
        int64_t at = 0;
        total_double_max(&peak, x, n);
        for (; at + LANES <= n; at += LANES) softmax_part(y + at, x + at, peak, sum, LANES);
        softmax_part(y + at, x + at, peak, sum, n - at);
        FOLD_LANES(sum);
        const double scale = 1 / sum[0];
        EACH y[i] *= scale;
    }
}

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
