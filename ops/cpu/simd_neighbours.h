/* simd_neighbours.h -- sums of elements at equal distances, at every place of a row of floats
   (neighbours.c); included by simd_body.h. */

/* Vectors whose sums are computed together. */
enum { TOGETHER = 4 };
ALWAYS void add_vectors(float *y, const float *x, int64_t apart, int64_t terms, bool more,
                        int vectors) {
    Floats sum[TOGETHER];
    UNROLLED(int v = 0; v < vectors; v++) sum[v] = *(const Floats *)(x + v * WIDTH);
    for (int64_t t = 1; t < terms; t++) {
        x += apart;
        UNROLLED(int v = 0; v < vectors; v++) sum[v] += *(const Floats *)(x + v * WIDTH);
    }
    UNROLLED(int v = 0; v < vectors; v++) {
        if (more) sum[v] += *(const Floats *)(y + v * WIDTH);
        *(Floats *)(y + v * WIDTH) = sum[v];
    }
}
static void add_neighbours(float *y, const float *x, int64_t apart, int64_t terms, int64_t n,
                           bool more) {
    int64_t i = 0;
    for (; i + TOGETHER * WIDTH <= n; i += TOGETHER * WIDTH)
        add_vectors(y + i, x + i, apart, terms, more, TOGETHER);
    for (; i + WIDTH <= n; i += WIDTH) add_vectors(y + i, x + i, apart, terms, more, 1);
    if (i == n) return;
    Floats sum = LOAD_FIRST(x + i, n - i);
    for (int64_t t = 1; t < terms; t++) sum += LOAD_FIRST(x + i + t * apart, n - i);
    if (more) sum += LOAD_FIRST(y + i, n - i);
    STORE_FIRST(y + i, n - i, sum);
}
