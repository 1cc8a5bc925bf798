/* direct.c -- convolution and pooling in plain loops that follow the definition, for every element
   type and shape. A row of outputs is accumulated together, one input row and one kernel cell after
   the other. */
#include "ops/cpu/cpu.h"
#include <string.h>

/* Finds the outputs lo..hi-1 of the last axis whose cell k lies inside the input. */
static void window_row(const Window *g, int64_t k, int64_t *lo, int64_t *hi) {
    const int64_t s = g->stride[2], shift = k * g->dilation[2] - g->begin[2],
                  room = g->in[2] - 1 - shift;
    *lo = shift >= 0 ? 0 : (-shift + s - 1) / s;
    *hi = room < 0 ? 0 : room / s + 1;
    if (*hi > g->out[2]) *hi = g->out[2];
}

/* ---- convolution */
typedef struct Conv {
    Window g;                 /* the windows along three axes */
    int64_t ws[STEP_SPATIAL]; /* the strides of w along the spatial axes */
    Operand x, w;
    Tail tail;
    ComputeClass class;
    int size;
    int64_t batch, outs, ins, group; /* ins: input channels of a group */
    size_t acc;                      /* an offset into the scratch memory: a row of accumulators */
    void (*scale_add)(void *y, const void *x, int64_t stride, const void *w, int64_t n);
    void (*store)(void *y, int64_t stride, const void *x, int64_t n);
} Conv;

static void conv_plane(const Conv *c, void *acc, const char *x, const char *w, int64_t od,
                       int64_t oh) {
    const Window *g = &c->g;
    int64_t d, h, lo, hi;
    for (int64_t kd = 0; kd < g->kernel[0]; kd++) {
        if (!window_at(g, 0, od, kd, &d)) continue;
        for (int64_t kh = 0; kh < g->kernel[1]; kh++) {
            if (!window_at(g, 1, oh, kh, &h)) continue;
            for (int64_t kw = 0; kw < g->kernel[2]; kw++) {
                window_row(g, kw, &lo, &hi);
                if (lo >= hi) continue;
                const int64_t i = lo * g->stride[2] - g->begin[2] + kw * g->dilation[2];
                c->scale_add((char *)acc + lo * c->size,
                             x + (d * g->xs[0] + h * g->xs[1] + i * g->xs[2]) * c->size,
                             g->stride[2] * g->xs[2],
                             w + (kd * c->ws[0] + kh * c->ws[1] + kw * c->ws[2]) * c->size,
                             hi - lo);
            }
        }
    }
}

static void conv_channel(const Conv *c, void *acc, char *y, const char *x, const char *w) {
    const Window *g = &c->g;
    for (int64_t od = 0; od < g->out[0]; od++)
        for (int64_t oh = 0; oh < g->out[1]; oh++) {
            reduce_start(acc, c->class, REDUCE_SUM, g->out[2]);
            for (int64_t i = 0; i < c->ins; i++)
                conv_plane(c, acc, x + i * c->x.view.stride[1] * c->size,
                           w + i * c->w.view.stride[1] * c->size, od, oh);
            c->store(y + (od * g->ys[0] + oh * g->ys[1]) * c->size, g->ys[2], acc, g->out[2]);
        }
}

static int conv_run(const Kernel *k, void *const slot[], void *work) {
    const Conv *c = k->self;
    const char *x = operand_at(&c->x, slot, work), *w = operand_at(&c->w, slot, work);
    char *y = view_at(&c->tail.into, slot, work);
    for (int64_t n = 0; n < c->batch; n++)
        for (int64_t o = 0; o < c->outs; o++) {
            const int64_t first = o / (c->outs / c->group) * c->ins;
            conv_channel(c, (char *)work + c->acc,
                         y + (n * c->tail.into.stride[0] + o * c->tail.into.stride[1]) * c->size,
                         x + (n * c->x.view.stride[0] + first * c->x.view.stride[1]) * c->size,
                         w + o * c->w.view.stride[0] * c->size);
        }
    tail_run(&c->tail, slot, work);
    return 0;
}

