/* simd_weave.h -- interleaves K runs of n elements of 1, 2 or 4 bytes, which are `stride` apart,
   and separates them again, as where channels or pixels are shuffled; also transposes planes of
   such elements. Included by simd_body.h. */
/* Runs that are too short for a loop over registers to pay are moved 16 or 8 elements at a time,
   the last ones overlapping those before. Successive elements are `to` places apart in y and
   `from` places apart in x. */
enum { TURNS_LONG = 128 };
#define DEFINE_TURNS(name, T, to, from, move)                                                      \
    static inline void name##_few(T *restrict y, const T *restrict x, int64_t stride, int64_t n) { \
        EACH for (int j = 0; j < (to) * (from); j++) move;                                         \
    }                                                                                              \
    static void name(void *py, const void *px, int64_t stride, int64_t n) {                        \
        T *y = py;                                                                                 \
        const T *x = px;                                                                           \
        if (n < 8 || n >= TURNS_LONG) name##_few(y, x, stride, n);                                 \
        else if (n < 16) {                                                                         \
            name##_few(y, x, stride, 8);                                                           \
            name##_few(y + (n - 8) * (to), x + (n - 8) * (from), stride, 8);                       \
        } else                                                                                     \
            for (int64_t at = 0; at < n; at += 16) {                                               \
                const int64_t here = at + 16 <= n ? at : n - 16;                                   \
                name##_few(y + here * (to), x + here * (from), stride, 16);                        \
            }                                                                                      \
    }
