/* simd_windows.h -- windows over single channels (ChannelWindows: simd.h); included by simd_body.h.
   A block of places by some vectors of channels is accumulated in registers: each vector of weights
   that is read serves all places of the block. The terms of a sum are added in their order for any
   block. */
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
enum { WINDOW_VECTORS = WIDTH == 16 ? 4 : 2 };
DEFINE_WINDOWS(4, 4)
DEFINE_WINDOWS(1, 4)
DEFINE_WINDOWS(4, 2)
DEFINE_WINDOWS(1, 2)
DEFINE_WINDOWS(8, 1)
DEFINE_WINDOWS(4, 1)
DEFINE_WINDOWS(1, 1)
/* Computes all places, by blocks of 8 if there is such a function, then of 4, then one by one. If a
   block of 4 exists, the remaining places are computed by a block that overlaps the one before. */
typedef void Block(const ChannelWindows *, int64_t place, int64_t channel);
static void windows_places(const ChannelWindows *s, int64_t channel, Block *eight, Block *four,
                           Block *one) {
    int64_t place = 0;
    for (; eight && place + 8 <= s->places; place += 8) eight(s, place, channel);
    for (; place + 4 <= s->places; place += 4) four(s, place, channel);
    if (place < s->places && s->places >= 4) four(s, s->places - 4, channel);
    else
        for (; place < s->places; place++) one(s, place, channel);
}
static void windows_vectors(const ChannelWindows *s, int vectors, int64_t channel) {
    if (vectors == 4) windows_places(s, channel, NULL, windows_4_4, windows_1_4);
    else if (vectors == 2) windows_places(s, channel, NULL, windows_4_2, windows_1_2);
    else windows_places(s, channel, windows_8_1, windows_4_1, windows_1_1);
}
/* Loads the first n floats of a vector, the others being 0, or stores them. */
#ifndef LOAD_FIRST
static inline Floats load_first(const float *x, int64_t n) {
    Floats v = {0};
    memcpy(&v, x, (size_t)n * sizeof *x);
    return v;
}
#define LOAD_FIRST(x, n) load_first(x, n)
#define STORE_FIRST(y, n, v) memcpy(y, &(v), (size_t)(n) * sizeof(float))
#endif
/* For fewer channels than a vector has: only the first n elements of each vector are used. */
#define DEFINE_WINDOWS_PART(R)                                                                  \
    static void windows_part_##R(const ChannelWindows *s, int64_t place, int64_t n) {           \
        enum { R_ = R };                                                                        \
        Floats sum[R] = {{0}};                                                                  \
        const Floats scale = LOAD_FIRST(s->scale, n), shift = LOAD_FIRST(s->shift, n);          \
        const float *x = s->x + place * s->xs;                                                  \
        for (int64_t t = 0; t < s->taps; t++) {                                                 \
            const Floats weight = LOAD_FIRST(s->w + s->cell[t], n);                             \
            const float *from = x + s->tap[t];                                                  \
            EACH_ROW sum[r] = MULTIPLY_floats(LOAD_FIRST(from + r * s->xs, n), weight, sum[r]); \
        }                                                                                       \
        EACH_ROW sum[r] = MULTIPLY_floats(sum[r], scale, shift);                                \
        if (s->add) EACH_ROW sum[r] += LOAD_FIRST(s->add + (place + r) * s->adds, n);           \
        squash(sum, R, &s->squash);                                                             \
        EACH_ROW STORE_FIRST(s->y + (place + r) * s->ys, n, sum[r]);                            \
    }
DEFINE_WINDOWS_PART(8)
DEFINE_WINDOWS_PART(4)
DEFINE_WINDOWS_PART(1)
static void windows(const ChannelWindows *s) {
    int64_t channel = 0;
    int vectors = WINDOW_VECTORS;
    if (s->channels < WIDTH) {
        windows_places(s, s->channels, windows_part_8, windows_part_4, windows_part_1);
        return;
    }
    for (; vectors; vectors /= 2)
        for (; channel + vectors * WIDTH <= s->channels; channel += vectors * WIDTH)
            windows_vectors(s, vectors, channel);
    if (channel < s->channels) windows_vectors(s, 1, s->channels - WIDTH); /* overlaps */
}
