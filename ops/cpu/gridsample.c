/* gridsample.c -- gridsample of floats with two spatial axes (defined in ops/gridsample.c): nearest
   or bilinear, with zeros or the border outside.

   A block of places of the result is computed at a time. The offsets and weights of the elements
   that each place reads are the same for all channels and are computed first; then the sums are
   computed channel by channel. An element outside the image gets an offset inside it and, unless
   the border is repeated, weight 0. Blocks are distributed over the threads. */
#include "ops/cpu/cpu.h"
#include "ops/operator/op_kernel.h"
#include <math.h>

/* BLOCK: places of a block. TAPS: elements that a bilinear place reads. CHANNELS: computed
   together. */
enum { Y, X, GRID, BLOCK = 256, TAPS = 4, CHANNELS = 16 };
typedef struct GridSample {
    View view[3];
    int taps, parts; /* taps: elements that a place reads, 1 or TAPS */
    bool border, align;
    bool neighbours; /* the channels of x are adjacent */
    bool rows;       /* y's last two axes can be joined: places follow each other at a constant
                        distance */
    int64_t blocks;  /* of each image of the batch */
    size_t each;     /* bytes of the scratch memory of a part */
    size_t at;       /* its offset for part 0 */
} GridSample;
typedef struct GridRun {
    const GridSample *g;
    float *y;
    const float *x, *grid;
    char *work;
} GridRun;
typedef struct Reads { /* the elements that the places of a block read, tap by tap */
    int32_t offset[TAPS][BLOCK];
    float weight[TAPS][BLOCK];
    int64_t to[BLOCK]; /* where the sum of each place is stored, relative to its channel */
} Reads;

/* The position on an axis of n places to which g in -1..1 refers. Positions far outside stay
   outside. */
static double place_on(const GridSample *s, float g, int64_t n) {
    float at = kernel_grid_place(g, n, s->align);
    if (s->taps == 1) at = rintf(at);
    return !s->border ? at : at < 0 ? 0 : at > (float)(n - 1) ? (double)(n - 1) : at;
}
static void list_tap(const GridSample *s, Reads *r, int tap, int k, const int64_t at[2],
                     double weight) {
    const View *x = &s->view[X];
    int64_t offset = 0;
    for (int a = 0; a < 2; a++) {
        const int64_t n = x->dim[2 + a];
        int64_t i = at[a];
        if (i < 0 || i >= n) {
            if (!s->border) weight = 0;
            i = i < 0 ? 0 : n - 1;
        }
        offset += i * x->stride[2 + a];
    }
    r->offset[tap][k] = (int32_t)offset, r->weight[tap][k] = (float)weight;
}
static void list_reads(const GridSample *s, const float grid[2], Reads *r, int k) {
    double place[2], part[2];
    int64_t low[2];
    for (int a = 0; a < 2; a++) {
        place[a] = place_on(s, grid[1 - a], s->view[X].dim[2 + a]);
        low[a] = (int64_t)floor(place[a]), part[a] = place[a] - (double)low[a];
    }
    if (s->taps == 1) {
        list_tap(s, r, 0, k, low, 1);
        return;
    }
    for (int tap = 0; tap < TAPS; tap++) {
        const int down = tap / 2, right = tap % 2;
        list_tap(s, r, tap, k, (const int64_t[]){low[0] + down, low[1] + right},
                 (down ? part[0] : 1 - part[0]) * (right ? part[1] : 1 - part[1]));
    }
}
/* An element of weight 0 is not read: it may be infinite, or one at the border that stands for
   places outside. */
