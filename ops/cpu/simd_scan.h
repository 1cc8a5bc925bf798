/* simd_scan.h -- cumulative sums and products (Cumulation: simd.h); included by simd_body.h.
   Integers wrap, so unsigned types of the same width serve both signs. For adjacent columns, some
   rows are added at a time, with results in registers. If they are few or short, a piece of them is
   computed down all rows; the last piece may overlap the one before. For columns that lie apart,
   some columns are computed together, because each sum waits for the one before. */

/* Columns are computed in pieces if there are fewer than SCAN_LEAST, or fewer than SCAN_FEW with at
   most SCAN_ALL elements in all, or if they have at most SCAN_SHORT elements. */
enum { SCAN_BESIDE = 512, SCAN_LEAST = 8, SCAN_ROWS = 4 };
enum { SCAN_PIECE = 4, SCAN_FEW = 64, SCAN_ALL = 4096, SCAN_SHORT = 16 };
#define ALWAYS static inline __attribute__((always_inline))
/* Not in place, because pieces overlap. */
static inline bool scan_by_pieces(const Cumulation *s) {
    const bool few = s->n < SCAN_FEW && s->n * s->length <= SCAN_ALL;
    return s->yn == 1 && s->xn == 1 && s->y != s->x && s->n >= SCAN_PIECE &&
           (s->n < SCAN_LEAST || few || s->length <= SCAN_SHORT);
}
#define DEFINE_SCAN(name, W, T, FROM, TO, OP, FIRST)                                              \
    ALWAYS W name##_step(T *y, W before, T element, bool exclusive) {                             \
        const W after = (W)(before OP(W) FROM(element));                                          \
        *y = (T)TO(exclusive ? before : after);                                                   \
        return after;                                                                             \
    }                                                                                             \
    ALWAYS void name##_beside(const Cumulation *s, T *y, const T *x, int64_t n, bool exclusive) { \
        const int64_t ys = s->ys, xs = s->xs;                                                     \
        int64_t j = 0;                                                                            \
        W acc[SCAN_BESIDE];                                                                       \
        EACH acc[i] = FIRST;                                                                      \
        for (; j + SCAN_ROWS <= s->length;                                                        \
             j += SCAN_ROWS, y += SCAN_ROWS * ys, x += SCAN_ROWS * xs)                            \
            EACH {                                                                                \
                W z = name##_step(y + i, acc[i], x[i], exclusive);                                \
                z = name##_step(y + ys + i, z, x[xs + i], exclusive);                             \
                z = name##_step(y + 2 * ys + i, z, x[2 * xs + i], exclusive);                     \
                acc[i] = name##_step(y + 3 * ys + i, z, x[3 * xs + i], exclusive);                \
            }                                                                                     \
        for (; j < s->length; j++, y += ys, x += xs)                                              \
            EACH acc[i] = name##_step(y + i, acc[i], x[i], exclusive);                            \
    }                                                                                             \
    ALWAYS void name##_pieces(const Cumulation *s, int piece, bool exclusive) {                   \
        const int64_t ys = s->ys, xs = s->xs;                                                     \
        for (int64_t c = 0; c < s->n; c += piece) {                                               \
            const int64_t at = c + piece <= s->n ? c : s->n - piece;                              \
            T *y = (T *)s->y + at;                                                                \
            const T *x = (const T *)s->x + at;                                                    \
            W acc[16];                                                                            \
            for (int i = 0; i < piece; i++) acc[i] = FIRST;                                       \
            for (int64_t j = 0; j < s->length; j++, y += ys, x += xs)                             \
                _Pragma("omp simd") for (int i = 0; i < piece; i++) acc[i] =                      \
                    name##_step(y + i, acc[i], x[i], exclusive);                                  \
        }                                                                                         \
    }                                                                                             \
    ALWAYS void name##_apart(const Cumulation *s, T *y, const T *x, bool exclusive) {             \
        const int64_t yn = s->yn, xn = s->xn;                                                     \
        W z0 = FIRST, z1 = FIRST, z2 = FIRST, z3 = FIRST;                                         \
        for (int64_t j = 0; j < s->length; j++, y += s->ys, x += s->xs) {                         \
            const T x0 = x[0], x1 = x[xn], x2 = x[2 * xn], x3 = x[3 * xn];                        \
            z0 = name##_step(y, z0, x0, exclusive);                                               \
            z1 = name##_step(y + yn, z1, x1, exclusive);                                          \
            z2 = name##_step(y + 2 * yn, z2, x2, exclusive);                                      \
            z3 = name##_step(y + 3 * yn, z3, x3, exclusive);                                      \
        }                                                                                         \
    }                                                                                             \
    ALWAYS void name##_alone(const Cumulation *s, T *y, const T *x, bool exclusive) {             \
        W z = FIRST;                                                                              \
        for (int64_t j = 0; j < s->length; j++, y += s->ys, x += s->xs)                           \
            z = name##_step(y, z, *x, exclusive);                                                 \
    }                                                                                             \
    ALWAYS void name##_all(const Cumulation *s, bool exclusive) {                                 \
        T *y = s->y;                                                                              \
        const T *x = s->x;                                                                        \
        int64_t c = 0;                                                                            \
        if (scan_by_pieces(s)) {                                                                  \
            if (s->n >= 16) name##_pieces(s, 16, exclusive);                                      \
            else if (s->n >= 8) name##_pieces(s, 8, exclusive);                                   \
            else name##_pieces(s, SCAN_PIECE, exclusive);                                         \
            return;                                                                               \
        }                                                                                         \
        if (s->yn == 1 && s->xn == 1 && s->n >= SCAN_LEAST) {                                     \
            for (; c < s->n; c += SCAN_BESIDE)                                                    \
                name##_beside(s, y + c, x + c, s->n - c < SCAN_BESIDE ? s->n - c : SCAN_BESIDE,   \
                              exclusive);                                                         \
            return;                                                                               \
        }                                                                                         \
        for (; c + SCAN_ROWS <= s->n; c += SCAN_ROWS)                                             \
            name##_apart(s, y + c * s->yn, x + c * s->xn, exclusive);                             \
        for (; c < s->n; c++) name##_alone(s, y + c * s->yn, x + c * s->xn, exclusive);           \
    }                                                                                             \
    static void name(const Cumulation *s) {                                                       \
        Cumulation block = *s;                                                                    \
        for (int64_t b = 0; b < s->blocks; b++) {                                                 \
            if (s->exclusive) name##_all(&block, true);                                           \
            else name##_all(&block, false);                                                       \
            block.y = (T *)block.y + s->yb, block.x = (const T *)block.x + s->xb;                 \
        }                                                                                         \
    }
