/* simd_better.h -- the best element of each column and its row (Simd.better); included by
   simd_body.h. Each comparison has its own loop, so that no loop has branches. */
#define BETTER_EACH(condition)             \
    EACH {                                 \
        const bool better = condition;     \
        where[i] = better ? at : where[i]; \
        best[i] = better ? x[i] : best[i]; \
    }
#define DEFINE_BETTER(name, T)                                    \
    static void name(const BetterRows *b) {                       \
        T *best = b->best;                                        \
        const T *x = b->x;                                        \
        const int64_t n = b->n;                                   \
        int32_t *where = b->where;                                \
        for (int64_t j = 0; j < b->rows; j++, x += b->xs) {       \
            const int32_t at = b->at + (int32_t)j;                \
            if (b->last && b->least) BETTER_EACH(x[i] <= best[i]) \
            else if (b->last) BETTER_EACH(x[i] >= best[i])        \
            else if (b->least) BETTER_EACH(x[i] < best[i])        \
            else BETTER_EACH(x[i] > best[i])                      \
        }                                                         \
    }
DEFINE_BETTER(better_double, double)
DEFINE_BETTER(better_int, int64_t)
DEFINE_BETTER(better_uint, uint64_t)
DEFINE_BETTER(better_row_float, float)

/* Of floats, BESIDE vectors of columns stay in registers while their rows are compared. The last
   vector may overlap the one before: to compare a row again changes nothing. */
enum { BETTER_BESIDE = 4 };
#define BETTER_COLUMNS(name, compare)                                                            \
    ALWAYS void name##_columns(const BetterRows *b, int64_t i, int vectors) {                    \
        float *best = (float *)b->best + i;                                                      \
        const float *x = (const float *)b->x + i;                                                \
        Floats value[BETTER_BESIDE];                                                             \
        Truths place[BETTER_BESIDE];                                                             \
        UNROLLED(int v = 0; v < vectors; v++) {                                                  \
            value[v] = *(const Floats *)(best + v * WIDTH);                                      \
            memcpy(&place[v], b->where + i + v * WIDTH, sizeof *place);                          \
        }                                                                                        \
        for (int32_t at = b->at, end = at + (int32_t)b->rows; at < end; at++, x += b->xs)        \
            UNROLLED(int v = 0; v < vectors; v++) {                                              \
                const Floats here = *(const Floats *)(x + v * WIDTH);                            \
                const Truths better = (Truths)(here compare value[v]);                           \
                value[v] = (Floats)((better & (Truths)here) | (~better & (Truths)value[v]));     \
                place[v] = (better & at) | (~better & place[v]);                                 \
            }                                                                                    \
        UNROLLED(int v = 0; v < vectors; v++) {                                                  \
            *(Floats *)(best + v * WIDTH) = value[v];                                            \
            memcpy(b->where + i + v * WIDTH, &place[v], sizeof *place);                          \
        }                                                                                        \
    }                                                                                            \
    static void name(const BetterRows *b) {                                                      \
        int64_t i = 0;                                                                           \
        for (; i + BETTER_BESIDE * WIDTH <= b->n; i += BETTER_BESIDE * WIDTH)                    \
            name##_columns(b, i, BETTER_BESIDE);                                                 \
        for (; i < b->n; i += WIDTH) name##_columns(b, i + WIDTH <= b->n ? i : b->n - WIDTH, 1); \
    }
BETTER_COLUMNS(greater, >)
BETTER_COLUMNS(less, <)
BETTER_COLUMNS(no_less, >=)
BETTER_COLUMNS(no_greater, <=)
static void better_float(const BetterRows *b) {
    if (b->n < WIDTH || b->rows == 1) better_row_float(b);
    else if (b->last && b->least) no_greater(b);
    else if (b->last) no_less(b);
    else if (b->least) less(b);
    else greater(b);
}
