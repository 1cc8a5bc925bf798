/* gather.c -- gather, gathernd, reversesequence and compress (defined in ops/gather.c, ops/pick.c
   and ops/nonzero.c).

   Indices, or the places that a condition keeps, are converted to checked offsets into x before
   anything is moved. Then each row is copied: one element, or all elements of the axes after those
   that the indices select. Elements are moved as bytes. */
#include "ops/backend/isomer_op_steps.h"
#include "ops/cpu/cpu.h"
#include <string.h>

enum { Y, X, OFFSETS };
typedef struct Gather {
    View y, x;
    int size, parts;
    Chosen chosen;     /* of reversesequence: the index is the lengths, and the axis of x is the
                          time */
    int64_t times;     /* of reversesequence: the length of the time axis; 0: another operator */
    View condition;    /* of compress: which places are kept; rank 0: another operator */
    Nest row, inner;   /* row: over y, x and the offsets; inner: the axes of a row, over y and x */
    const Simd *moves; /* moves all rows along the last axis of `row`; NULL: another form */
} Gather;
typedef struct GatherRun {
    const Gather *g;
    char *y;
    const char *x;
    const int64_t *offset;
} GatherRun;

/* Offsets of [times, batch]; NULL: a length is out of range. */
static const int64_t *reversed(const Gather *g, void *const slot[], void *work) {
    const int64_t *length = operand_at(&g->chosen.index, slot, work);
    const int64_t batch = g->chosen.count / g->times;
    int64_t *to = (int64_t *)(void *)((char *)work + g->chosen.at);
    for (int64_t b = 0; b < batch; b++) {
        if (length[b] < 0 || length[b] > g->times) return NULL;
        for (int64_t t = 0; t < g->times; t++)
            to[t * batch + b] = (t < length[b] ? length[b] - 1 - t : t) * g->chosen.stride[0];
    }
    return to;
}

/* Offsets of the places that are kept; NULL: y does not have as many. */
static const int64_t *kept(const Gather *g, void *const slot[], void *work) {
    const View *c = &g->condition;
    const char *keep = view_at(c, slot, work);
    int64_t *to = (int64_t *)(void *)((char *)work + g->chosen.at), n = 0;
    for (int64_t k = 0; k < c->dim[0]; k++) {
        if (!keep[k * c->stride[0]]) continue;
        if (n == g->chosen.count || k >= g->chosen.dim[0]) return NULL;
        to[n++] = k * g->chosen.stride[0];
    }
    return n == g->chosen.count ? to : NULL;
}
static const int64_t *offsets(const Gather *g, void *const slot[], void *work) {
    return g->times            ? reversed(g, slot, work)
           : g->condition.rank ? kept(g, slot, work)
                               : chosen_offsets(&g->chosen, slot, work);
}

static void copy_inner(const Gather *g, char *y, const char *x) {
    static const int64_t none = 0;
    const Nest *n = &g->inner;
    const int64_t length = n->dim[n->rank - 1], ys = n->stride[n->rank - 1],
                  xs = n->stride[STEP_RANK + n->rank - 1];
    int64_t index[STEP_RANK] = {0}, offset[2] = {0};
    do {
        char *to = y + offset[0] * g->size;
        const char *from = x + offset[1] * g->size;
        if (ys == 1 && xs == 1) memcpy(to, from, (size_t)(length * g->size));
        else move_elements(g->size, to, ys, from, xs, &none, 0, length);
    } while (nest_next(n, 1, index, offset));
}
/* Copies n rows along the last axis of the nest, beginning at these offsets. */
static void copy_rows(const GatherRun *run, const int64_t at[], int64_t n) {
    const Gather *g = run->g;
    const int last = g->row.rank - 1;
    const int64_t ys = g->row.stride[last], xs = g->row.stride[STEP_RANK + last],
                  os = g->row.stride[2 * STEP_RANK + last];
    char *y = run->y + at[Y] * g->size;
    const char *x = run->x + at[X] * g->size;
    const int64_t *o = run->offset + at[OFFSETS];
    if (g->inner.count == 1) {
        move_elements(g->size, y, ys, x, xs, o, os, n);
        return;
    }
    if (g->moves) {
        g->moves->move_chosen(&(ChosenRows){.y = y,
                                            .x = x,
                                            .ys = ys * g->size,
                                            .xs = xs * g->size,
                                            .xo = o,
                                            .os = os,
                                            .size = g->size,
                                            .rows = n,
                                            .bytes = g->inner.count * g->size});
        return;
    }
    for (int64_t k = 0; k < n; k++)
        copy_inner(g, y + k * ys * g->size, x + (k * xs + o[k * os]) * g->size);
}
static void run_gather_part(void *job, int k) {
    const GatherRun *run = job;
    const Nest *rows = &run->g->row;
    const int64_t end = rows->count * (k + 1) / run->g->parts;
    int64_t index[STEP_RANK] = {0}, offset[3], n;
    for (int64_t at = rows->count * k / run->g->parts; at < end; at += n) {
        nest_goto(rows, 0, at, index, offset);
        n = rows->dim[rows->rank - 1] - index[rows->rank - 1];
        if (n > end - at) n = end - at;
        copy_rows(run, offset, n);
    }
}
static int gather_run(const Kernel *k, void *const slot[], void *work) {
    const Gather *g = k->self;
    const int64_t *offset = offsets(g, slot, work);
    if (!offset) return -1;
    GatherRun run = {g, view_at(&g->y, slot, work), view_at(&g->x, slot, work), offset};
    team_run(k->device->team, g->parts, run_gather_part, &run);
    return 0;
}

