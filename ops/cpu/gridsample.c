/* gridsample.c -- gridsample of floats with two spatial axes (defined in ops/gridsample.c).

   A block of places of the result is computed at a time. The offsets and weights of the elements
   that each place reads are the same for all channels and are computed first (simd_grid.h); then
   the sums are computed channel by channel. Blocks are distributed over the threads. */
#include "ops/base/least.h"
#include "ops/cpu/cpu.h"
#include "ops/operator/op_kernel.h"

/* READS: elements that the places of a block read, at most. CHANNELS: computed together. */
enum { Y, X, GRID, READS = 4 * GRID_PLACES, CHANNELS = 16 };
typedef struct GridSample {
    View view[3];
    int taps, parts; /* taps: elements that a place reads along each axis */
    int64_t outside;
    bool align;
    bool neighbours;       /* the channels of x are adjacent */
    bool rows;             /* y's last two axes can be joined: places follow each other without
                              gaps */
    int64_t block, blocks; /* places of a block; blocks of each image of the batch */
    size_t each;           /* bytes of the scratch memory of a part */
    size_t at;             /* its offset for part 0 */
    const Simd *simd;
} GridSample;
typedef struct GridRun {
    const GridSample *g;
    float *y;
    const float *x, *grid;
    char *work;
} GridRun;
typedef struct Reads { /* the elements that the places of a block read, tap by tap */
    int32_t offset[READS];
    float weight[READS];
    float grid[2][GRID_PLACES], sum[GRID_PLACES];
    int64_t to[GRID_PLACES]; /* where the sum of each place is stored, relative to its channel */
} Reads;

static void list_block(const GridRun *run, int64_t b, int64_t first, int64_t n, Reads *r) {
    const GridSample *s = run->g;
    const View *y = &s->view[Y], *x = &s->view[X], *grid = &s->view[GRID];
    const int64_t columns = y->dim[3];
    int64_t row = first / columns, column = first % columns;
    for (int64_t k = 0; k < n; k++) {
        const float *at =
            run->grid + b * grid->stride[0] + row * grid->stride[1] + column * grid->stride[2];
        r->grid[0][k] = at[grid->stride[3]], r->grid[1][k] = at[0];
        r->to[k] = row * y->stride[2] + column * y->stride[3];
        if (++column == columns) column = 0, row++;
    }
    s->simd->grid_reads(&(GridReads){.place = r->offset,
                                     .weight = r->weight,
                                     .grid = {r->grid[0], r->grid[1]},
                                     .size = {x->dim[2], x->dim[3]},
                                     .stride = {x->stride[2], x->stride[3]},
                                     .n = n,
                                     .outside = s->outside,
                                     .taps = s->taps,
                                     .align = s->align});
}
/* Computes place k of n for channels that are adjacent in x and `stride` apart in y. An element of
   weight 0 is not read: it may be infinite. */
static void sum_place(const Reads *r, int taps, int64_t k, int64_t n, const float *restrict x,
                      float *restrict y, int64_t stride, int64_t channels) {
    for (int64_t c = 0; c < channels; c += CHANNELS) {
        const int64_t from = c + CHANNELS <= channels ? c : channels - CHANNELS;
        float sum[CHANNELS] = {0};
        for (int t = 0; t < taps; t++) {
            const float w = r->weight[t * n + k], *at = x + from + r->offset[t * n + k];
            if (w != 0)
                for (int i = 0; i < CHANNELS; i++) sum[i] += w * at[i];
        }
        for (int i = 0; i < CHANNELS; i++) y[(from + i) * stride] = sum[i];
    }
}
static void run_block(const GridRun *run, int64_t b, int64_t first, int64_t n, Reads *r) {
    const GridSample *s = run->g;
    const View *y = &s->view[Y], *x = &s->view[X];
    const float *from = run->x + b * x->stride[0];
    float *to = run->y + b * y->stride[0];
    const int taps = s->taps * s->taps;
    list_block(run, b, first, n, r);
    if (s->neighbours) {
        for (int64_t k = 0; k < n; k++)
            sum_place(r, taps, k, n, from, to + r->to[k], y->stride[1], y->dim[1]);
        return;
    }
    for (int64_t c = 0; c < y->dim[1]; c++, from += x->stride[1], to += y->stride[1]) {
        float *sum = s->rows ? to + r->to[0] : r->sum;
        s->simd->blend[CLASS_FLOAT](sum, from, r->offset, r->weight, taps, n);
        for (int64_t k = 0; k < n && !s->rows; k++) to[r->to[k]] = sum[k];
    }
}
static void run_part(void *job, int k) {
    const GridRun *run = job;
    const GridSample *s = run->g;
    const int64_t places = s->view[Y].dim[2] * s->view[Y].dim[3],
                  all = s->view[Y].dim[0] * s->blocks, end = all * (k + 1) / s->parts;
    Reads *r = (Reads *)(void *)(run->work + (size_t)k * s->each);
    for (int64_t j = all * k / s->parts; j < end; j++) {
        const int64_t first = j % s->blocks * s->block;
        run_block(run, j / s->blocks, first, int64_least(places - first, s->block), r);
    }
}
static int gridsample_run(const Kernel *k, void *const slot[], void *work) {
    const GridSample *s = k->self;
    const View *x = &s->view[X];
    if (view_count(&s->view[Y]) > 0 && (x->dim[2] < 1 || x->dim[3] < 1)) return -1;
    GridRun run = {s, (float *)(void *)view_at(&s->view[Y], slot, work),
                   (const float *)(const void *)view_at(x, slot, work),
                   (const float *)(const void *)view_at(&s->view[GRID], slot, work),
                   (char *)work + s->at};
    team_run(k->device->team, s->parts, run_part, &run);
    return 0;
}

bool gridsample_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const Step *step = b->step;
    GridSample *s = ARENA_NEW(b->arena, GridSample, 1);
    int64_t low, high;
    for (int j = 0; j < 3; j++) {
        s->view[j] = step->view[j];
        if (step->view[j].dtype != DT_FLOAT || step->view[j].format || step->view[j].rank != 4)
            return false;
    }
    const View *y = &s->view[Y];
    view_extent(&s->view[X], &low, &high);
    if (low < 0 || high > INT32_MAX) return false;
    s->taps = step->param[GRID_MODE] == GRID_NEAREST  ? 1
              : step->param[GRID_MODE] == GRID_LINEAR ? 2
                                                      : GRID_TAPS;
    s->outside = step->param[GRID_OUTSIDE], s->align = step->param[GRID_ALIGN] != 0;
    s->simd = b->device->simd;
    s->neighbours = s->view[X].stride[1] == 1 && y->dim[1] >= CHANNELS;
    s->rows = y->stride[3] == 1 && (y->dim[2] < 2 || y->stride[2] == y->dim[3]);
    s->block = int64_least(READS / (s->taps * s->taps), GRID_PLACES);
    s->blocks = (y->dim[2] * y->dim[3] + s->block - 1) / s->block;
    s->parts = count_parts(b, y->dim[0] * s->blocks, view_count(y), 1);
    s->each = (sizeof(Reads) + 63) / 64 * 64;
    s->at = build_bytes(b, s->each * (size_t)s->parts);
    k->run = gridsample_run, k->self = s;
    return true;
}
