/* simd_recurrent.h -- the inner loops of recurrent operators (recurrent.c); included by
   simd_body.h. Gates follow each other in ONNX's order, n numbers each. x holds the sums over the
   input, g the sums over the state. */

/* Multiplies a block of rows by one panel, some columns at a time. Terms are added in order, so
   that no result depends on which rows are computed together. */
#define DEFINE_PANEL(ROWS)                                                                         \
    static void panel_##ROWS(float *y, int64_t ys, const float *start, const float *a, int64_t as, \
                             const float *p, int64_t n) {                                          \
        enum { VECTORS = SUMS / ROWS * WIDTH > PANEL ? PANEL / WIDTH : SUMS / ROWS };              \
        for (int64_t at = 0; at < PANEL; at += VECTORS * WIDTH) {                                  \
            Floats sum[ROWS][VECTORS];                                                             \
            UNROLLED(int r = 0; r < ROWS; r++)                                                     \
            UNROLLED(int v = 0; v < VECTORS; v++) sum[r][v] = ((const Floats *)(start + at))[v];   \
            for (int64_t k = 0; k < n; k++) {                                                      \
                const Floats *w = (const Floats *)(p + k * PANEL + at);                            \
                UNROLLED(int r = 0; r < ROWS; r++)                                                 \
                UNROLLED(int v = 0; v < VECTORS; v++)                                              \
                sum[r][v] = MULTIPLY_floats(w[v], a[r * as + k], sum[r][v]);                       \
            }                                                                                      \
            UNROLLED(int r = 0; r < ROWS; r++)                                                     \
            UNROLLED(int v = 0; v < VECTORS; v++)((Floats *)(y + r * ys + at))[v] = sum[r][v];     \
        }                                                                                          \
    }
DEFINE_PANEL(1)
DEFINE_PANEL(4)
static void panel(float *y, int64_t ys, const float *start, const float *a, int64_t as,
                  int64_t rows, const float *p, int64_t n) {
    for (; rows >= 4; rows -= 4, y += 4 * ys, a += 4 * as) panel_4(y, ys, start, a, as, p, n);
    for (; rows > 0; rows--, y += ys, a += as) panel_1(y, ys, start, a, as, p, n);
}

/* Each loop exists twice, once for each value of its flag, because the compiler does not vectorize
   a choice that does not depend on the element. */
#define EACH_KNOWING(flag, body) \
    do {                         \
        if (flag) EACH {         \
                body(true, i)    \
            }                    \
        else EACH {              \
                body(false, i)   \
            }                    \
    } while (0)

static void lstm(float *h, float *cell, const float *x, const float *g, const float *peephole,
                 bool coupled, int64_t n) {
#define LSTM(coupled, i)                                                                        \
    const float c = cell[i], in = sigmoid_float(x[i] + g[i] + peephole[i] * c),                 \
                forget =                                                                        \
                    (coupled)                                                                   \
                        ? 1 - in                                                                \
                        : sigmoid_float(x[2 * n + i] + g[2 * n + i] + peephole[2 * n + i] * c), \
                next = forget * c + in * tanh_float(x[3 * n + i] + g[3 * n + i]),               \
                out = sigmoid_float(x[n + i] + g[n + i] + peephole[n + i] * next);              \
    cell[i] = next;                                                                             \
    h[i] = out * tanh_float(next);
    EACH_KNOWING(coupled, LSTM);
#undef LSTM
}
static void gru_reset(float *y, const float *h, const float *x, const float *g, int64_t n) {
    EACH y[i] = sigmoid_float(x[n + i] + g[n + i]) * h[i];
}
static void gru(float *h, const float *x, const float *g, bool linear_first, int64_t n) {
#define GRU(linear_first, i)                                                               \
    const float update = sigmoid_float(x[i] + g[i]),                                       \
                inner = (linear_first) ? sigmoid_float(x[n + i] + g[n + i]) * g[2 * n + i] \
                                       : g[2 * n + i],                                     \
                next = tanh_float(x[2 * n + i] + inner);                                   \
    h[i] = (1 - update) * next + update * h[i];
    EACH_KNOWING(linear_first, GRU);
#undef GRU
}
static void rnn(float *h, const float *x, const float *g, bool relu, int64_t n) {
#define RNN(relu, i)             \
    const float z = x[i] + g[i]; \
    h[i] = (relu) ? (z < 0 ? 0 : z) : tanh_float(z);
    EACH_KNOWING(relu, RNN);
#undef RNN
}
