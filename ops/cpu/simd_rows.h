/* simd_rows.h -- the loops over rows of floats for steps over rows (rows.c); included by
   simd_body.h. */

/* The loops take several rows because a call for each short row would cost as much as its sum. */
static void row_peaks(float *acc, const float *x, int64_t n, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) total_float_max(acc + r, x + r * n, n);
}

/* Adds the sum of (x[i] - k[r].k[0])^2 to acc[r]. Each of LANES partial sums adds up some terms as
   floats, which is precise enough because all are positive, and these sums in doubles. */
enum { SQUARES = 8 * LANES };
static inline void add_squares(double *lane, const float *x, float less, int64_t n) {
    float some[LANES] = {0};
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES)
        for (int i = 0; i < LANES; i++) {
            const float d = x[at + i] - less;
            some[i] = FMA(d, d, some[i]);
        }
    for (int i = 0; at < n && i < LANES; i++) {
        const float d = at + i < n ? x[at + i] - less : 0;
        some[i] = FMA(d, d, some[i]);
    }
    for (int i = 0; i < LANES; i++) lane[i] += (double)some[i];
}
static inline double squares_of(const float *x, float less, int64_t n) {
    double lane[LANES] = {0};
    int64_t at = 0;
    for (; at + SQUARES <= n; at += SQUARES) add_squares(lane, x + at, less, SQUARES);
    if (at < n) add_squares(lane, x + at, less, n - at);
    FOLD_LANES(lane);
    return lane[0];
}
static void row_squares(double *acc, const float *x, const RowNumbers *k, int64_t n, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) acc[r] += squares_of(x + r * n, k[r].k[0], n);
}
/* Computes some rows, 1 or 2; y may be NULL. any: elements may be greater than k[r].k[0] + 89. */
static inline __attribute__((always_inline)) void some_exps(float *y, double *acc, const float *x,
                                                            const RowNumbers *k, int64_t n,
                                                            int rows, bool any, int64_t ahead) {
    float less[2], total[2];
    UNROLLED(int r = 0; r < rows; r++) less[r] = k[r].k[0];
    exp_rows(y, x, less, total, n, rows, any, ahead);
    UNROLLED(int r = 0; r < rows; r++) acc[r] += (double)total[r];
}
static inline __attribute__((always_inline)) void all_exps(float *y, double *acc, const float *x,
                                                           const RowNumbers *k, int64_t n,
                                                           int64_t rows, bool any, int64_t ahead) {
    int64_t r = 0;
    for (; n <= EXP_PAIRED && r + 2 <= rows; r += 2)
        some_exps(y ? y + r * n : NULL, acc + r, x + r * n, k + r, n, 2, any, ahead);
    for (; r < rows; r++)
        some_exps(y ? y + r * n : NULL, acc + r, x + r * n, k + r, n, 1, any, ahead);
}
static void row_exps(float *y, double *acc, const float *x, const RowNumbers *k, int64_t n,
                     int64_t rows, bool bounded, int64_t ahead) {
    if (y && bounded) all_exps(y, acc, x, k, n, rows, false, ahead);
    else if (y) all_exps(y, acc, x, k, n, rows, true, ahead);
    else if (bounded) all_exps(NULL, acc, x, k, n, rows, false, ahead);
    else all_exps(NULL, acc, x, k, n, rows, true, ahead);
}
/* Computes y[i] = (x[i] - k[r].k[0]) * k[r].k[1] * k[r].k[2] * scale[i] + shift[i], rounded after
   each operation. scale NULL: there is no such factor. shift NULL: k[r].k[3] is added if scale is
   NULL, too. */
APART static void row_scaled(float *y, const float *x, const RowNumbers *k, const float *scale,
                             const float *shift, int64_t n, int64_t rows) {
    NOT_CONTRACTED
    for (int64_t r = 0; r < rows; r++, y += n, x += n) {
        const float low = k[r].k[0], first = k[r].k[1], second = k[r].k[2], more = k[r].k[3];
        if (scale && shift) EACH y[i] = (x[i] - low) * first * second * scale[i] + shift[i];
        else if (scale) EACH y[i] = (x[i] - low) * first * second * scale[i];
        else if (shift) EACH y[i] = (x[i] - low) * first * second + shift[i];
        else EACH y[i] = (x[i] - low) * first * second + more;
    }
}
