/* simd_sweep.h -- multiplies rows by a panel of weights (Sweep: simd.h); included by simd_body.h. A
   block of rows times all columns of a panel is accumulated in registers: each vector of columns
   that is read takes part in as many products as there are rows. The terms of a sum are added in
   their order for any block, so no result depends on which rows are computed together. */
#ifndef MAXIMUM /* otherwise simd_x86_64.h has defined them */
typedef int32_t Masks __attribute__((vector_size(WIDTH * sizeof(int32_t)), may_alias));
static inline Floats select_floats(Masks where, Floats a, Floats b) {
    return (Floats)((where & (Masks)a) | (~where & (Masks)b));
}
#define MAXIMUM(a, b) select_floats((b) < (a), a, b)
#define MINIMUM(a, b) select_floats((b) > (a), a, b)
#endif

#define UNROLLED_ALL _Pragma("GCC unroll 32") for
/* Applies a Squash to n registers. A NaN stays a NaN, because MAXIMUM and MINIMUM return their
   second operand then. */
static inline __attribute__((always_inline)) void squash(Floats x[], int n, const Squash *s) {
    const Floats zero = {0}, one = zero + 1, low = zero + s->low, high = zero + s->high;
    if (s->gate) {
        const Floats slope = zero + s->slope, shift = zero + s->shift;
        UNROLLED_ALL(int i = 0; i < n; i++)
        x[i] *= MINIMUM(one, MAXIMUM(zero, MULTIPLY_floats(x[i], slope, shift)));
    }
    UNROLLED_ALL(int i = 0; i < n; i++) x[i] = MINIMUM(high, MAXIMUM(low, x[i]));
}

/* In the following, r is a row of the block and v a vector of the panel. */
#define EACH_ROW UNROLLED(int r = 0; r < R_; r++)
#define EACH_VECTOR UNROLLED(int v = 0; v < V_; v++)
#define PLACE(v) ((v) < V_ - 1 ? (v)*WIDTH : last)
#define DEFINE_SWEEP(R, V)                                                                       \
    static void sweep_##R##_##V(const Sweep *s, const float *a, float *y, const float *add,      \
                                const float *ahead) {                                            \
        enum { R_ = R, V_ = V };                                                                 \
        Floats sum[R * V];                                                                       \
        const float *w = s->panel;                                                               \
        const int64_t as = s->as, ys = s->ys, adds = s->adds, last = s->last, n = s->n;          \
        EACH_ROW EACH_VECTOR sum[r * V + v] = ((const Floats *)s->start)[v];                     \
        EACH_ROW EACH_VECTOR __builtin_prefetch(y + r * ys + v * WIDTH, 1, 3);                   \
        for (int i = 0; i < s->runs; i++) {                                                      \
            const float *x = a + s->run[i];                                                      \
            for (int64_t k = 0; k < n; k++, w += V * WIDTH, ahead += LINE) {                     \
                Floats column[V];                                                                \
                __builtin_prefetch(ahead, 0, 2);                                                 \
                EACH_VECTOR column[v] = ((const Floats *)w)[v];                                  \
                EACH_ROW EACH_VECTOR sum[r * V + v] =                                            \
                    MULTIPLY_floats(column[v], x[r * as + k], sum[r * V + v]);                   \
            }                                                                                    \
        }                                                                                        \
        if (add)                                                                                 \
            EACH_ROW EACH_VECTOR sum[r * V + v] += *(const Floats *)(add + r * adds + PLACE(v)); \
        squash(sum, R *V, &s->squash);                                                           \
        EACH_ROW EACH_VECTOR *(Floats *)(y + r * ys + PLACE(v)) = sum[r * V + v];                \
    }
#define ROWS_TO_6(X, V) \
    X(1, V)             \
    X(2, V)             \
    X(3, V)             \
    X(4, V)             \
    X(5, V)             \
    X(6, V)
#define ROWS_TO_8(X, V)     \
    ROWS_TO_6(X, V) X(7, V) \
    X(8, V)
#define ROWS_TO_12(X, V)    \
    ROWS_TO_8(X, V) X(9, V) \
    X(10, V)                \
    X(11, V)                \
    X(12, V)
/* X(rows, vectors): the blocks that fit into the registers. */
#if WIDTH == 16
#define SWEEPS(X) ROWS_TO_12(X, 1) ROWS_TO_12(X, 2) ROWS_TO_8(X, 3) ROWS_TO_6(X, 4)
static const int sweep_rows[] = {0, 12, 12, 8, 6};
enum { SWEEP_VECTORS = 4 };
#else
#define SWEEPS(X) ROWS_TO_12(X, 1) ROWS_TO_6(X, 2)
static const int sweep_rows[] = {0, 12, 6};
enum { SWEEP_VECTORS = 2 };
#endif
enum { LINE = 16 }; /* floats of a cache line */
SWEEPS(DEFINE_SWEEP)

static const float *sweep(const Sweep *s, int vectors, int64_t rows) {
    typedef void Rows(const Sweep *, const float *, float *, const float *, const float *);
#define SWEEP_ENTRY(R, V) [V][R] = sweep_##R##_##V,
    static Rows *const of[SWEEP_VECTORS + 1][13] = {SWEEPS(SWEEP_ENTRY)};
    const int most = sweep_rows[vectors];
    const int64_t blocks = (rows + most - 1) / most;
    const float *ahead = s->ahead;
    for (int64_t i = 0; i < blocks; i++) {
        const int64_t from = rows * i / blocks, to = rows * (i + 1) / blocks;
        of[vectors][to - from](s, s->a + from * s->as, s->y + from * s->ys,
                               s->add ? s->add + from * s->adds : NULL, ahead);
        ahead = ahead < s->ahead_end ? ahead + s->runs * s->n * LINE : s->panel;
    }
    return ahead;
}
