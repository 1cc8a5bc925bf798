/* simd_shifted.h -- sums of parts of rows (col2im.c); included by simd_body.h. */

/* Which elements of a vector are loaded; the others are 0. */
#ifndef LOAD_SOME
typedef struct Some {
    int from, to;
} Some;
#define SOME(from, to) ((Some){from, to})
static inline Floats load_some(const float *x, Some some) {
    float part[WIDTH] = {0};
    Floats v;
    for (int i = some.from; i < some.to; i++) part[i] = x[i];
    memcpy(&v, part, sizeof v);
    return v;
}
#define LOAD_SOME(x, some) load_some(x, some)
#endif
/* A term of a block of columns. */
typedef struct ShiftedTerm {
    int64_t offset;
    Some some;
} ShiftedTerm;
static int64_t terms_of_block(const ShiftedSum *s, int64_t at, ShiftedTerm term[]) {
    int64_t n = 0;
    for (int64_t t = 0; t < s->terms; t++) {
        const int64_t from = s->low[t] > at ? s->low[t] - at : 0,
                      to = s->high[t] - at < WIDTH ? s->high[t] - at : WIDTH;
        if (from < to) term[n++] = (ShiftedTerm){s->offset[t] + at, SOME((int)from, (int)to)};
    }
    return n;
}
static void sum_shifted(const ShiftedSum *s) {
    ShiftedTerm term[SHIFTED_TERMS];
    for (int64_t at = 0; at < s->n; at += WIDTH) {
        const int64_t terms = terms_of_block(s, at, term), left = s->n - at;
        for (int64_t p = 0; p < s->planes; p++) {
            const float *x = s->x + p * s->xs;
            float *y = s->y + p * s->ys + at;
            Floats sum = {0};
            for (int64_t t = 0; t < terms; t++) sum += LOAD_SOME(x + term[t].offset, term[t].some);
            if (left >= WIDTH) *(Floats *)y = sum;
            else STORE_FIRST(y, left, sum);
        }
    }
}
