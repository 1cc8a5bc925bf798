/* batches.c -- multiplies batches of matrices whose second factor is not known, or differs between
   products, with axes of any strides, as in the heads of an attention.

   For each product, panels of columns are packed and multiplied by all rows (Simd.sweep). Packing
   pays if there are enough rows (LEAST_ROWS). The epilogue is computed in registers as far as
   ending.c allows. */
#include "ops/cpu/cpu.h"
#include <string.h>

enum { Y, A, B, ADD, VIEWS };
enum { LEAST_ROWS = 8, MOST_TERMS = 4096 };
typedef struct Batches {
    Ending e;
    View view[VIEWS];
    Nest outer; /* the axes before the last two */
    int64_t rows, columns, terms;
    const float *start; /* where the sum of each column starts */
    size_t packed;      /* an offset into the scratch memory: the packed panel */
} Batches;
/* Copies `runs` runs of n floats. For the vector widths of common machines, n is a constant for the
   compiler. */
static void copy_runs(float *to, int64_t ts, const float *from, int64_t fs, int64_t runs, int n) {
    if (n == 16)
        for (int64_t t = 0; t < runs; t++) memcpy(to + t * ts, from + t * fs, 16 * sizeof *to);
    else if (n == 8)
        for (int64_t t = 0; t < runs; t++) memcpy(to + t * ts, from + t * fs, 8 * sizeof *to);
    else
        for (int64_t t = 0; t < runs; t++)
            memcpy(to + t * ts, from + t * fs, (size_t)n * sizeof *to);
}
/* Packs simd->width columns of b; in `to`, terms are `wide` floats apart. */
static void pack_vector(const Simd *simd, const View *b, const float *from, int64_t terms,
                        float *to, int64_t wide) {
    const int64_t term = b->stride[b->rank - 2], column = b->stride[b->rank - 1];
    if (term == 1)
        simd->transpose((uint32_t *)(void *)to, wide, (const uint32_t *)(const void *)from, column,
                        simd->width, terms);
    else if (column == 1) copy_runs(to, wide, from, term, terms, simd->width);
    else
        for (int64_t t = 0; t < terms; t++)
            for (int j = 0; j < simd->width; j++) to[t * wide + j] = from[t * term + j * column];
}
static void scale_vector(float *to, const float *scale, int width, int64_t terms, int64_t wide) {
    for (int64_t t = 0; t < terms; t++)
        for (int j = 0; j < width; j++) to[t * wide + j] *= scale[j];
}
static void pack_panel(const Simd *simd, const Batches *s, const SweepColumns *p, const float *b,
                       float *to) {
    const View *v = &s->view[B];
    const int64_t wide = (int64_t)p->vectors * simd->width;
    for (int i = 0; i < p->vectors; i++) {
        const int64_t column = sweep_vector(p, i, simd->width);
        float *vector = to + i * simd->width;
        pack_vector(simd, v, b + column * v->stride[v->rank - 1], s->terms, vector, wide);
        if (s->e.scale) scale_vector(vector, s->e.scale + column, simd->width, s->terms, wide);
    }
}
/* Copies the starts of a panel's sums in the order of its vectors. */
static void lay_start(const Simd *simd, const Batches *s, const SweepColumns *p, float *start) {
    for (int i = 0; i < p->vectors; i++)
        memcpy(start + i * simd->width, s->start + sweep_vector(p, i, simd->width),
               (size_t)simd->width * sizeof *start);
}
static void run_product(const Simd *simd, const Batches *s, float *const base[VIEWS],
                        float *packed) {
    enum { COLUMNS = 64 };
    static const int64_t none = 0;
    const int row = s->view[Y].rank - 2, whole = simd->width * simd->vectors;
    float start[COLUMNS];
    for (int64_t first = 0; first < s->columns; first += whole) {
        const SweepColumns p = sweep_columns(simd, s->columns, first);
        const int64_t columns = p.last + simd->width;
        pack_panel(simd, s, &p, base[B], packed);
        lay_start(simd, s, &p, start);
        const Sweep sweep = {.a = base[A],
                             .add = s->e.add ? base[ADD] + p.first : NULL,
                             .start = start,
                             .panel = packed,
                             .ahead = packed,
                             .ahead_end = packed,
                             .y = base[Y] + p.first,
                             .as = s->view[A].stride[row],
                             .adds = s->view[ADD].stride[row],
                             .ys = s->view[Y].stride[row],
                             .last = p.last,
                             .n = s->terms,
                             .runs = 1,
                             .run = &none,
                             .squash = s->e.squash};
        simd->sweep(&sweep, p.vectors, s->rows);
        for (int64_t r = 0; s->e.pass && r < s->rows; r++) {
            float *y = sweep.y + r * sweep.ys;
            s->e.pass(y, y, s->e.k, columns);
        }
    }
}
static int batches_run(const Kernel *k, void *const slot[], void *work) {
    const Batches *s = k->self;
    float *packed = (float *)(void *)((char *)work + s->packed);
    int64_t index[STEP_RANK] = {0}, offset[VIEWS] = {0};
    float *first[VIEWS], *base[VIEWS];
    for (int i = 0; i < VIEWS; i++) first[i] = view_at(&s->view[i], slot, work);
    do {
        for (int i = 0; i < VIEWS; i++) base[i] = first[i] + offset[i];
        run_product(k->device->simd, s, base, packed);
    } while (nest_next(&s->outer, 0, index, offset));
    tail_run(&s->e.tail, slot, work);
    return 0;
}

/* ---- making */
bool batches_possible(const Device *d, const Step *s) {
    const View *y = &s->view[0], *a = &s->view[1];
    const int column = y->rank - 1;
    for (int i = 0; i < 3; i++)
        if (s->view[i].dtype != DT_FLOAT || view_count(&s->view[i]) == 0) return false;
    return y->dim[column] >= d->simd->width && y->dim[column - 1] >= LEAST_ROWS &&
           a->dim[column] <= MOST_TERMS && y->stride[column] == 1 &&
           (a->stride[column] == 1 || a->dim[column] == 1);
}
static Nest outer_nest(Build *b, const Batches *s) {
    View v[VIEWS];
    const View *of[VIEWS];
    for (int i = 0; i < VIEWS; i++) v[i] = s->view[i], v[i].rank -= 2, of[i] = &v[i];
    return nest_new(b->arena, of, VIEWS);
}
bool batches_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const View *v = b->step->view;
    const Simd *simd = b->device->simd;
    const int column = v[0].rank - 1;
    Batches *s = ARENA_NEW(b->arena, Batches, 1);
    if (!batches_possible(b->device, b->step)) return build_fail(b, "too few rows or columns");
    if (!ending_new(b, column, column, &s->e)) return false;
    s->rows = v[0].dim[column - 1], s->columns = v[0].dim[column], s->terms = v[1].dim[column];
    s->view[Y] = s->e.tail.into, s->view[A] = v[1], s->view[B] = v[2];
    s->view[ADD] = s->e.add ? v[s->e.add] : s->view[Y];
    s->outer = outer_nest(b, s);
    float *start = ARENA_NEW(b->arena, float, s->columns);
    if (s->e.shift) memcpy(start, s->e.shift, (size_t)s->columns * sizeof *start);
    s->start = start;
    s->packed = build_bytes(b, (size_t)(simd->width * simd->vectors * s->terms) * sizeof(float));
    k->self = s, k->run = batches_run;
    return true;
}