#define DEFINE_WEAVE(T, K)                                                   \
    DEFINE_TURNS(weave_##T##_##K, T, K, 1, y[i * K + j] = x[j * stride + i]) \
    DEFINE_TURNS(unweave_##T##_##K, T, 1, K, y[j * stride + i] = x[i * K + j])
#define DEFINE_WEAVES(T) DEFINE_WEAVE(T, 2) DEFINE_WEAVE(T, 3) DEFINE_WEAVE(T, 4) DEFINE_WEAVE(T, 8)
DEFINE_WEAVES(uint8_t)
DEFINE_WEAVES(uint16_t)
DEFINE_WEAVES(uint32_t)
#define WEAVES(way, T) \
    { [2] = way##_##T##_2, [3] = way##_##T##_3, [4] = way##_##T##_4, [8] = way##_##T##_8 }

/* Transposes 4 x 4 elements by two rounds of exchanges (Eklundh, A fast computer method for matrix
   transposing, 1972). */
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
/* Transposes in tiles of a cache line each way. */
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

/* Transposes eight rows of 16 bytes by three rounds of perfect shuffles, which interleave each row
   with the one four rows further. The resulting vectors hold two columns of bytes each, or one
   column of pairs of bytes. */
typedef uint8_t Bytes __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint16_t Pairs __attribute__((vector_size(16), aligned(1), may_alias));
#define BYTES_LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define BYTES_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define PAIRS_LOW 0, 8, 1, 9, 2, 10, 3, 11
#define PAIRS_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#define DEFINE_SHUFFLE(V, LOW, HIGH)                                                        \
    static inline void shuffle_##V(V to[8], const V from[8]) {                              \
        UNROLLED(int k = 0; k < 4; k++) {                                                   \
            to[2 * k] = __builtin_shufflevector(from[k], from[k + 4], LOW);                 \
            to[2 * k + 1] = __builtin_shufflevector(from[k], from[k + 4], HIGH);            \
        }                                                                                   \
    }                                                                                       \
    static inline void eight_##V(V row[8], const void *x, int64_t bytes) {                  \
        V other[8];                                                                         \
        UNROLLED(int k = 0; k < 8; k++) row[k] = *(const V *)((const char *)x + k * bytes); \
        shuffle_##V(other, row), shuffle_##V(row, other), shuffle_##V(other, row);          \
        UNROLLED(int k = 0; k < 8; k++) row[k] = other[k];                                  \
    }
DEFINE_SHUFFLE(Bytes, BYTES_LOW, BYTES_HIGH)
DEFINE_SHUFFLE(Pairs, PAIRS_LOW, PAIRS_HIGH)
static inline void few_uint8_t(uint8_t *y, int64_t ys, const uint8_t *x, int64_t xs) {
    Bytes row[8];
    eight_Bytes(row, x, xs);
    UNROLLED(int k = 0; k < 8; k++) {
        memcpy(y + 2 * k * ys, &row[k], 8);
        memcpy(y + (2 * k + 1) * ys, (const char *)&row[k] + 8, 8);
    }
}
static inline void few_uint16_t(uint16_t *y, int64_t ys, const uint16_t *x, int64_t xs) {
    Pairs row[8];
    eight_Pairs(row, x, xs * (int64_t)sizeof *x);
    UNROLLED(int k = 0; k < 8; k++) * (Pairs *)(y + k * ys) = row[k];
}
/* Transposes in tiles of a cache line each way. Remaining rows and columns are done together with
   some of those before. */
#define DEFINE_TRANSPOSE_SMALL(name, T)                                              \
    static void name(void *py, int64_t ys, const void *px, int64_t xs, int64_t rows, \
                     int64_t columns) {                                              \
        enum { TILE = 64 / sizeof(T), HIGH = 8, WIDE = SIMD_SMALL_ROW / sizeof(T) }; \
        T *y = py;                                                                   \
        const T *x = px;                                                             \
        for (int64_t c0 = 0; c0 < columns; c0 += TILE)                               \
            for (int64_t r0 = 0; r0 < rows; r0 += TILE)                              \
                for (int64_t i = c0; i < c0 + TILE && i < columns; i += WIDE)        \
                    for (int64_t j = r0; j < r0 + TILE && j < rows; j += HIGH) {     \
                        const int64_t c = i + WIDE <= columns ? i : columns - WIDE,  \
                                      r = j + HIGH <= rows ? j : rows - HIGH;        \
                        few_##T(y + c * ys + r, ys, x + r * xs + c, xs);             \
                    }                                                                \
    }
DEFINE_TRANSPOSE_SMALL(transpose_pairs, uint16_t)
#ifdef INTERLEAVE_LOW /* defined by simd_x86_64.h */
DEFINE_TRANSPOSE_SMALL(transpose_few_bytes, uint8_t)
/* Sixteen rows of 32 bytes by four rounds of shuffles within the halves of a register, each of
   which then holds one column, and the column 16 places further. */
typedef uint8_t Wide __attribute__((vector_size(32), aligned(1), may_alias));
static inline void shuffle_Wide(Wide to[16], const Wide from[16]) {
    UNROLLED(int k = 0; k < 8; k++) {
        to[2 * k] = INTERLEAVE_LOW(from[k], from[k + 8]);
        to[2 * k + 1] = INTERLEAVE_HIGH(from[k], from[k + 8]);
    }
}
static inline void sixteen_bytes(uint8_t *y, int64_t ys, const uint8_t *x, int64_t xs) {
    Wide row[16], other[16];
    UNROLLED(int k = 0; k < 16; k++) row[k] = *(const Wide *)(x + k * xs);
    shuffle_Wide(other, row), shuffle_Wide(row, other);
    shuffle_Wide(other, row), shuffle_Wide(row, other);
    UNROLLED(int k = 0; k < 16; k++) {
        memcpy(y + k * ys, &row[k], 16);
        memcpy(y + (k + 16) * ys, (const char *)&row[k] + 16, 16);
    }
}
/* What does not fill such blocks goes by the smaller ones. */
static void transpose_bytes(void *py, int64_t ys, const void *px, int64_t xs, int64_t rows,
                            int64_t columns) {
    enum { TILE = 64, HIGH = 16, WIDE = 32 };
    const int64_t high = rows - rows % HIGH, wide = columns - columns % WIDE;
    uint8_t *y = py;
    const uint8_t *x = px;
    if (!high || !wide) {
        transpose_few_bytes(y, ys, x, xs, rows, columns);
        return;
    }
    for (int64_t c0 = 0; c0 < wide; c0 += TILE)
        for (int64_t r0 = 0; r0 < high; r0 += TILE)
            for (int64_t c = c0; c < c0 + TILE && c < wide; c += WIDE)
                for (int64_t r = r0; r < r0 + TILE && r < high; r += HIGH)
                    sixteen_bytes(y + c * ys + r, ys, x + r * xs + c, xs);
    const int64_t down = rows - high < 8 ? rows - 8 : high,
                  right = columns - wide < SIMD_SMALL_ROW ? columns - SIMD_SMALL_ROW : wide;
    if (high < rows) transpose_few_bytes(y + down, ys, x + down * xs, xs, rows - down, columns);
    if (wide < columns)
        transpose_few_bytes(y + right * ys, ys, x + right, xs, rows, columns - right);
}
#else
DEFINE_TRANSPOSE_SMALL(transpose_bytes, uint8_t)
#endif
