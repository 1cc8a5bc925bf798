/* simd_rows.h -- what a step over rows (rows.c) does with one row of floats; included by
   simd_body.h. */

/* The sum of (x[i] - less)^2 is added to acc[0]: LANES partial sums, of some terms in floats, which
   are all positive, then in doubles. */
enum { SQUARES = 8 * LANES };
static inline void add_squares(double *lane, const float *x, float less, int64_t n) {
    float some[LANES] = {0};
    for (int64_t at = 0; at < SQUARES; at += LANES)
        for (int i = 0; i < LANES; i++) {
            const float d = at + i < n ? x[at + i] - less : 0;
            some[i] = FMA(d, d, some[i]);
        }
    for (int i = 0; i < LANES; i++) lane[i] += (double)some[i];
}
static void row_squares(double *acc, const float *x, float less, int64_t n) {
    double lane[LANES] = {0};
    int64_t at = 0;
    for (; at + SQUARES <= n; at += SQUARES) add_squares(lane, x + at, less, SQUARES);
    if (at < n) add_squares(lane, x + at, less, n - at);
    FOLD_LANES(lane);
    *acc += lane[0];
}
/* y[i] = e^(x[i] - less), and their sum, in LANES partial sums, is added to acc[0]. */
static inline void add_exps(float *y, float *lane, const float *x, float less, int64_t n) {
    EACH {
        const float e = exp_flushed(x[i] - less);
        y[i] = e;
        lane[i] += e;
    }
}
static void row_exps(float *y, double *acc, const float *x, float less, int64_t n) {
    float lane[LANES] = {0};
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES) add_exps(y + at, lane, x + at, less, LANES);
    add_exps(y + at, lane, x + at, less, n - at);
    FOLD_LANES(lane);
    *acc += (double)lane[0];
}
/* y[i] = (x[i] - k[0]) * k[1] * k[2] * scale[i] + shift[i], each rounded; either may be NULL. */
APART static void row_scaled(float *y, const float *x, const float k[6], const float *scale,
                             const float *shift, int64_t n) {
    NOT_CONTRACTED
    const float low = k[0], first = k[1], second = k[2];
    if (!scale) {
        EACH y[i] = (x[i] - low) * first * second + shift[i];
    } else if (!shift) {
        EACH y[i] = (x[i] - low) * first * second * scale[i];
    } else EACH y[i] = (x[i] - low) * first * second * scale[i] + shift[i];
}