bool direct_conv_build(Build *b, Kernel *k) {
    Conv *c = ARENA_NEW(b->arena, Conv, 1);
    const View *v = b->step->view;
    c->class = view_class(v, 3);
    const int dtype = class_dtype(c->class);
    c->size = dtype_size(dtype);
    if (!operand_typed(b, 1, dtype, &c->x) || !operand_typed(b, 2, dtype, &c->w) ||
        !tail_new(b, dtype, TAIL_ANY, &c->tail))
        return false;
    c->g = window_new(b->step, &c->tail.into, &c->x.view);
    window_strides(&c->w.view, c->ws);
    c->batch = v[0].dim[0], c->outs = v[0].dim[1], c->ins = v[2].dim[1],
    c->group = b->step->param[CONV_GROUP];
    c->acc = build_bytes(b, (size_t)(c->g.out[2] * c->size));
    c->scale_add = b->device->simd->scale_add[c->class];
    c->store = b->device->simd->store[c->class][dtype];
    k->run = conv_run;
    k->self = c;
    return true;
}

/* ---- pooling */
typedef struct Pool {
    Window g; /* the windows along three axes */
    Operand x;
    Tail tail;
    ComputeClass class, wide;
    ReduceKind kind;
    int size, wide_size;
    bool bytes;                   /* the maximum of 8-bit integers, computed in their own type */
    int lowest;                   /* the least number of that type */
    int64_t *cells[STEP_SPATIAL]; /* for a mean: the number of cells that each output of an axis is
                                     divided by */
    size_t acc, line, places;     /* offsets into the scratch memory; line, places: used by
                                     pool_run_rows */
    void (*merge)(void *acc, const void *x, int64_t stride, int64_t n);
    void (*store)(void *y, int64_t stride, const void *x, int64_t n);
    void (*move_rows)(void *y, int64_t ys, const void *x, int64_t xs, int64_t rows, int64_t bytes);
} Pool;

static void pool_start(const Pool *p, void *acc, int64_t n) {
    if (p->bytes) memset(acc, p->lowest, (size_t)n);
    else reduce_start(acc, p->wide, p->kind, n);
}
/* Computes all channels of an output place, which are adjacent. */
static void pool_cells(const Pool *p, void *acc, const char *x, int64_t channels, int64_t od,
                       int64_t oh, int64_t ow) {
    const Window *g = &p->g;
    int64_t d, h, w;
    pool_start(p, acc, channels);
    for (int64_t kd = 0; kd < g->kernel[0]; kd++)
        for (int64_t kh = 0; kh < g->kernel[1]; kh++)
            for (int64_t kw = 0; kw < g->kernel[2]; kw++)
                if (window_at(g, 0, od, kd, &d) && window_at(g, 1, oh, kh, &h) &&
                    window_at(g, 2, ow, kw, &w))
                    p->merge(acc, x + (d * g->xs[0] + h * g->xs[1] + w * g->xs[2]) * p->size, 1,
                             channels);
    if (p->kind == REDUCE_MEAN)
        reduce_divide(acc, p->wide, p->cells[0][od] * p->cells[1][oh] * p->cells[2][ow], channels);
}
static int pool_run_channels(const Kernel *k, void *const slot[], void *work) {
    const Pool *p = k->self;
    const Window *g = &p->g;
    const View *yv = &p->tail.into, *xv = &p->x.view;
    const char *x = operand_at(&p->x, slot, work);
    char *y = view_at(yv, slot, work), *acc = (char *)work + p->acc;
    for (int64_t n = 0; n < yv->dim[0]; n++)
        for (int64_t od = 0; od < g->out[0]; od++)
            for (int64_t oh = 0; oh < g->out[1]; oh++)
                for (int64_t ow = 0; ow < g->out[2]; ow++) {
                    pool_cells(p, acc, x + n * xv->stride[0] * p->size, yv->dim[1], od, oh, ow);
                    p->store(
                        y + (n * yv->stride[0] + od * g->ys[0] + oh * g->ys[1] + ow * g->ys[2]) *
                                p->size,
                        yv->stride[1], acc, yv->dim[1]);
                }
    tail_run(&p->tail, slot, work);
    return 0;
}

