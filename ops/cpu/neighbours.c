/* neighbours.c -- means over windows of floats by rows: the rows of the windows of a row of outputs
   are added, of all channels together if these are last, and then the neighbours in that row of
   sums.

   Many neighbours are added in groups: the sums of a group of them, at every place, are the terms
   of the next sums, so that a window of k columns takes about log k additions. Sums grow like
   those of a tree, so that floats are accurate enough for windows of any size. Nothing is
   subtracted: an infinity or NaN reaches only the windows that it lies in. */
#include "ops/base/least.h"
#include "ops/cpu/cpu.h"
#include <string.h>

/* BLOCK: rows that are added in order, before their sum is added to others. BLOCKS: blocks of a
   window, at most. GROUP: neighbours of a group, at most. PASS: what another pass over a row costs,
   in additions. NEAR: windows of k columns move by NEAR * k columns, at most, because sums are
   taken at all places of a row. */
enum { BLOCK = 16, BLOCKS = 64, GROUP = 16, PASS = 3, NEAR = 2, D = 0, H = 1, W = 2 };
enum { FEW = 9 }; /* cells of windows of a single row, at most, for which planes.c is faster */
typedef struct Neighbours {
    Operand x;
    Tail tail;
    Window g;
    int64_t lanes, planes; /* lanes: channels of a place, all if they are last, else 1; planes:
                              channels that are computed one after the other */
    int64_t room, places;  /* room: places of a row of sums, with padding; places: those at which
                              windows may begin */
    bool whole;            /* a row of outputs is adjacent in memory */
    int64_t *cells[STEP_SPATIAL]; /* by how many cells each output of an axis is divided */
    float *columns;               /* the same along the row, for every element of it */
    size_t line, groups, sum, picked, divisor; /* offsets into the scratch memory */
    const Simd *simd;
} Neighbours;

/* How many of `terms` neighbours make a group; all of them if groups take no fewer additions. */
static int64_t group_of(int64_t terms) {
    int64_t best = terms, least = terms;
    for (int64_t size = 2; size <= GROUP && size < terms; size++) {
        const int64_t sums = size + terms / size + terms % size + PASS;
        if (sums < least) best = size, least = sums;
    }
    return best;
}
/* Adds `terms` neighbours `apart` from each other, for n elements. groups: room for x. */
static void add_columns(const Simd *simd, float *y, const float *x, float *groups, int64_t apart,
                        int64_t terms, int64_t n) {
    bool more = false;
    for (int64_t size; size = group_of(terms), size < terms;
         apart *= size, terms /= size, x = groups) {
        const int64_t alone = terms % size;
        if (alone) simd->add_neighbours(y, x, apart, alone, n, more), more = true;
        x += alone * apart, terms -= alone;
        simd->add_neighbours(groups, x, apart, size, n + (terms - size) * apart, false);
    }
    simd->add_neighbours(y, x, apart, terms, n, more);
}
/* Adds the rows of the windows of output row oh of plane od. x: a volume. */
static void add_rows(const Neighbours *p, float *line, const float *x, int64_t od, int64_t oh) {
    const Window *g = &p->g;
    const int64_t n = g->in[W] * p->lanes;
    int64_t first = 0, end = g->kernel[H], d, h;
    bool more = false;
    while (first < end && !window_at(g, H, oh, first, &h)) first++;
    while (end > first && !window_at(g, H, oh, end - 1, &h)) end--;
    for (int64_t kd = 0; kd < g->kernel[D]; kd++) {
        if (!window_at(g, D, od, kd, &d)) continue;
        for (int64_t k = first; k < end; k += BLOCK, more = true) {
            window_at(g, H, oh, k, &h);
            p->simd->add_neighbours(line, x + d * g->xs[D] + h * g->xs[H],
                                    g->dilation[H] * g->xs[H], int64_least(end - k, BLOCK), n,
                                    more);
        }
    }
    if (!more) memset(line, 0, (size_t)n * sizeof *line);
}
/* Takes every stride-th of the places. */
static void pick(const Neighbours *p, float *y, const float *x) {
    const int64_t s = p->g.stride[W], size = sizeof *x, cell = p->lanes * size;
    if (p->lanes == 1) p->simd->load[CLASS_FLOAT][DT_FLOAT](y, x, s, p->g.out[W]);
    else p->simd->move_rows(y, cell, x, s * cell, p->g.out[W], cell);
}
static void write_row(const Neighbours *p, float *y, const float *x) {
    const int64_t channel = p->tail.into.stride[1], place = p->g.ys[W], row = p->g.out[W];
    if (p->lanes == 1) p->simd->store[CLASS_FLOAT][DT_FLOAT](y, place, x, row);
    else if (place == 1)
        for (int64_t c = 0; c < p->lanes; c++)
            p->simd->load[CLASS_FLOAT][DT_FLOAT](y + c * channel, x + c, p->lanes, row);
    else
        for (int64_t w = 0; w < row; w++)
            p->simd->store[CLASS_FLOAT][DT_FLOAT](y + w * place, channel, x + w * p->lanes,
                                                  p->lanes);
}
static void run_row(const Neighbours *p, float *y, const float *x, char *work, int64_t od,
                    int64_t oh) {
    const Window *g = &p->g;
    float *line = (float *)(void *)(work + p->line), *sum = (float *)(void *)(work + p->sum),
          *picked = p->whole ? y : (float *)(void *)(work + p->picked),
          *result = g->stride[W] == 1 ? picked : sum;
    add_rows(p, line + g->begin[W] * p->lanes, x, od, oh);
    add_columns(p->simd, result, line, (float *)(void *)(work + p->groups),
                g->dilation[W] * p->lanes, g->kernel[W], p->places * p->lanes);
    if (result != picked) pick(p, picked, result);
    p->simd->op[CLASS_FLOAT][C_DIV](picked, picked, work + p->divisor, g->out[W] * p->lanes);
    if (!p->whole) write_row(p, y, picked);
}
static void run_volume(const Neighbours *p, float *y, const float *x, char *work) {
    const Window *g = &p->g;
    float *divisor = (float *)(void *)(work + p->divisor);
    int64_t divided = -1;
    for (int64_t od = 0; od < g->out[D]; od++)
        for (int64_t oh = 0; oh < g->out[H]; oh++) {
            const int64_t cells = p->cells[D][od] * p->cells[H][oh];
            for (int64_t i = 0; i < g->out[W] * p->lanes && cells != divided; i++)
                divisor[i] = (float)cells * p->columns[i];
            divided = cells;
            run_row(p, y + od * g->ys[D] + oh * g->ys[H], x, work, od, oh);
        }
}
static int neighbours_run(const Kernel *k, void *const slot[], void *work) {
    const Neighbours *p = k->self;
    const View *yv = &p->tail.into, *xv = &p->x.view;
    const float *x = operand_at(&p->x, slot, work);
    float *y = view_at(yv, slot, work);
    memset((char *)work + p->line, 0, (size_t)(p->room * p->lanes) * sizeof(float));
    for (int64_t n = 0; n < yv->dim[0]; n++)
        for (int64_t c = 0; c < p->planes; c++)
            run_volume(p, y + n * yv->stride[0] + c * yv->stride[1],
                       x + n * xv->stride[0] + c * xv->stride[1], work);
    tail_run(&p->tail, slot, work);
    return 0;
}

