/* simd_taps.h -- the inner loops of convolutions with few input channels (taps.c); included by
   simd_body.h. */

/* ---- sums of shifted runs: by blocks of many vectors, of a few, of one, then by single
   elements */
#define DEFINE_TAPS(name, VECTORS)                                                                 \
    static void name(float *y, const float *x, const int64_t offset[], const float w[],            \
                     int64_t ntap) {                                                               \
        Floats sum[VECTORS] = {{0}};                                                               \
        for (int64_t t = 0; t < ntap; t++) {                                                       \
            const Floats *from = (const Floats *)(x + offset[t]);                                  \
            UNROLLED(int v = 0; v < VECTORS; v++) sum[v] = MULTIPLY_floats(from[v], w[t], sum[v]); \
        }                                                                                          \
        UNROLLED(int v = 0; v < VECTORS; v++)((Floats *)y)[v] = sum[v];                            \
    }
DEFINE_TAPS(taps_block, SUMS)
DEFINE_TAPS(taps_few, SUMS / 4)
DEFINE_TAPS(taps_vector, 1)
static void taps(float *y, const float *x, const int64_t offset[], const float w[], int64_t ntap,
                 int64_t n) {
    enum { FEW = SUMS / 4 * WIDTH };
    int64_t at = 0;
    for (; at + SUMS * WIDTH <= n; at += SUMS * WIDTH) taps_block(y + at, x + at, offset, w, ntap);
    for (; at + FEW <= n; at += FEW) taps_few(y + at, x + at, offset, w, ntap);
    if (n >= FEW && n > at + WIDTH) { /* some are computed again */
        taps_few(y + n - FEW, x + n - FEW, offset, w, ntap);
        return;
    }
    for (; at + WIDTH <= n; at += WIDTH) taps_vector(y + at, x + at, offset, w, ntap);
    if (at == n) return;
    if (n >= WIDTH) { /* likewise */
        taps_vector(y + n - WIDTH, x + n - WIDTH, offset, w, ntap);
        return;
    }
    for (int64_t i = at; i < n; i++) y[i] = 0;
    for (int64_t t = 0; t < ntap; t++)
        float_scale_add(y + at, x + offset[t] + at, 1, w + t, n - at);
}

/* ---- maxima of products; most elements have a single weight (w equals least) */
static void tap_peaks(float *restrict y, const float *restrict x, const int64_t offset[],
                      const float w[], const float least[], int64_t ntap, float start, int64_t n) {
    EACH y[i] = start;
    for (int64_t t = 0; t < ntap; t++) {
        const float *from = x + offset[t], a = w[t], b = least[t];
        EACH y[i] = a * from[i] > y[i] ? a * from[i] : y[i];
        if (a != b) EACH y[i] = b * from[i] > y[i] ? b * from[i] : y[i];
    }
}

/* ---- windows over rows (TapRows: simd.h), in tiles of TAP_ROWS rows by one vector, of which
   TAP_TILES stay in registers. A vector of x is read once and used for all rows of its tile whose
   windows reach it. The terms of a sum are added in their order for any tile. */
enum { TAP_TILES = SUMS / TAP_ROWS };
typedef struct TapTile {
    int64_t x, y; /* where it begins in x and y */
} TapTile;
/* Rows low..high of the tiles read this row of x. */
#define TAP_RANGE(low, high) ((low)*TAP_ROWS + (high))
#define TAP_CASE(TILES, LOW, HIGH)                                                \
    case TAP_RANGE(LOW, HIGH):                                                    \
        for (int64_t k = 0; k < s->width; k++) {                                  \
            Floats from[TILES];                                                   \
            UNROLLED(int v = 0; v < TILES; v++)                                   \
            from[v] = *(const Floats *)(x + s->column[k] + tile[v].x);            \
            UNROLLED(int r = LOW; r <= HIGH; r++)                                 \
            UNROLLED(int v = 0; v < TILES; v++)                                   \
            sum[r][v] = MULTIPLY_floats(from[v], w[k - r * s->width], sum[r][v]); \
        }                                                                         \
        break;
#define DEFINE_TAP_TILES(TILES)                                                                 \
    static void tap_tiles_##TILES(const TapRows *s, const TapTile tile[]) {                     \
        Floats sum[TAP_ROWS][TILES] = {{{0}}};                                                  \
        for (int64_t p = 0; p < s->planes; p++) {                                               \
            const float *x = s->x + s->plane[p], *w = s->w + p * s->height * s->width;          \
            for (int64_t i = 0; i < s->height + TAP_ROWS - 1; i++, x += s->xs, w += s->width) { \
                const int64_t low = i < s->height ? 0 : i - s->height + 1,                      \
                              high = i < TAP_ROWS ? i : TAP_ROWS - 1;                           \
                switch (TAP_RANGE(low, high)) {                                                 \
                    TAP_CASE(TILES, 0, 0)                                                       \
                    TAP_CASE(TILES, 0, 1)                                                       \
                    TAP_CASE(TILES, 0, 2)                                                       \
                    TAP_CASE(TILES, 0, 3)                                                       \
                    TAP_CASE(TILES, 1, 1)                                                       \
                    TAP_CASE(TILES, 1, 2)                                                       \
                    TAP_CASE(TILES, 1, 3)                                                       \
                    TAP_CASE(TILES, 2, 2)                                                       \
                    TAP_CASE(TILES, 2, 3)                                                       \
                    TAP_CASE(TILES, 3, 3)                                                       \
                default: break;                                                                 \
                }                                                                               \
            }                                                                                   \
        }                                                                                       \
        UNROLLED(int v = 0; v < TILES; v++)                                                     \
        UNROLLED(int r = 0; r < TAP_ROWS; r++)                                                  \
        *(Floats *)(s->y + tile[v].y + r * s->ys) = sum[r][v];                                  \
    }
DEFINE_TAP_TILES(1)
DEFINE_TAP_TILES(2)
#if WIDTH == 16
DEFINE_TAP_TILES(4)
#define TAP_TILES_MOST tap_tiles_4
#else
#define TAP_TILES_MOST tap_tiles_2
#endif
_Static_assert(TAP_TILES == (WIDTH == 16 ? 4 : 2), "tiles that registers hold");
/* Tile k, where `across` tiles lie side by side. The last tiles of rows and of columns overlap
   those before them. If a row is shorter than a vector, its tile is longer than the row. */
static TapTile tap_tile(const TapRows *s, int64_t across, int64_t k) {
    const int64_t i = k / across * TAP_ROWS, j = k % across * WIDTH, last_row = s->rows - TAP_ROWS,
                  last = s->columns > WIDTH ? s->columns - WIDTH : 0,
                  row = i < last_row ? i : last_row, column = j < last ? j : last;
    return (TapTile){row * s->xs + column, row * s->ys + column};
}
static void tap_rows(const TapRows *s) {
    const int64_t across = (s->columns + WIDTH - 1) / WIDTH,
                  tiles = across * ((s->rows + TAP_ROWS - 1) / TAP_ROWS);
    TapTile tile[TAP_TILES];
    for (int64_t k = 0; k < tiles;) {
        const int64_t left = tiles - k, n = left >= TAP_TILES ? TAP_TILES : left >= 2 ? 2 : 1;
        for (int v = 0; v < n; v++) tile[v] = tap_tile(s, across, k + v);
        (n == TAP_TILES ? TAP_TILES_MOST : n == 2 ? tap_tiles_2 : tap_tiles_1)(s, tile);
        k += n;
    }
}
