/* simd_tap_channels.h -- convolutions in the plain layout, several output channels at a time
   (TapChannels: simd.h; taps.c); included by simd_body.h. V vectors of places are read of x and
   multiplied by the weights of R channels, with all sums in registers. The terms of a sum are added
   in their order for any tile. */
enum { TAP_VECTORS = 3 };
#define EACH_CHANNEL UNROLLED(int r = 0; r < R_; r++)
#define DEFINE_TAP_CHANNELS(R, V)                                                         \
    static void tap_channels_##R##_##V(const TapChannels *s, int64_t first,               \
                                       const TapTile tile[]) {                            \
        enum { R_ = R, V_ = V };                                                          \
        Floats sum[R * V] = {{0}};                                                        \
        const float *w = s->w + first * s->ws, *scale = s->scale + first,                 \
                    *shift = s->shift + first;                                            \
        const int64_t ws = s->ws, taps = s->taps;                                         \
        for (int64_t t = 0; t < taps; t++) {                                              \
            const float *x = s->x + s->offset[t];                                         \
            Floats from[V];                                                               \
            EACH_VECTOR from[v] = *(const Floats *)(x + tile[v].x);                       \
            EACH_CHANNEL EACH_VECTOR sum[r * V + v] =                                     \
                MULTIPLY_floats(from[v], w[r * ws + t], sum[r * V + v]);                  \
        }                                                                                 \
        EACH_CHANNEL EACH_VECTOR sum[r * V + v] = sum[r * V + v] * scale[r] + shift[r];   \
        squash(sum, R *V, &s->squash);                                                    \
        float *y = s->y + first * s->yc;                                                  \
        EACH_CHANNEL EACH_VECTOR *(Floats *)(y + r * s->yc + tile[v].y) = sum[r * V + v]; \
    }
#define TAP_CHANNELS_OF(R)    \
    DEFINE_TAP_CHANNELS(R, 1) \
    DEFINE_TAP_CHANNELS(R, 2) \
    DEFINE_TAP_CHANNELS(R, 3)
TAP_CHANNELS_OF(1)
TAP_CHANNELS_OF(2)
TAP_CHANNELS_OF(3)
TAP_CHANNELS_OF(4)
#if WIDTH == 16
TAP_CHANNELS_OF(8)
#endif
typedef void TapBlock(const TapChannels *, int64_t first, const TapTile tile[]);
/* Computes the channels from `first` on for all places, in tiles of TAP_VECTORS vectors. The last
   vector of a row overlaps the one before it. */
static void tap_places(const TapChannels *s, int64_t first, TapBlock *const block[TAP_VECTORS]) {
    const int64_t last = s->columns > WIDTH ? s->columns - WIDTH : 0;
    TapTile tile[TAP_VECTORS];
    int n = 0;
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t j = 0; j < s->columns; j += WIDTH) {
            const int64_t column = j < last ? j : last;
            tile[n++] = (TapTile){i * s->xs + column, i * s->ys + column};
            if (n < TAP_VECTORS) continue;
            block[n - 1](s, first, tile);
            n = 0;
        }
    if (n) block[n - 1](s, first, tile);
}
#define TAP_BLOCKS(R) \
    { tap_channels_##R##_1, tap_channels_##R##_2, tap_channels_##R##_3 }
static void tap_channels(const TapChannels *s) {
    static TapBlock *const few[][TAP_VECTORS] = {TAP_BLOCKS(1), TAP_BLOCKS(2), TAP_BLOCKS(3),
                                                 TAP_BLOCKS(4)};
    int64_t c = 0;
#if WIDTH == 16
    static TapBlock *const many[] = TAP_BLOCKS(8);
    for (; c + 8 <= s->channels; c += 8) tap_places(s, c, many);
#endif
    for (; c + 4 <= s->channels; c += 4) tap_places(s, c, few[3]);
    if (c == s->channels) return;
    if (c) tap_places(s, s->channels - 4, few[3]); /* some are computed again */
    else tap_places(s, 0, few[s->channels - 1]);
}
#undef EACH_CHANNEL