/* Whether this is faster than planes.c. */
static bool likely(const Step *s) {
    const StepWindow w = step_window(s);
    const View *x = &s->view[1];
    int64_t cells = 1;
    for (int a = 0; a < w.n; a++) cells *= w.kernel[a];
    return view_is_channels_last(x) || cells > PLANES_FEW ||
           (x->dim[x->rank - 1] >= NEIGHBOURS_ROW && (cells > w.kernel[w.n - 1] || cells > FEW));
}
bool neighbours_fit(const Step *s) {
    const StepWindow w = step_window(s);
    const View *y = &s->view[0], *x = &s->view[1];
    const int64_t row = x->stride[x->rank - 1],
                  rows = w.n > 1 ? (w.kernel[w.n - 2] + BLOCK - 1) / BLOCK : 1,
                  depth = w.n > 2 ? w.kernel[0] : 1;
    return s->param[POOL_KIND] == POOL_MEAN && x->dtype == DT_FLOAT && y->dtype == DT_FLOAT &&
           !x->format && view_count(y) && view_count(x) &&
           row == (view_is_channels_last(x) ? x->dim[1] : 1) && rows * depth <= BLOCKS &&
           w.stride[w.n - 1] <= NEAR * w.kernel[w.n - 1] && likely(s);
}
static float *cells_of_columns(Build *b, const Neighbours *p) {
    float *columns = ARENA_NEW(b->arena, float, p->g.out[W] * p->lanes);
    for (int64_t i = 0; i < p->g.out[W] * p->lanes; i++)
        columns[i] = (float)p->cells[W][i / p->lanes];
    return columns;
}
static size_t floats(Build *b, int64_t n) { return build_bytes(b, (size_t)n * sizeof(float)); }
bool neighbours_build(Build *b, Kernel *k) {
    const Step *s = b->step;
    Neighbours *p = ARENA_NEW(b->arena, Neighbours, 1);
    if (!operand_typed(b, 1, DT_FLOAT, &p->x) || !tail_new(b, DT_FLOAT, TAIL_ANY, &p->tail))
        return false;
    const View *y = &p->tail.into;
    p->g = window_new(s, y, &p->x.view);
    const Window *g = &p->g;
    p->lanes = view_is_channels_last(&p->x.view) ? y->dim[1] : 1;
    p->planes = y->dim[1] / p->lanes;
    p->places = (g->out[W] - 1) * g->stride[W] + 1;
    const int64_t reached = p->places + (g->kernel[W] - 1) * g->dilation[W],
                  own = g->begin[W] + g->in[W];
    p->room = own > reached ? own : reached;
    p->whole = g->ys[W] == p->lanes && (p->lanes == 1 || y->stride[1] == 1);
    for (int a = 0; a < STEP_SPATIAL; a++) p->cells[a] = window_cells(b, g, a);
    p->columns = cells_of_columns(b, p);
    p->line = floats(b, p->room * p->lanes), p->groups = floats(b, p->room * p->lanes);
    p->sum = floats(b, p->places * p->lanes), p->picked = floats(b, g->out[W] * p->lanes);
    p->divisor = floats(b, g->out[W] * p->lanes);
    p->simd = b->device->simd;
    k->run = neighbours_run, k->self = p;
    return true;
}