#define DEFINE_SCANS(type, W, T, FROM, TO)            \
    DEFINE_SCAN(sums_##type, W, T, FROM, TO, +, (W)0) \
    DEFINE_SCAN(products_##type, W, T, FROM, TO, *, (W)1)
#define HALF_OF(x) float_half((float)(x))
#define BFLOAT_OF(x) float_bfloat((float)(x))
DEFINE_SCANS(float, double, float, SAME, SAME)
DEFINE_SCANS(double, double, double, SAME, SAME)
DEFINE_SCANS(half, double, uint16_t, half_float, HALF_OF)
DEFINE_SCANS(bfloat, double, uint16_t, bfloat_float, BFLOAT_OF)
DEFINE_SCANS(8, uint32_t, uint8_t, SAME, SAME)
DEFINE_SCANS(16, uint32_t, uint16_t, SAME, SAME)
DEFINE_SCANS(32, uint32_t, uint32_t, SAME, SAME)
DEFINE_SCANS(64, uint64_t, uint64_t, SAME, SAME)
#define SCANS(which)                                                                           \
    {                                                                                          \
        [DT_FLOAT] = which##_float, [DT_DOUBLE] = which##_double, [DT_FLOAT16] = which##_half, \
        [DT_BFLOAT16] = which##_bfloat, [DT_INT8] = which##_8, [DT_UINT8] = which##_8,         \
        [DT_INT16] = which##_16, [DT_UINT16] = which##_16, [DT_INT32] = which##_32,            \
        [DT_UINT32] = which##_32, [DT_INT64] = which##_64, [DT_UINT64] = which##_64            \
    }
