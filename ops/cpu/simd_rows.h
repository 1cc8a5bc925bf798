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
/* Computes y[i] = e^(x[i] - k[r].k[0]) and adds their sum, which is accumulated in LANES partial
   sums, to acc[r]. y NULL: only the sum. */
static inline void add_exps(float *y, float *lane, const float *x, float less, int64_t n) {
    EACH {
        const float e = exp_flushed(x[i] - less);
        if (y) y[i] = e;
        lane[i] += e;
    }
}
/* The elements at the end are computed together with some before them, before anything is written,
   because y may be x. */
static inline float exps_of(float *y, const float *x, float less, int64_t n) {
    float lane[LANES] = {0}, last[LANES];
    const int64_t rest = n < LANES ? 0 : n % LANES;
    int64_t at = 0;
    if (rest)
        for (int i = 0; i < LANES; i++) {
            last[i] = exp_flushed(x[n - LANES + i] - less);
            lane[i] = i < LANES - (int)rest ? 0 : last[i];
        }
    for (; at + LANES <= n; at += LANES) add_exps(y ? y + at : y, lane, x + at, less, LANES);
    if (rest && y) memcpy(y + n - LANES, last, sizeof last);
    else if (!rest && at < n) add_exps(y ? y + at : y, lane, x + at, less, n - at);
    FOLD_LANES(lane);
    return lane[0];
}
static void row_exps(float *y, double *acc, const float *x, const RowNumbers *k, int64_t n,
                     int64_t rows) {
    if (!y)
        for (int64_t r = 0; r < rows; r++) acc[r] += (double)exps_of(NULL, x + r * n, k[r].k[0], n);
    else
        for (int64_t r = 0; r < rows; r++)
            acc[r] += (double)exps_of(y + r * n, x + r * n, k[r].k[0], n);
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
