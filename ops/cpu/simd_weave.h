/* simd_weave.h -- K runs of n elements of 4 bytes each, `stride` apart, into one in which they take
   turns, and back: channels or pixels that are shuffled; and planes of them transposed. Included by
   simd_body.h. */
#define DEFINE_WEAVE(K)                                                                       \
    static void weave_##K(uint32_t *restrict y, const uint32_t *restrict x, int64_t stride,   \
                          int64_t n) {                                                        \
        for (int64_t i = 0; i < n; i++)                                                       \
            for (int j = 0; j < K; j++) y[i * K + j] = x[j * stride + i];                     \
    }                                                                                         \
    static void unweave_##K(uint32_t *restrict y, const uint32_t *restrict x, int64_t stride, \
                            int64_t n) {                                                      \
        for (int64_t i = 0; i < n; i++)                                                       \
            for (int j = 0; j < K; j++) y[j * stride + i] = x[i * K + j];                     \
    }
DEFINE_WEAVE(2)
DEFINE_WEAVE(3)
DEFINE_WEAVE(4)
DEFINE_WEAVE(8)

/* Four by four by two rounds of exchanges, as in Eklundh, A fast computer method for matrix
   transposing, 1972. */
typedef uint32_t Quad __attribute__((vector_size(16), aligned(4), may_alias));
static inline void transpose_quads(uint32_t *y, int64_t ys, const uint32_t *x, int64_t xs) {
    const Quad a = *(const Quad *)x, b = *(const Quad *)(x + xs), c = *(const Quad *)(x + 2 * xs),
               d = *(const Quad *)(x + 3 * xs);
    const Quad ac = __builtin_shufflevector(a, c, 0, 4, 1, 5),
               ca = __builtin_shufflevector(a, c, 2, 6, 3, 7),
               bd = __builtin_shufflevector(b, d, 0, 4, 1, 5),
               db = __builtin_shufflevector(b, d, 2, 6, 3, 7);
    *(Quad *)y = __builtin_shufflevector(ac, bd, 0, 4, 1, 5);
    *(Quad *)(y + ys) = __builtin_shufflevector(ac, bd, 2, 6, 3, 7);
    *(Quad *)(y + 2 * ys) = __builtin_shufflevector(ca, db, 0, 4, 1, 5);
    *(Quad *)(y + 3 * ys) = __builtin_shufflevector(ca, db, 2, 6, 3, 7);
}
/* In tiles of a cache line each way. */
static void transpose(uint32_t *y, int64_t ys, const uint32_t *x, int64_t xs, int64_t rows,
                      int64_t columns) {
    enum { TILE = 16 };
    const int64_t whole_rows = rows & ~3, whole_columns = columns & ~3;
    for (int64_t c0 = 0; c0 < whole_columns; c0 += TILE)
        for (int64_t r0 = 0; r0 < whole_rows; r0 += TILE)
            for (int64_t c = c0; c < c0 + TILE && c < whole_columns; c += 4)
                for (int64_t r = r0; r < r0 + TILE && r < whole_rows; r += 4)
                    transpose_quads(y + c * ys + r, ys, x + r * xs + c, xs);
    for (int64_t c = 0; c < columns; c++)
        for (int64_t r = c < whole_columns ? whole_rows : 0; r < rows; r++)
            y[c * ys + r] = x[r * xs + c];
}
