/* depthwise.c -- convolutions with one channel per group between images whose channels are last,
   with any number of axes, strides and dilations.

   The channels of each cell of a window are vectors, which are multiplied by vectors of weights
   (Simd.windows). Nothing is padded. Instead each output place has a list of the cells that do not
   lie in the padding. Places of a row with equal lists (a stretch) are computed together, and the
   lists are kept for the next row if they do not change. */
#include "ops/cpu/cpu.h"
#include <string.h>

typedef struct Axis {
    int64_t in, out, cells, stride, begin, dilation, xs, ys, adds; /* cells: of a window; xs, ys,
                                                                      adds: strides of x, y and the
                                                                      added view */
} Axis;
typedef struct Depthwise {
    Ending e;
    Operand x, w; /* w: [cells.., channels] */
    View add;
    Axis axis[STEP_SPATIAL]; /* the last one runs along the rows */
    int64_t batch, channels, cells;
    const float *scale, *shift;
    size_t stretches, lists; /* offsets into the scratch memory: the stretches of a row, and for
                                each two lists of `cells` numbers */
} Depthwise;
typedef struct Row { /* the memory of one row of y */
    const float *x, *w, *add;
    float *y;
} Row;
typedef struct Stretch { /* places of a row with the same cells; tap, cell: offsets of each cell in
                            x and in w */
    int64_t first, places, taps, *tap, *cell;
} Stretch;
typedef struct Stretches {
    Stretch *of; /* from left to right */
    int n;
    int64_t cells[4]; /* of the two other axes: the first cell and the end */
} Stretches;

/* The cells first..end-1 of the window of place i lie within the image. */
static int64_t first_cell(const Axis *a, int64_t i) {
    const int64_t before = a->begin - i * a->stride,
                  n = before > 0 ? (before + a->dilation - 1) / a->dilation : 0;
    return n < a->cells ? n : a->cells;
}
static int64_t end_cell(const Axis *a, int64_t i) {
    const int64_t room = a->in - 1 - (i * a->stride - a->begin),
                  n = room < 0 ? 0 : room / a->dilation + 1;
    return n < a->cells ? n : a->cells;
}
/* Lists the cells of place i of the row that lie within the image, given the cells of the other
   axes: their offsets in x, from the first cell of the window, and in the weights. */
static void list_cells(const Depthwise *d, const int64_t cells[4], int64_t i, Stretch *s) {
    const Axis *a = d->axis;
    const int64_t last = end_cell(&a[2], i), first = first_cell(&a[2], i);
    s->taps = 0;
    for (int64_t z = cells[0]; z < cells[1]; z++)
        for (int64_t h = cells[2]; h < cells[3]; h++)
            for (int64_t c = first; c < last; c++) {
                s->tap[s->taps] = z * a[0].dilation * a[0].xs + h * a[1].dilation * a[1].xs +
                                  c * a[2].dilation * a[2].xs;
                s->cell[s->taps++] = ((z * a[1].cells + h) * a[2].cells + c) * d->channels;
            }
}
/* Finds the stretches of a row, unless the row before had the same. */
static void find_stretches(const Depthwise *d, int64_t z, int64_t h, char *work, Stretches *s) {
    const Axis *a = &d->axis[2];
    const int64_t cells[4] = {first_cell(&d->axis[0], z), end_cell(&d->axis[0], z),
                              first_cell(&d->axis[1], h), end_cell(&d->axis[1], h)};
    int64_t *list = (int64_t *)(void *)(work + d->lists);
    if (s->n && memcmp(cells, s->cells, sizeof cells) == 0) return;
    memcpy(s->cells, cells, sizeof cells);
    s->n = 0;
    for (int64_t i = 0, end; i < a->out; i = end, list += 2 * d->cells) {
        const int64_t first = first_cell(a, i), last = end_cell(a, i);
        for (end = i + 1; end < a->out; end++)
            if (first_cell(a, end) != first || end_cell(a, end) != last) break;
        s->of[s->n] = (Stretch){i, end - i, 0, list, list + d->cells};
        list_cells(d, cells, i, &s->of[s->n++]);
    }
}
static void run_row(const Depthwise *d, const Simd *simd, const Row *r, const Stretches *of) {
    const Axis *a = &d->axis[2];
    ChannelWindows s = {.w = r->w,
                        .scale = d->scale,
                        .shift = d->shift,
                        .xs = a->stride * a->xs,
                        .ys = a->ys,
                        .adds = a->adds,
                        .channels = d->channels,
                        .squash = d->e.squash};
    for (int k = 0; k < of->n; k++) {
        const Stretch *p = &of->of[k];
        s.tap = p->tap, s.cell = p->cell, s.taps = p->taps, s.places = p->places;
        s.x = r->x + (p->first * a->stride - a->begin) * a->xs;
        s.y = r->y + p->first * a->ys, s.add = r->add ? r->add + p->first * a->adds : NULL;
        simd->windows(&s);
    }
    for (int64_t i = 0; i < a->out && d->e.pass; i++)
        d->e.pass(r->y + i * a->ys, r->y + i * a->ys, d->e.k, d->channels);
}
static int depthwise_run(const Kernel *k, void *const slot[], void *work) {
    const Depthwise *d = k->self;
    const View *yv = &d->e.tail.into;
    const Axis *a = d->axis;
    const float *x = operand_at(&d->x, slot, work), *w = operand_at(&d->w, slot, work),
                *add = d->e.add ? view_at(&d->add, slot, work) : NULL;
    float *y = view_at(yv, slot, work);
    Stretches stretches = {.of = (Stretch *)(void *)((char *)work + d->stretches)};
    for (int64_t n = 0; n < d->batch; n++)
        for (int64_t z = 0; z < a[0].out; z++)
            for (int64_t h = 0; h < a[1].out; h++) {
                const Row r = {
                    .x = x + n * d->x.view.stride[0] + (z * a[0].stride - a[0].begin) * a[0].xs +
                         (h * a[1].stride - a[1].begin) * a[1].xs,
                    .w = w,
                    .y = y + n * yv->stride[0] + z * a[0].ys + h * a[1].ys,
                    .add = add ? add + n * d->add.stride[0] + z * a[0].adds + h * a[1].adds : NULL,
                };
                find_stretches(d, z, h, work, &stretches);
                run_row(d, k->device->simd, &r, &stretches);
            }
    tail_run(&d->e.tail, slot, work);
    return 0;
}

