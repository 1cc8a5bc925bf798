/* det.c -- determinants (ops/det.c). Each matrix is copied as doubles, its rows as columns that are
   padded to whole vectors; this does not matter because a matrix and its transpose have the same
   determinant. Matrices are distributed over the threads. */
#include "ops/cpu/cpu.h"
#include <string.h>

typedef struct Det {
    View y, x;
    Nest rest; /* over y and the matrices of x */
    int parts;
    int64_t n, stride; /* rows, and the room of a row in the copy */
    size_t at, each;   /* scratch memory: the offset of part 0, the bytes of a part */
    const Simd *simd;
} Det;
typedef struct DetRun {
    const Det *d;
    char *y;
    const char *x;
    char *work;
} DetRun;

static void load_matrix(const Det *d, const char *x, double *to) {
    const View *v = &d->x;
    const int64_t rows = v->stride[v->rank - 2], columns = v->stride[v->rank - 1], n = d->n;
    const int size = dtype_size(v->dtype);
    if (columns == 1 && rows == d->stride) {
        d->simd->load[CLASS_DOUBLE][v->dtype](to, x, 1, n * n);
        return;
    }
    for (int64_t r = 0; r < n; r++, to += d->stride) {
        d->simd->load[CLASS_DOUBLE][v->dtype](to, x + r * rows * size, columns, n);
        memset(to + n, 0, (size_t)(d->stride - n) * sizeof *to);
    }
}
static void run_det_part(void *job, int k) {
    const DetRun *run = job;
    const Det *d = run->d;
    double *matrix = (double *)(void *)(run->work + d->at + (size_t)k * d->each),
           *factor = matrix + d->n * d->stride;
    const int64_t end = d->rest.count * (k + 1) / d->parts;
    for (int64_t m = d->rest.count * k / d->parts; m < end; m++) {
        int64_t index[STEP_RANK], offset[2];
        nest_goto(&d->rest, 0, m, index, offset);
        load_matrix(d, run->x + offset[1] * dtype_size(d->x.dtype), matrix);
        const double y = d->simd->determinant(matrix, factor, d->n, d->stride);
        d->simd->store[CLASS_DOUBLE][d->y.dtype](run->y + offset[0] * dtype_size(d->y.dtype), 1, &y,
                                                 1);
    }
}
static int det_run(const Kernel *k, void *const slot[], void *work) {
    const Det *d = k->self;
    DetRun run = {d, view_at(&d->y, slot, work), view_at(&d->x, slot, work), work};
    team_run(k->device->team, d->parts, run_det_part, &run);
    return 0;
}
bool det_build(Build *b, int choice, Kernel *k) {
    enum { LANES = 8 };
    Det *d = ARENA_NEW(b->arena, Det, 1);
    (void)choice;
    d->y = b->step->view[0], d->x = b->step->view[1], d->simd = b->device->simd;
    d->n = d->x.dim[d->x.rank - 1], d->stride = (d->n + LANES - 1) / LANES * LANES;
    if (!dtype_numeric(d->x.dtype) || d->x.format || d->n < 1) return false;
    View of_x = d->x;
    of_x.rank = d->y.rank;
    d->rest = nest_new(b->arena, (const View *const[]){&d->y, &of_x}, 2);
    d->each = (size_t)((d->n + 1) * d->stride) * sizeof(double);
    d->parts = count_parts(b, d->rest.count, d->rest.count * d->n * d->n * d->n, 0.0625);
    d->at = build_bytes(b, (size_t)d->parts * d->each);
    k->run = det_run, k->self = d;
    return true;
}
