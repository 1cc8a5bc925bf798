/* simd_rows.h -- the loops over rows of floats for steps over rows (rows.c); included by
   simd_body.h. */

/* The loops take several rows because a call for each short row would cost as much as its sum. */
static void row_peaks(float *acc, const float *x, int64_t n, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) total_float_max(acc + r, x + r * n, n);
}

/* Adds the sum of (x[i] - k[r].k[0])^2 to acc[r]. Each lane of the partial sums adds up 8 terms at
   most as floats, which is precise enough because all are positive, and these sums in doubles. */
#ifdef DOUBLES
/* Several rows are folded together as in simd_sums.h. */
enum { SQUARE_PARTS = 2, SQUARES = 8 * SQUARE_PARTS * WIDTH };
typedef float HalfFloats __attribute__((vector_size(WIDTH / 2 * sizeof(float))));
#if WIDTH == 16
#define LOW_HALF(x) __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7)
#define HIGH_HALF(x) __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15)
#else
#define LOW_HALF(x) __builtin_shufflevector(x, x, 0, 1, 2, 3)
#define HIGH_HALF(x) __builtin_shufflevector(x, x, 4, 5, 6, 7)
#endif
/* The sum of the two halves of a vector. */
static inline Doubles halves_sum(Floats x) {
    const HalfFloats low = LOW_HALF(x), high = HIGH_HALF(x);
    return __builtin_convertvector(low, Doubles) + __builtin_convertvector(high, Doubles);
}
/* The first n lanes of a vector; the others become 0. */
static inline Floats first_lanes(Floats x, int64_t n) {
    return (Floats)((Truths)x & places_before(n));
}
/* The squares of n <= SQUARES differences. */
static inline Doubles some_squares(const float *x, float less, int64_t n) {
    Floats some[SQUARE_PARTS] = {{0}};
    int64_t at = 0;
    for (; at + SQUARE_PARTS * WIDTH <= n; at += SQUARE_PARTS * WIDTH)
        UNROLLED(int k = 0; k < SQUARE_PARTS; k++) {
            const Floats d = *(const Floats *)(x + at + k * WIDTH) - less;
            some[k] = FUSE(d, d, some[k]);
        }
    if (at + WIDTH <= n) {
        const Floats d = *(const Floats *)(x + at) - less;
        some[0] = FUSE(d, d, some[0]), at += WIDTH;
    }
    if (at < n) {
        const Floats d = first_lanes(LOAD_FIRST(x + at, n - at) - less, n - at);
        some[1] = FUSE(d, d, some[1]);
    }
    return halves_sum(some[0]) + halves_sum(some[1]);
}
static inline Doubles square_lanes(const float *x, float less, int64_t n) {
    Doubles all = some_squares(x, less, n < SQUARES ? n : SQUARES);
    for (int64_t at = SQUARES; at < n; at += SQUARES)
        all += some_squares(x + at, less, n - at < SQUARES ? n - at : SQUARES);
    return all;
}
static void row_squares(double *acc, const float *x, const RowNumbers *k, int64_t n, int64_t rows) {
    int64_t r = 0;
    for (; r + SUMMED <= rows; r += SUMMED) {
        Doubles row[SUMMED];
        for (int j = 0; j < SUMMED; j++) row[j] = square_lanes(x + (r + j) * n, k[r + j].k[0], n);
        row[0] = folded_rows(row);
        for (int j = 0; j < SUMMED; j++) acc[r + j] += row[0][j];
    }
    for (; r < rows; r++) acc[r] += folded_row(square_lanes(x + r * n, k[r].k[0], n));
}
#else
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
#endif
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
#ifdef DOUBLES
/* The same for one row; `part` loads a vector of it or the rest. */
#define SCALED(part)                                      \
    Floats z = (part(x + at) - k.k[0]) * k.k[1] * k.k[2]; \
    if (scale) z *= part(scale + at);                     \
    if (shift) z += part(shift + at);                     \
    else if (!scale) z += k.k[3]
#define WHOLE_VECTOR(p) (*(const Floats *)(p))
#define REST_OF_ROW(p) LOAD_FIRST(p, n - at)
APART ALWAYS void scale_row(float *y, const float *x, RowNumbers k, const float *scale,
                            const float *shift, int64_t n) {
    NOT_CONTRACTED
    int64_t at = 0;
    for (; at + WIDTH <= n; at += WIDTH) {
        SCALED(WHOLE_VECTOR);
        *(Floats *)(y + at) = z;
    }
    if (at == n) return;
    SCALED(REST_OF_ROW);
    STORE_FIRST(y + at, n - at, z);
}
APART static void row_scaled(float *y, const float *x, const RowNumbers *k, const float *scale,
                             const float *shift, int64_t n, int64_t rows) {
    if (scale && shift)
        for (int64_t r = 0; r < rows; r++) scale_row(y + r * n, x + r * n, k[r], scale, shift, n);
    else if (scale)
        for (int64_t r = 0; r < rows; r++) scale_row(y + r * n, x + r * n, k[r], scale, NULL, n);
    else if (shift)
        for (int64_t r = 0; r < rows; r++) scale_row(y + r * n, x + r * n, k[r], NULL, shift, n);
    else
        for (int64_t r = 0; r < rows; r++) scale_row(y + r * n, x + r * n, k[r], NULL, NULL, n);
}
#else
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
#endif