/* Computes the maximum over each column of the windows of a row of outputs: a row of the input with
   all its channels. */
static void pool_columns(const Pool *p, char *line, const char *x, int64_t row, int64_t od,
                         int64_t oh) {
    const Window *g = &p->g;
    int64_t d, h;
    pool_start(p, line, row);
    for (int64_t kd = 0; kd < g->kernel[0]; kd++)
        for (int64_t kh = 0; kh < g->kernel[1]; kh++)
            if (window_at(g, 0, od, kd, &d) && window_at(g, 1, oh, kh, &h))
                p->merge(line, x + (d * g->xs[0] + h * g->xs[1]) * p->size, 1, row);
}
/* Computes the maximum over each window from those of its columns. */
static void pool_across(const Pool *p, char *acc, const char *line, char *places,
                        int64_t channels) {
    const Window *g = &p->g;
    const int64_t cell = channels * p->size, s = g->stride[2];
    pool_start(p, acc, g->out[2] * channels);
    for (int64_t k = 0; k < g->kernel[2]; k++) {
        int64_t first = 0, end = g->out[2], w;
        while (first < end && !window_at(g, 2, first, k, &w)) first++;
        while (end > first && !window_at(g, 2, end - 1, k, &w)) end--;
        if (first == end) continue;
        window_at(g, 2, first, k, &w);
        const char *from = line + w * cell;
        if (s > 1) p->move_rows(places, cell, from, s * cell, end - first, cell), from = places;
        p->merge(acc + first * cell, from, 1, (end - first) * channels);
    }
}
/* Computes maxima where all places of a row are adjacent: first down the columns, then along the
   rows. */
static int pool_run_rows(const Kernel *k, void *const slot[], void *work) {
    const Pool *p = k->self;
    const Window *g = &p->g;
    const View *yv = &p->tail.into, *xv = &p->x.view;
    const char *x = operand_at(&p->x, slot, work);
    char *y = view_at(yv, slot, work), *acc = (char *)work + p->acc, *line = (char *)work + p->line;
    const int64_t channels = yv->dim[1];
    for (int64_t n = 0; n < yv->dim[0]; n++)
        for (int64_t od = 0; od < g->out[0]; od++)
            for (int64_t oh = 0; oh < g->out[1]; oh++) {
                char *to = y + (n * yv->stride[0] + od * g->ys[0] + oh * g->ys[1]) * p->size;
                pool_columns(p, line, x + n * xv->stride[0] * p->size, g->in[2] * channels, od, oh);
                pool_across(p, acc, line, (char *)work + p->places, channels);
                if (yv->stride[1] == 1 && g->ys[2] == channels)
                    p->store(to, 1, acc, g->out[2] * channels);
                else
                    for (int64_t ow = 0; ow < g->out[2]; ow++)
                        p->store(to + ow * g->ys[2] * p->size, yv->stride[1],
                                 acc + ow * channels * p->size, channels);
            }
    tail_run(&p->tail, slot, work);
    return 0;
}

static bool pools_bytes(const Step *s) {
    const int type = s->view[1].dtype;
    return s->param[POOL_KIND] == POOL_MAX && s->view[0].dtype == type && s->ncode == 0 &&
           dtype_is_byte(type);
}
/* Whether the channels are adjacent in what the kernel reads. If the view must be converted, its
   copy is dense, and they are not. */
