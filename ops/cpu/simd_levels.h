/* simd_levels.h -- multiplies rows by weights that take few values (LevelPanel: simd.h); included
   by simd_body.h.

   A word of a column holds the levels of successive terms, the first one in the lowest bits. Levels
   in the lower half of a word, and in the upper half after it is shifted down, are converted to
   floats without being moved within the word. With the exponent of 2^23 in front, level q at bit s
   is the float 2^23 + q * 2^s, from which 2^23 and the middle level at the same bit are subtracted.
   To compensate, rows hold each term times 2^-s (level_terms). Terms are added in their order for
   any number of rows, so no result depends on which rows are computed together. */
typedef uint32_t Words
    __attribute__((vector_size(WIDTH * sizeof(uint32_t)), aligned(4), may_alias));
typedef int32_t Integers
    __attribute__((vector_size(WIDTH * sizeof(int32_t)), aligned(4), may_alias));
enum { EXPONENT_OF_2_23 = 0x4b000000 };

#define LEVELS_OF(half, BITS)                                                                \
    UNROLLED(int f = 0; f < 16 / BITS; f++) {                                                \
        const uint32_t mask = ((1u << BITS) - 1) << BITS * f;                                \
        const float middle = 0x1p23f + (float)(1u << (BITS - 1) << BITS * f);                \
        Floats q[V_];                                                                        \
        EACH_VECTOR q[v] = (Floats)((word[v] & mask) | (uint32_t)EXPONENT_OF_2_23) - middle; \
        EACH_ROW EACH_VECTOR sum[r * V_ + v] =                                               \
            MULTIPLY_floats(q[v], x[r * as + half * 16 / BITS + f], sum[r * V_ + v]);        \
    }
#define DEFINE_LEVELS(BITS, R, V)                                                             \
    static void levels_##BITS##_##R(const LevelPanel *p, float *y, const float *a,            \
                                    const float *sums) {                                      \
        enum { R_ = R, V_ = V };                                                              \
        const int64_t as = p->as, ys = p->ys, ss = p->ss;                                     \
        for (int64_t at = 0; at < PANEL; at += V * WIDTH) {                                   \
            const uint32_t *w = p->word + at;                                                 \
            const float *x = a, *scale = p->scale + at, *offset = p->offset;                  \
            for (int64_t b = 0, left = p->words; left > 0; b++, left -= p->block) {           \
                const int64_t n = left < p->block ? left : p->block;                          \
                Floats sum[R * V];                                                            \
                EACH_ROW EACH_VECTOR sum[r * V + v] = (Floats){0};                            \
                for (int64_t k = 0; k < n; k++, w += PANEL, x += 32 / BITS) {                 \
                    Words word[V];                                                            \
                    EACH_VECTOR word[v] = ((const Words *)w)[v];                              \
                    LEVELS_OF(0, BITS)                                                        \
                    EACH_VECTOR word[v] >>= 16;                                               \
                    LEVELS_OF(1, BITS)                                                        \
                }                                                                             \
                EACH_ROW EACH_VECTOR {                                                        \
                    Floats *to = (Floats *)(y + r * ys + at + v * WIDTH);                     \
                    *to = MULTIPLY_floats(((const Floats *)(scale + b * PANEL))[v],           \
                                          sum[r * V + v], *to);                               \
                    if (offset)                                                               \
                        *to = MULTIPLY_floats(((const Floats *)(offset + at + b * PANEL))[v], \
                                              sums[r * ss + b], *to);                         \
                }                                                                             \
            }                                                                                 \
        }                                                                                     \
    }
#define DEFINE_LEVELS_OF_BITS(BITS)                                                     \
    DEFINE_LEVELS(BITS, 1, 4)                                                           \
    DEFINE_LEVELS(BITS, 4, (WIDTH == 16 ? 4 : 2))                                       \
    static void levels_##BITS(const LevelPanel *p, int64_t rows) {                      \
        float *y = p->y;                                                                \
        const float *a = p->a, *sums = p->sums;                                         \
        for (; rows >= 4; rows -= 4, y += 4 * p->ys, a += 4 * p->as, sums += 4 * p->ss) \
            levels_##BITS##_4(p, y, a, sums);                                           \
        for (; rows > 0; rows--, y += p->ys, a += p->as, sums += p->ss)                 \
            levels_##BITS##_1(p, y, a, sums);                                           \
    }
DEFINE_LEVELS_OF_BITS(4)
DEFINE_LEVELS_OF_BITS(8)

static void level_terms(float *x, int bits, int64_t n) {
    const float step = bits == 4 ? 0x1p-4f : 0x1p-8f;
    for (int64_t k = 0; k < n; k += 16 / bits) {
        float by = step;
        for (int f = 1; f < 16 / bits; f++, by *= step) x[k + f] *= by;
    }
}