static float sum_at(const Reads *r, int taps, int64_t k, const float *x) {
    float p[TAPS];
    for (int t = 0; t < taps; t++)
        p[t] = r->weight[t][k] != 0 ? r->weight[t][k] * x[r->offset[t][k]] : 0;
    return taps == 1 ? p[0] : p[0] + p[1] + (p[2] + p[3]);
}
/* Computes one channel for places that are `stride` apart in y. */
static void sum_channel(const Reads *r, int taps, const float *restrict x, float *restrict y,
                        int64_t stride, int64_t n) {
    if (taps == 1)
        for (int64_t k = 0; k < n; k++) y[k * stride] = sum_at(r, 1, k, x);
    else
        for (int64_t k = 0; k < n; k++) y[k * stride] = sum_at(r, TAPS, k, x);
}
static void sum_apart(const Reads *r, int taps, const float *restrict x, float *restrict y,
                      int64_t n) {
    for (int64_t k = 0; k < n; k++) y[r->to[k]] = sum_at(r, taps, k, x);
}
/* Computes one place for channels that are adjacent in x and `stride` apart in y. */
static void sum_place(const Reads *r, int taps, int64_t k, const float *restrict x,
                      float *restrict y, int64_t stride, int64_t n) {
    float sum[CHANNELS];
    for (; n >= CHANNELS; n -= CHANNELS, x += CHANNELS, y += CHANNELS * stride) {
        if (taps == 1)
            for (int c = 0; c < CHANNELS; c++) sum[c] = sum_at(r, 1, k, x + c);
        else
            for (int c = 0; c < CHANNELS; c++) sum[c] = sum_at(r, TAPS, k, x + c);
        for (int c = 0; c < CHANNELS; c++) y[c * stride] = sum[c];
    }
    for (int64_t c = 0; c < n; c++) y[c * stride] = sum_at(r, taps, k, x + c);
}
static void list_block(const GridRun *run, int64_t b, int64_t first, int64_t n, Reads *r) {
    const GridSample *s = run->g;
    const View *y = &s->view[Y], *grid = &s->view[GRID];
    const int64_t columns = y->dim[3];
    for (int64_t k = 0; k < n; k++) {
        const int64_t row = (first + k) / columns, column = (first + k) % columns;
        const float *at =
            run->grid + b * grid->stride[0] + row * grid->stride[1] + column * grid->stride[2];
        list_reads(s, (const float[]){at[0], at[grid->stride[3]]}, r, (int)k);
        r->to[k] = row * y->stride[2] + column * y->stride[3];
    }
}
static void run_block(const GridRun *run, int64_t b, int64_t first, int64_t n, Reads *r) {
    const GridSample *s = run->g;
    const View *y = &s->view[Y], *x = &s->view[X];
    const float *from = run->x + b * x->stride[0];
    float *to = run->y + b * y->stride[0];
    list_block(run, b, first, n, r);
    if (s->neighbours) {
        for (int64_t k = 0; k < n; k++)
            sum_place(r, s->taps, k, from, to + r->to[k], y->stride[1], y->dim[1]);
        return;
    }
    for (int64_t c = 0; c < y->dim[1]; c++, from += x->stride[1], to += y->stride[1]) {
        if (s->rows) sum_channel(r, s->taps, from, to + r->to[0], y->stride[3], n);
        else sum_apart(r, s->taps, from, to, n);
    }
}
static void run_part(void *job, int k) {
    const GridRun *run = job;
    const GridSample *s = run->g;
    const int64_t places = s->view[Y].dim[2] * s->view[Y].dim[3],
                  all = s->view[Y].dim[0] * s->blocks, end = all * (k + 1) / s->parts;
    Reads *r = (Reads *)(void *)(run->work + (size_t)k * s->each);
    for (int64_t j = all * k / s->parts; j < end; j++) {
        const int64_t first = j % s->blocks * BLOCK, left = places - first;
        run_block(run, j / s->blocks, first, left < BLOCK ? left : BLOCK, r);
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
    if (step->param[GRID_MODE] > GRID_NEAREST || step->param[GRID_OUTSIDE] > GRID_BORDER ||
        low < 0 || high > INT32_MAX)
        return false;
    s->taps = step->param[GRID_MODE] == GRID_NEAREST ? 1 : TAPS;
    s->border = step->param[GRID_OUTSIDE] == GRID_BORDER, s->align = step->param[GRID_ALIGN] != 0;
    s->neighbours = s->view[X].stride[1] == 1 && y->dim[1] >= CHANNELS;
    s->rows = y->dim[2] < 2 || y->stride[2] == y->dim[3] * y->stride[3];
    s->blocks = (y->dim[2] * y->dim[3] + BLOCK - 1) / BLOCK;
    s->parts = count_parts(b, y->dim[0] * s->blocks, view_count(y), 1);
    s->each = (sizeof(Reads) + 63) / 64 * 64;
    s->at = build_bytes(b, s->each * (size_t)s->parts);
    k->run = gridsample_run, k->self = s;
    return true;
}
