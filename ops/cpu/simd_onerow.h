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
enum { COLUMNS_DOTTED = 4 };
#define DEFINE_DOTS(R)                                                                          \
    static void dots_##R(float *y, const float *a, const float *b, int64_t bs, int64_t terms) { \
        Floats sum[R][2] = {{{0}}};                                                             \
        int64_t t = 0;                                                                          \
        for (; t + 2 * WIDTH <= terms; t += 2 * WIDTH) {                                        \
            const Floats *from = (const Floats *)(a + t);                                       \
            UNROLLED(int r = 0; r < R; r++)                                                     \
            UNROLLED(int v = 0; v < 2; v++)                                                     \
            sum[r][v] =                                                                         \
                MULTIPLY_floats(((const Floats *)(b + r * bs + t))[v], from[v], sum[r][v]);     \
        }                                                                                       \
        for (int r = 0; r < R; r++) {                                                           \
            const Floats both = sum[r][0] + sum[r][1];                                          \
            float lane[WIDTH];                                                                  \
            memcpy(lane, &both, sizeof lane);                                                   \
            for (int w = WIDTH / 2; w >= 1; w /= 2)                                             \
                for (int i = 0; i < w; i++) lane[i] += lane[i + w];                             \
            for (int64_t k = t; k < terms; k++) lane[0] = FMA(a[k], b[r * bs + k], lane[0]);    \
            y[r] = lane[0];                                                                     \
        }                                                                                       \
    }
DEFINE_DOTS(1)
DEFINE_DOTS(4)
static void row_by_columns(float *y, const float *a, const float *b, int64_t bs, int64_t terms,
                           int64_t columns) {
    int64_t j = 0;
    for (; j + COLUMNS_DOTTED <= columns; j += COLUMNS_DOTTED)
        dots_4(y + j, a, b + j * bs, bs, terms);
    for (; j < columns; j++) dots_1(y + j, a, b + j * bs, bs, terms);
}