static void level_bytes(int8_t *to, int64_t plane, int32_t sum[3], const float *a, float each,
                        int64_t n) {
    int8_t *low = to, *middle = to + plane, *high = to + 2 * plane;
    int32_t lows = 0, middles = 0, highs = 0;
    EACH {
        const int32_t x = (int32_t)rintf(a[i] * each), y = (x + 128) >> 8, z = (y + 128) >> 8;
        low[i] = (int8_t)x, middle[i] = (int8_t)y, high[i] = (int8_t)z;
    }
    for (int64_t i = 0; i < n; i++) lows += low[i], middles += middle[i], highs += high[i];
    sum[0] = lows, sum[1] = middles, sum[2] = highs;
}

/* Adds the sums over three planes of bytes to vector v of y. */
static inline __attribute__((always_inline)) void add_plane_sums(const LevelPanel *p, float *y,
                                                                 const float *beside,
                                                                 const Integers sum[3], int v) {
    Floats *to = (Floats *)(y + v * WIDTH), all = __builtin_convertvector(sum[0], Floats);
    all = MULTIPLY_floats(__builtin_convertvector(sum[1], Floats), 0x1p8f, all);
    all = MULTIPLY_floats(__builtin_convertvector(sum[2], Floats), 0x1p16f, all);
    all = MULTIPLY_floats(all, beside[0], (Floats){0});
    *to = MULTIPLY_floats(((const Floats *)p->scale)[v], all, *to);
    if (p->offset) *to = MULTIPLY_floats(((const Floats *)p->offset)[v], beside[1], *to);
}
static void add_planes(const LevelPanel *p, const int32_t *sum, int64_t rows) {
    enum { PLANE = TILE_ROWS_MOST * PANEL };
    for (int64_t r = 0; r < rows; r++) {
        const float *beside = p->sums + r * p->ss;
        const int32_t *start = (const int32_t *)beside + 2;
        for (int v = 0; v < PANEL / WIDTH; v++) {
            const Integers *from = (const Integers *)(sum + r * PANEL + v * WIDTH),
                           all[3] = {from[0] + start[0],
                                     *(const Integers *)((const int32_t *)from + PLANE) + start[1],
                                     *(const Integers *)((const int32_t *)from + 2 * PLANE) +
                                         start[2]};
            add_plane_sums(p, p->y + r * p->ys, beside, all, v);
        }
    }
}

enum { AHEAD = 16 }; /* how many words ahead a column is prefetched */
#ifdef FOUR_PRODUCTS /* defined by simd_x86_64.h for some widths */
#define DEFINE_LEVELS_BY_BYTES(R)                                                                 \
    FOR_FOUR_PRODUCTS static void levels_by_bytes_##R(const LevelPanel *p, float *y,              \
                                                      const float *a, const float *beside) {      \
        enum { R_ = R, V_ = PANEL / WIDTH };                                                      \
        const int64_t as = p->as, ys = p->ys, ss = p->ss, n = p->words;                           \
        const int32_t *plane = (const int32_t *)a, *start = (const int32_t *)beside + 2;          \
        const uint32_t *w = p->word;                                                              \
        Integers sum[3][R * V_];                                                                  \
        for (int i = 0; i < 3; i++)                                                               \
            EACH_ROW EACH_VECTOR sum[i][r * V_ + v] = (Integers){0} + start[r * ss + i];          \
        for (int64_t k = 0; k < n; k++, w += PANEL, plane++) {                                    \
            Integers word[V_];                                                                    \
            EACH_VECTOR word[v] = ((const Integers *)w)[v];                                       \
            EACH_VECTOR IN_REGISTER(word[v]);                                                     \
            EACH_VECTOR __builtin_prefetch(w + AHEAD * PANEL + v * WIDTH, 0, 3);                  \
            UNROLLED(int i = 0; i < 3; i++)                                                       \
            EACH_ROW EACH_VECTOR sum[i][r * V_ + v] =                                             \
                FOUR_PRODUCTS(sum[i][r * V_ + v], word[v], plane[r * as + i * n]);                \
        }                                                                                         \
        EACH_ROW EACH_VECTOR {                                                                    \
            const Integers all[3] = {sum[0][r * V_ + v], sum[1][r * V_ + v], sum[2][r * V_ + v]}; \
            add_plane_sums(p, y + r * ys, beside + r * ss, all, v);                               \
        }                                                                                         \
    }
DEFINE_LEVELS_BY_BYTES(1)
DEFINE_LEVELS_BY_BYTES(2)
static void levels_by_bytes(const LevelPanel *p, int64_t rows) {
    float *y = p->y;
    const float *a = p->a, *beside = p->sums;
    for (; rows >= 2; rows -= 2, y += 2 * p->ys, a += 2 * p->as, beside += 2 * p->ss)
        levels_by_bytes_2(p, y, a, beside);
    if (rows) levels_by_bytes_1(p, y, a, beside);
}
#define LEVELS_BY_BYTES levels_by_bytes
#else
#define LEVELS_BY_BYTES NULL
#endif
