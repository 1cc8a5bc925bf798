/* simd_onerow.h -- multiplies a row by a matrix that is read once, in place (onerow.c); included by
   simd_body.h. The result for a column does not depend on its neighbours. */

/* Computes y[j] = sum over t < terms of a[t] * b[t * bs + j]. Some rows of b are added at a time,
   each from beginning to end, for as many columns as keep y in the first-level cache. */
enum { ROWS_ADDED = 4, COLUMNS_ADDED = 4096 };
static inline void add_row(float *restrict y, const float *b, float a, int64_t n) {
    EACH y[i] = FMA(a, b[i], y[i]);
}
static inline void add_rows(float *restrict y, const float *a, const float *b, int64_t bs,
                            int64_t n) {
    const float *b1 = b + bs, *b2 = b1 + bs, *b3 = b2 + bs;
    EACH {
        const float two = FMA(a[1], b1[i], FMA(a[0], b[i], y[i]));
        y[i] = FMA(a[3], b3[i], FMA(a[2], b2[i], two));
    }
}
static void row_by_rows(float *y, const float *a, const float *b, int64_t bs, int64_t terms,
                        int64_t columns) {
    for (int64_t at = 0; at < columns; at += COLUMNS_ADDED) {
        const int64_t n = columns - at < COLUMNS_ADDED ? columns - at : COLUMNS_ADDED;
        int64_t t = 0;
        EACH y[at + i] = 0;
        for (; t + ROWS_ADDED <= terms; t += ROWS_ADDED)
            add_rows(y + at, a + t, b + t * bs + at, bs, n);
        for (; t < terms; t++) add_row(y + at, b + t * bs + at, a[t], n);
    }
}

/* Computes y[j] = sum over t < terms of a[t] * b[j * bs + t], for R columns at a time. */
enum { COLUMNS_DOTTED = 4, FOUR = 4 };
typedef float Four __attribute__((vector_size(FOUR * sizeof(float))));
/* The sum of a vector's quarters. */
static inline Four four_sums(Floats x) {
    Four part[WIDTH / FOUR], sum;
    memcpy(part, &x, sizeof part);
    sum = part[0];
    for (int k = 1; k < WIDTH / FOUR; k++) sum += part[k];
    return sum;
}
#define DEFINE_DOTS(R)                                                                      \
    static inline void dots_##R(Four four[R], const float *a, const float *b, int64_t bs,   \
                                int64_t terms) {                                            \
        Floats sum[R][2] = {{{0}}};                                                         \
        int64_t t = 0;                                                                      \
        for (; t + 2 * WIDTH <= terms; t += 2 * WIDTH) {                                    \
            const Floats *from = (const Floats *)(a + t);                                   \
            UNROLLED(int r = 0; r < R; r++)                                                 \
            UNROLLED(int v = 0; v < 2; v++)                                                 \
            sum[r][v] =                                                                     \
                MULTIPLY_floats(((const Floats *)(b + r * bs + t))[v], from[v], sum[r][v]); \
        }                                                                                   \
        for (; t < terms; t += WIDTH) {                                                     \
            const int64_t n = terms - t < WIDTH ? terms - t : WIDTH;                        \
            const Floats some = LOAD_FIRST(a + t, n);                                       \
            UNROLLED(int r = 0; r < R; r++)                                                 \
            sum[r][0] = MULTIPLY_floats(LOAD_FIRST(b + r * bs + t, n), some, sum[r][0]);    \
        }                                                                                   \
        UNROLLED(int r = 0; r < R; r++) four[r] = four_sums(sum[r][0] + sum[r][1]);         \
    }
DEFINE_DOTS(1)
DEFINE_DOTS(4)
/* Each of the four results is the sum of one of the four vectors. */
static inline Four sums_of_four(const Four x[FOUR]) {
    const Four even = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5) +
                      __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7),
               odd = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5) +
                     __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
    return __builtin_shufflevector(even, odd, 0, 1, 4, 5) +
           __builtin_shufflevector(even, odd, 2, 3, 6, 7);
}
static void row_by_columns(float *y, const float *a, const float *b, int64_t bs, int64_t terms,
                           int64_t columns) {
    int64_t j = 0;
    for (; j + COLUMNS_DOTTED <= columns; j += COLUMNS_DOTTED) {
        Four four[COLUMNS_DOTTED];
        dots_4(four, a, b + j * bs, bs, terms);
        const Four sums = sums_of_four(four);
        memcpy(y + j, &sums, sizeof sums);
    }
    for (; j < columns; j++) {
        Four four[FOUR] = {{0}};
        dots_1(four, a, b + j * bs, bs, terms);
        y[j] = sums_of_four(four)[0];
    }
}