/* ---- making */
bool depthwise_possible(const Step *s) {
    const View *v = s->view;
    return v[2].dim[1] == 1 && v[2].dim[0] == s->param[CONV_GROUP] && v[2].dim[0] > 1 &&
           !step_has_zero(s) && view_class(v, 3) == CLASS_FLOAT && v[0].dtype == DT_FLOAT &&
           v[1].dtype == DT_FLOAT && v[0].stride[1] == 1 && v[1].stride[1] == 1 &&
           view_count(&v[0]) > 0 && view_count(&v[1]) > 0 && view_count(&v[2]) > 0;
}
static void depthwise_axes(Depthwise *d, const Step *s) {
    const Window g = window_new(s, &d->e.tail.into, &d->x.view);
    int64_t adds[STEP_SPATIAL] = {0};
    if (d->e.add) window_strides(&d->add, adds);
    for (int a = 0; a < STEP_SPATIAL; a++)
        d->axis[a] = (Axis){.in = g.in[a],
                            .out = g.out[a],
                            .cells = g.kernel[a],
                            .stride = g.stride[a],
                            .begin = g.begin[a],
                            .dilation = g.dilation[a],
                            .xs = g.xs[a],
                            .ys = g.ys[a],
                            .adds = adds[a]};
}
bool depthwise_build(Build *b, Kernel *k) {
    const Step *s = b->step;
    Depthwise *d = ARENA_NEW(b->arena, Depthwise, 1);
    View w = s->view[2];
    int order[STEP_RANK], n = 0;
    for (int a = 2; a < w.rank; a++) order[n++] = a;
    order[n++] = 0;
    w = view_axes(&w, n, order);
    if (!ending_new(b, 1, 1, &d->e) || !operand_pack_as(b, 2, &w, DT_FLOAT, &d->w)) return false;
    if (d->w.constant) b->kernel->packed = 1 << 2;
    d->x = operand_as_is(b, 1);
    if (d->e.add) d->add = s->view[d->e.add];
    d->batch = s->view[0].dim[0], d->channels = s->view[0].dim[1];
    d->cells = view_count(&w) / d->channels;
    d->scale = ending_list(b, d->e.scale, 1, d->channels);
    d->shift = ending_list(b, d->e.shift, 0, d->channels);
    depthwise_axes(d, s);
    const Axis *row = &d->axis[2];
    const int64_t most = row->out < 2 * row->cells + 1 ? row->out : 2 * row->cells + 1;
    d->stretches = build_bytes(b, (size_t)most * sizeof(Stretch));
    d->lists = build_bytes(b, (size_t)(2 * d->cells * most) * sizeof(int64_t));
    k->self = d, k->run = depthwise_run;
    return true;
}
