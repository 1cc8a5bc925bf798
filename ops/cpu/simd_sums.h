/* simd_sums.h -- sums of rows of floats, which are kept in doubles; included by simd_body.h.

   A row is added up in SUMMED lanes; then neighbouring lanes are added, then neighbouring pairs of
   lanes, and so on. Several rows are folded together by the same additions in the same order, so
   the sum of a row does not depend on the rows beside it. Without DOUBLES(x), a load of SUMMED
   floats as doubles, rows are summed one by one. */
#ifdef DOUBLES
enum { SUMMED = WIDTH / 2, SUM_PARTS = LANES / SUMMED, FEW_SUMMED = SUMMED - 1 };
typedef double Doubles __attribute__((vector_size(SUMMED * sizeof(double))));
typedef int64_t DoubleBits __attribute__((vector_size(SUMMED * sizeof(double)), aligned(8)));

/* Adds neighbouring runs of k lanes of two vectors: the sums of a's runs and of b's alternate. */
#if WIDTH == 16
#define FOLD_1(a, b)                                            \
    (__builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14) + \
     __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15))
#define FOLD_2(a, b)                                           \
    (__builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13) + \
     __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15))
#define FOLD_4(a, b)                                           \
    (__builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) + \
     __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15))
static inline Doubles folded_rows(const Doubles row[SUMMED]) {
    const Doubles a = FOLD_1(row[0], row[1]), b = FOLD_1(row[2], row[3]),
                  c = FOLD_1(row[4], row[5]), d = FOLD_1(row[6], row[7]);
    const Doubles ab = FOLD_2(a, b), cd = FOLD_2(c, d);
    return FOLD_4(ab, cd);
}
static inline double folded_row(Doubles row) {
    const Doubles pairs = FOLD_1(row, row), fours = FOLD_2(pairs, pairs);
    return FOLD_4(fours, fours)[0];
}
#else
#define FOLD_1(a, b) \
    (__builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7))
#define FOLD_2(a, b) \
    (__builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7))
static inline Doubles folded_rows(const Doubles row[SUMMED]) {
    const Doubles a = FOLD_1(row[0], row[1]), b = FOLD_1(row[2], row[3]);
    return FOLD_2(a, b);
}
static inline double folded_row(Doubles row) {
    const Doubles pairs = FOLD_1(row, row);
    return FOLD_2(pairs, pairs)[0];
}
#endif

/* The lanes of x[0..SUMMED-1], of which all but the last n become 0. */
static inline Doubles last_doubles(const float *x, int64_t n) {
    static const int64_t mask[] = {0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1};
    return (Doubles)((DoubleBits)DOUBLES(x) & *(const DoubleBits *)(mask + 8 - SUMMED + n));
}
static inline Doubles sum_lanes(const float *x, int64_t n) {
    Doubles lane[SUM_PARTS] = {0};
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES)
        UNROLLED(int k = 0; k < SUM_PARTS; k++) lane[k] += DOUBLES(x + at + k * SUMMED);
    for (; at + SUMMED <= n; at += SUMMED) lane[0] += DOUBLES(x + at);
    if (at < n) lane[1] += last_doubles(x + n - SUMMED, n - at);
    UNROLLED(int k = 0; k < SUM_PARTS / 2; k++) lane[k] += lane[k + SUM_PARTS / 2];
    UNROLLED(int k = 1; k < SUM_PARTS / 2; k++) lane[0] += lane[k];
    return lane[0];
}
static void total_float_sum(void *pacc, const void *px, int64_t n) {
    const float *x = px;
    double *acc = pacc;
    if (n >= SUMMED) *acc += folded_row(sum_lanes(x, n));
    else
        for (int64_t i = 0; i < n; i++) *acc += (double)x[i];
}
/* Sums up SUMMED rows of at least SUMMED elements. */
static inline void sum_rows(double *acc, const float *x, int64_t xs, int64_t n) {
    Doubles row[SUMMED];
    if (n == SUMMED) UNROLLED(int k = 0; k < SUMMED; k++) row[k] = DOUBLES(x + k * xs);
    else
        for (int k = 0; k < SUMMED; k++) row[k] = sum_lanes(x + k * xs, n);
    row[0] = folded_rows(row);
    for (int k = 0; k < SUMMED; k++) acc[k] += row[0][k];
}
static void row_sums(double *acc, const float *x, int64_t xs, int64_t n, int64_t rows) {
    int64_t r = 0;
    for (; n >= SUMMED && r + SUMMED <= rows; r += SUMMED) sum_rows(acc + r, x + r * xs, xs, n);
    for (; r < rows; r++) total_float_sum(acc + r, x + r * xs, n);
}
#else
enum { FEW_SUMMED = 8 };
DEFINE_TOTAL(float_sum, double, float, SAME, z + x)
static void row_sums(double *acc, const float *x, int64_t xs, int64_t n, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) total_float_sum(acc + r, x + r * xs, n);
}
#endif