/* ---- making */
static View some_axes(const View *v, int from, int n) {
    int axis[STEP_RANK] = {0};
    for (int k = 0; k < n; k++) axis[k] = from + k;
    return view_axes(v, n, axis);
}
/* Completes the kernel. rows: y's axes that come from the index or are in common with x, with the
   strides of y, x and the offsets. */
static bool finish_gather(Build *b, Gather *g, const View *rows, const View inner[2], Kernel *k) {
    const View *y = &b->step->view[0], *x = &b->step->view[1];
    const int64_t bytes = view_count(y) * dtype_size(y->dtype);
    g->y = *y, g->x = *x, g->size = dtype_size(y->dtype);
    if (bytes == 0 || !elements_move(y->dtype) || y->dtype != x->dtype || y->format || x->format)
        return false;
    g->row = nest_new(
        b->arena, (const View *const[]) { &rows[Y], &rows[X], &rows[OFFSETS] }, 3);
    g->inner = nest_new(
        b->arena, (const View *const[]) { &inner[Y], &inner[X] }, 2);
    nest_with_axis(&g->row);
    nest_with_axis(&g->inner);
    if (nest_is_short_row(&g->inner, g->size)) g->moves = b->device->simd;
    g->parts = count_parts(b, g->row.count, bytes, 0.125);
    k->run = gather_run, k->self = g;
    return true;
}
/* Builds a kernel for y = [places.., rest..]. The first `own` places are axes of x, along which
   offsets differ or not (`differ`). The other places are axes of the index, which selects from the
   next q axes of x. The rest are the axes of x after those. */
static bool build_rows(Build *b, Gather *g, int own, bool differ, int q, int places, Kernel *k) {
    const View *y = &b->step->view[0], *x = &b->step->view[1];
    View row = some_axes(y, 0, places), of_x = row, of_offsets = row;
    int64_t next = 1;
    for (int a = places - 1; a >= 0; a--) {
        const bool apart = a >= own || differ;
        of_x.stride[a] = a < own ? x->stride[a] : 0;
        of_offsets.stride[a] = apart ? next : 0;
        next *= apart ? y->dim[a] : 1;
    }
    const int n = y->rank - places;
    if (g->condition.rank)
        g->chosen = (Chosen){.q = 1,
                             .count = next,
                             .dim = {x->dim[own]},
                             .stride = {x->stride[own]},
                             .at = build_bytes(b, (size_t)next * sizeof(int64_t))};
    else if (!chosen_new(b, x, own, q, 2, next, &g->chosen)) return false;
    return finish_gather(b, g, (const View[]){row, of_x, of_offsets},
                         (const View[]){some_axes(y, places, n), some_axes(x, own + q, n)}, k);
}
bool gather_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const int axis = (int)b->step->param[OP_AXIS];
    return build_rows(b, ARENA_NEW(b->arena, Gather, 1), axis, false, 1,
                      axis + b->step->view[2].rank, k);
}
bool compress_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const int axis = (int)b->step->param[OP_AXIS];
    Gather *g = ARENA_NEW(b->arena, Gather, 1);
    g->condition = b->step->view[2];
    if (g->condition.dtype != DT_BOOL || g->condition.format) return false;
    return build_rows(b, g, axis, false, 1, axis + 1, k);
}
bool gathernd_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const View *index = &b->step->view[2];
    const int places = index->rank - 1;
    return build_rows(b, ARENA_NEW(b->arena, Gather, 1), (int)b->step->param[GATHERND_BATCH], true,
                      (int)index->dim[places], places, k);
}
bool reverse_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const View *y = &b->step->view[0], *x = &b->step->view[1];
    const int batch = (int)b->step->param[REVERSE_BATCH], time = (int)b->step->param[REVERSE_TIME],
              axis[] = {time, batch};
    int rest[STEP_RANK], n = 0;
    for (int a = 0; a < y->rank; a++)
        if (a != batch && a != time) rest[n++] = a;
    Gather *g = ARENA_NEW(b->arena, Gather, 1);
    g->times = y->dim[time];
    View row = view_axes(y, 2, axis), of_x = view_axes(x, 2, axis),
         of_offsets = view_dense(0, DT_INT64, 2, row.dim);
    of_x.stride[0] = 0;
    return chosen_new(b, x, time, 1, 2, g->times * y->dim[batch], &g->chosen) &&
           finish_gather(b, g, (const View[]){row, of_x, of_offsets},
                         (const View[]){view_axes(y, n, rest), view_axes(x, n, rest)}, k);
}
