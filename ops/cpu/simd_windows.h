/* simd_windows.h -- windows over single channels (ChannelWindows: simd.h); included by simd_body.h.
   A block of places by some vectors of channels is accumulated in registers: each vector of weights
   that is read serves all places of the block. The terms of a sum are added in their order,
   whatever the block. */
#define DEFINE_WINDOWS(R, V)                                                                 \
    static void windows_##R##_##V(const ChannelWindows *s, int64_t place, int64_t channel) { \
        enum { R_ = R, V_ = V };                                                             \
        Floats sum[R * V] = {{0}};                                                           \
        const float *x = s->x + place * s->xs + channel, *w = s->w + channel;                \
        for (int64_t t = 0; t < s->taps; t++) {                                              \
            const Floats *weight = (const Floats *)(w + s->cell[t]);                         \
            const float *from = x + s->tap[t];                                               \
            EACH_ROW EACH_VECTOR sum[r * V + v] = MULTIPLY_floats(                           \
                ((const Floats *)(from + r * s->xs))[v], weight[v], sum[r * V + v]);         \
        }                                                                                    \
        EACH_ROW EACH_VECTOR sum[r * V + v] =                                                \
            MULTIPLY_floats(sum[r * V + v], ((const Floats *)(s->scale + channel))[v],       \
                            ((const Floats *)(s->shift + channel))[v]);                      \
        if (s->add)                                                                          \
            EACH_ROW EACH_VECTOR sum[r * V + v] +=                                           \
                ((const Floats *)(s->add + (place + r) * s->adds + channel))[v];             \
        squash(sum, R *V, &s->squash);                                                       \
        EACH_ROW EACH_VECTOR((Floats *)(s->y + (place + r) * s->ys + channel))[v] =          \
            sum[r * V + v];                                                                  \
    }
enum { WINDOW_VECTORS = WIDTH == 16 ? 4 : 2, WINDOW_PLACES = 4 };
DEFINE_WINDOWS(4, 4)
DEFINE_WINDOWS(1, 4)
DEFINE_WINDOWS(4, 2)
DEFINE_WINDOWS(1, 2)
DEFINE_WINDOWS(4, 1)
DEFINE_WINDOWS(1, 1)
static void windows_vectors(const ChannelWindows *s, int vectors, int64_t channel) {
    typedef void Block(const ChannelWindows *, int64_t, int64_t);
    Block *const many = vectors == 4   ? windows_4_4
                        : vectors == 2 ? windows_4_2
                                       : windows_4_1,
                 *const one = vectors == 4   ? windows_1_4
                              : vectors == 2 ? windows_1_2
                                             : windows_1_1;
    int64_t place = 0;
    for (; place + WINDOW_PLACES <= s->places; place += WINDOW_PLACES) many(s, place, channel);
    for (; place < s->places; place++) one(s, place, channel);
}
/* Fewer channels than a vector has: the same sums in vectors of which so many count. */
static void windows_rest(const ChannelWindows *s, int64_t channel) {
    const int64_t n = s->channels - channel;
    for (int64_t place = 0; place < s->places; place++) {
        float y[WIDTH];
        for (int64_t c = 0; c < n; c++) {
            const int64_t at = channel + c;
            float sum = 0;
            for (int64_t t = 0; t < s->taps; t++)
                sum = MULTIPLY_float(s->w[s->cell[t] + at], s->x[place * s->xs + s->tap[t] + at],
                                     sum);
            y[c] = MULTIPLY_float(sum, s->scale[at], s->shift[at]);
            if (s->add) y[c] += s->add[place * s->adds + at];
        }
        for (int64_t c = n; c < WIDTH; c++) y[c] = 0;
        squash((Floats *)y, 1, &s->squash);
        for (int64_t c = 0; c < n; c++) s->y[place * s->ys + channel + c] = y[c];
    }
}
static void windows(const ChannelWindows *s) {
    int64_t channel = 0;
    int vectors = WINDOW_VECTORS;
    for (; vectors; vectors /= 2)
        for (; channel + vectors * WIDTH <= s->channels; channel += vectors * WIDTH)
            windows_vectors(s, vectors, channel);
    if (channel == s->channels) return;
    if (s->channels >= WIDTH) windows_vectors(s, 1, s->channels - WIDTH); /* some once more */
    else windows_rest(s, channel);
}
