/* simd_winograd.h -- the transforms of Winograd's convolution F(4x4, 3x3) (winograd.c), a vector of
   channels at a time; included by simd_body.h. The points are 0, WINOGRAD_A, WINOGRAD_B, their
   negatives, and infinity. */
#define POINT_A ((float)WINOGRAD_A)
#define POINT_B ((float)WINOGRAD_B)
#define A2 (POINT_A * POINT_A)
#define B2 (POINT_B * POINT_B)

/* Transforms six places of the image along an axis, xs vectors apart, into values at the points. */
static inline __attribute__((always_inline)) void to_points(Floats *y, int ys, const Floats *x,
                                                            int xs) {
    const Floats x0 = x[0], x1 = x[xs], x2 = x[2 * xs], x3 = x[3 * xs], x4 = x[4 * xs],
                 x5 = x[5 * xs];
    const Floats even_a = MULTIPLY_floats(x2, -B2, x4), odd_a = MULTIPLY_floats(x1, -B2, x3),
                 even_b = MULTIPLY_floats(x2, -A2, x4), odd_b = MULTIPLY_floats(x1, -A2, x3);
    y[0] = MULTIPLY_floats(x0, A2 * B2, MULTIPLY_floats(x2, -A2 - B2, x4));
    y[ys] = MULTIPLY_floats(odd_a, POINT_A, even_a);
    y[2 * ys] = MULTIPLY_floats(odd_a, -POINT_A, even_a);
    y[3 * ys] = MULTIPLY_floats(odd_b, POINT_B, even_b);
    y[4 * ys] = MULTIPLY_floats(odd_b, -POINT_B, even_b);
    y[5 * ys] = MULTIPLY_floats(x1, A2 * B2, MULTIPLY_floats(x3, -A2 - B2, x5));
}
/* Transforms six values at the points into four places of the output. */
static inline __attribute__((always_inline)) void from_points(Floats *y, int ys, const Floats *x,
                                                              int xs) {
    const Floats sum_a = x[xs] + x[2 * xs], difference_a = x[xs] - x[2 * xs],
                 sum_b = x[3 * xs] + x[4 * xs], difference_b = x[3 * xs] - x[4 * xs];
    y[0] = x[0] + sum_a + sum_b;
    y[ys] = MULTIPLY_floats(difference_b, POINT_B, difference_a * POINT_A);
    y[2 * ys] = MULTIPLY_floats(sum_b, B2, sum_a * A2);
    y[3 * ys] = MULTIPLY_floats(difference_b, B2 * POINT_B,
                                MULTIPLY_floats(difference_a, A2 * POINT_A, x[5 * xs]));
}

static void winograd_enter(float *y, int64_t ys, const float *const cell[WINOGRAD_POINTS],
                           int64_t channels) {
    for (int64_t k = 0; k < channels; k += WIDTH) {
        const int64_t c = k + WIDTH <= channels ? k : channels - WIDTH;
        Floats x[36], t[36];
        UNROLLED_ALL(int i = 0; i < 36; i++) x[i] = *(const Floats *)(cell[i] + c);
        UNROLLED(int j = 0; j < 6; j++) to_points(t + j, 6, x + j, 6);
        UNROLLED(int i = 0; i < 6; i++) to_points(x + 6 * i, 1, t + 6 * i, 1);
        UNROLLED_ALL(int i = 0; i < 36; i++) * (Floats *)(y + i * ys + c) = x[i];
    }
}
static void winograd_leave(const WinogradTile *s) {
    for (int64_t k = 0; k < s->channels; k += WIDTH) {
        const int64_t c = k + WIDTH <= s->channels ? k : s->channels - WIDTH;
        const Floats shift = *(const Floats *)(s->shift + c);
        Floats x[36], t[24], y[16];
        UNROLLED_ALL(int i = 0; i < 36; i++) x[i] = *(const Floats *)(s->x + i * s->xs + c);
        UNROLLED(int j = 0; j < 6; j++) from_points(t + j, 6, x + j, 6);
        UNROLLED(int i = 0; i < 4; i++) from_points(y + 4 * i, 1, t + 6 * i, 1);
        UNROLLED_ALL(int i = 0; i < 16; i++) y[i] += shift;
        for (int i = 0; s->add && i < s->size[0]; i++)
            for (int j = 0; j < s->size[1]; j++)
                y[4 * i + j] += *(const Floats *)(s->add + i * s->adds[0] + j * s->adds[1] + c);
        squash(y, 16, &s->squash);
        for (int i = 0; i < s->size[0]; i++)
            for (int j = 0; j < s->size[1]; j++)
                *(Floats *)(s->y + i * s->ys[0] + j * s->ys[1] + c) = y[4 * i + j];
    }
}
