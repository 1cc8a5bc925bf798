/* simd_peaks.h -- the maximum over some places of an image, for rows of floats; included by
   simd_body.h. */

/* The greater of two vectors; a NaN stays a NaN. MAXIMUM gives the second operand if one of them is
   a NaN, so that one of its two results is a NaN then, and all bits of both are one, too. */
static inline Floats peak_of_two(Floats a, Floats b) {
    return (Floats)((Truths)MAXIMUM(a, b) | (Truths)MAXIMUM(b, a));
}
static void peak_rows(float *y, int64_t ys, const float *x, int64_t xs, const int64_t offset[],
                      int64_t cells, int64_t rows, int64_t n) {
    for (; rows > 0; rows--, y += ys, x += xs) {
        for (int64_t c = 0; c < n && n >= WIDTH; c += WIDTH) {
            const int64_t at = c + WIDTH <= n ? c : n - WIDTH;
            Floats best = *(const Floats *)(x + offset[0] + at);
            for (int64_t t = 1; t < cells; t++)
                best = peak_of_two(*(const Floats *)(x + offset[t] + at), best);
            *(Floats *)(y + at) = best;
        }
        if (n >= WIDTH) continue;
        Floats best = LOAD_FIRST(x + offset[0], n);
        for (int64_t t = 1; t < cells; t++) best = peak_of_two(LOAD_FIRST(x + offset[t], n), best);
        STORE_FIRST(y, n, best);
    }
}