static bool reads_channels(const Step *s) {
    return view_is_channels_last(&s->view[1]) &&
           (pools_bytes(s) || s->view[1].dtype == class_dtype(view_class(s->view, 2)));
}
static bool direct_pool_build(Build *b, Kernel *k) {
    Pool *p = ARENA_NEW(b->arena, Pool, 1);
    const Step *s = b->step;
    p->class = view_class(s->view, 2);
    p->kind = s->param[POOL_KIND] == POOL_MAX ? REDUCE_MAX : REDUCE_MEAN;
    p->wide = class_wide(p->class, p->kind);
    p->bytes = pools_bytes(s);
    const int type = s->view[1].dtype, dtype = p->bytes ? type : class_dtype(p->class);
    p->lowest = type == DT_INT8 ? INT8_MIN : 0;
    p->size = dtype_size(dtype), p->wide_size = p->bytes ? 1 : dtype_size(class_dtype(p->wide));
    if (!operand_typed(b, 1, dtype, &p->x) || !tail_new(b, dtype, TAIL_ANY, &p->tail)) return false;
    p->g = window_new(s, &p->tail.into, &p->x.view);
    for (int a = 0; a < STEP_SPATIAL; a++) p->cells[a] = window_cells(b, &p->g, a);
    const int64_t channels = s->view[0].dim[1];
    const bool by_rows = p->kind == REDUCE_MAX && p->g.xs[2] == channels &&
                         p->wide_size == p->size && p->g.kernel[2] > 1;
    const int64_t cells = by_rows ? p->g.out[2] : 1;
    p->acc = build_bytes(b, (size_t)(cells * channels * p->wide_size));
    p->line = build_bytes(b, (size_t)(by_rows ? p->g.in[2] * channels * p->size : 0));
    p->places = build_bytes(b, (size_t)(by_rows ? cells * channels * p->size : 0));
    const Simd *simd = b->device->simd;
    const ComputeClass class = !p->bytes ? p->class : type == DT_INT8 ? CLASS_INT8 : CLASS_UINT8;
    p->merge = simd->merge[class][p->kind];
    p->store = p->bytes ? store_bytes : simd->store[p->wide][dtype];
    p->move_rows = simd->move_rows;
    k->run = by_rows ? pool_run_rows : pool_run_channels;
    k->self = p;
    return true;
}

static bool pool_possible(const Step *s) {
    return step_spatial(s) && s->nparam == window_params(s) && dtype_numeric(s->view[0].dtype) &&
           dtype_numeric(s->view[1].dtype);
}
static int pool_choices(const Device *d, const Step *s) {
    return pool_possible(s) ? dnn_pool_choices(d, s) + 1 : 0;
}
/* Whether plane by plane is the fastest, unless means are computed by rows: for means of few cells,
   and for maxima whose rows are read in place or whose windows move by one place or do not overlap.
   For other maxima oneDNN is faster. */
static bool planes_first(const Step *s) {
    const StepWindow w = step_window(s);
    int64_t cells = 1;
    bool even = w.n == 2;
    for (int i = 0; i < w.n; i++) {
        cells *= w.kernel[i];
        even &= w.stride[i] == 1 || w.stride[i] >= w.kernel[i];
    }
    return !view_is_channels_last(&s->view[0]) && !view_is_channels_last(&s->view[1]) &&
           (s->param[POOL_KIND] == POOL_MAX ? even || planes_peaks(s) : cells <= PLANES_FEW);
}
static bool pool_build_whole(Build *b, int choice, Kernel *k) {
    const size_t before = b->workspace;
    const bool by_rows = neighbours_fit(b->step);
    const int of_dnn = by_rows || planes_first(b->step) ? choice - 1 : choice;
    if (of_dnn >= 0 && of_dnn < dnn_pool_choices(b->device, b->step)) {
        if (dnn_pool_build(b, of_dnn, k)) return true;
        if (choice > 0) return false;
        b->workspace = before;
    }
    if (!by_rows && reads_channels(b->step)) return direct_pool_build(b, k);
    return means_build(b, k) || (by_rows ? neighbours_build(b, k) : planes_build(b, k));
}
static bool pool_build(Build *b, int choice, Kernel *k) {
    const Step *s = b->step;
    const View *v = s->view;
    int64_t *param = arena_copy(b->arena, s->param, (size_t)s->nparam * sizeof *param);
    Step still = *s;
    still_windows(s, param);
    still.param = param;
    const bool last = view_is_channels_last(&v[0]) || view_is_channels_last(&v[1]);
    const Cut cut[] = {{0, 1, true},
                       last ? (Cut){view_spatial_axis(&v[0]), 1, true} : (Cut){1, 16, true}};
    b->step = &still;
    const bool done = split_build(b, pool_build_whole, choice, cut, 2, k);
    b->step = s;
    return done;
}
const Maker pool_maker = {.choices = pool_choices, .build = pool_build};
