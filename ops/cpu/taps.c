/* taps.c -- convolution with few input channels a group (depthwise, grouped) without leaving the
   plain layout. The channels of a group are copied once into a padded plane, split by the
   remainders of row and column modulo the strides. There the cell (kh, kw) of channel c is a
   constant offset from any output, whatever the strides and dilations, so a whole output plane (its
   rows as long as the padded ones) is one run: y[i] = sum over taps of w[t] * x[offset[t] + i],
   with the accumulators in registers. With three axes a channel has as many planes as the windows
   reach, and each output plane is such a run from the first plane of its windows on. */
#include "ops/cpu/cpu.h"
#include <string.h>

enum { MAX_TAPS_INPUTS = 16 };
typedef struct Deep { /* the first of three axes */
    int64_t in, out, stride, pad, dilation, cells, planes;
} Deep;
/* Columns of a row that lie side by side: from `first` on, which goes to place `to` of the plane of
   the first remainder, columns of all remainders take turns, n times. */
typedef struct Turns {
    int64_t first, to, n;
    Weave *unweave; /* NULL: they are moved whole, or there are none */
} Turns;
typedef struct Taps {
    Operand x, w;
    Tail tail;
    Deep deep;
    int64_t in[2], out[2], stride[2], pad[2],
        phase[2]; /* phase: rows and columns of one remainder's plane */
    int64_t batch, outs, ins, group, ntap, run;
    int64_t *offset;
    size_t planes, result, nplane, nplanes; /* in the scratch; nplanes floats a channel, nplane one
                                               of its planes */
    void (*taps)(float *y, const float *x, const int64_t offset[], const float w[], int64_t taps,
                 int64_t n);
    void (*tap_rows)(const TapRows *);
    int width;     /* of a vector */
    bool by_rows;  /* tiles; */
    TapRows tiles; /* but for x, w, y */
    Turns turns;
    int64_t rows, *row; /* rows that count, and where each begins in the planes */
} Taps;

/* Columns first..end-1 of a row, one at a time; row: of the plane of the first remainder. */
static void scatter_columns(const Taps *t, float *restrict row, const float *restrict x,
                            int64_t column_stride, int64_t first, int64_t end) {
    for (int64_t i = first; i < end; i++) {
        const int64_t p = i + t->pad[1], c = p / t->stride[1];
        if (c < t->phase[1])
            row[p % t->stride[1] * t->phase[0] * t->phase[1] + c] = x[i * column_stride];
    }
}
/* A channel into its planes; every channel goes to the same places, the others stay the zeros of
   the padding. */
static void scatter_channel(const Taps *t, float *restrict plane, const float *restrict x,
                            int64_t row_stride, int64_t column_stride) {
    const Turns *turns = &t->turns;
    const int64_t n = column_stride == 1 ? turns->n : 0,
                  end = n ? turns->first + n * t->stride[1] : 0;
    for (int64_t i = 0; i < t->rows; i++, x += row_stride) {
        float *row = plane + t->row[i];
        if (n) scatter_columns(t, row, x, column_stride, 0, turns->first);
        if (n && t->stride[1] == 1) memcpy(row + turns->to, x, (size_t)n * sizeof *row);
        else if (n) turns->unweave(row + turns->to, x + turns->first, t->phase[0] * t->phase[1], n);
        scatter_columns(t, row, x, column_stride, end, t->in[1]);
    }
}

static void gather_plane(const Taps *t, float *y, const float *result, int64_t pitch) {
    const View *yv = &t->tail.into;
    const int r = yv->rank - 2, c = yv->rank - 1;
    for (int64_t i = 0; i < t->out[0]; i++) {
        float *to = y + i * (r > 1 ? yv->stride[r] : 0);
        const float *from = result + i * pitch;
        if (yv->stride[c] == 1) memcpy(to, from, (size_t)t->out[1] * sizeof *to);
        else
            for (int64_t j = 0; j < t->out[1]; j++) to[j * yv->stride[c]] = from[j];
    }
}
/* The windows of a plane of the output; x: of the first plane of the input that they reach. */
static void run_plane(const Taps *t, float *y, float *result, const float *x, const float *w) {
    if (!t->by_rows) {
        t->taps(result, x, t->offset, w, t->ntap, t->run);
        gather_plane(t, y, result, t->phase[1]);
        return;
    }
    const View *yv = &t->tail.into;
    const bool there = yv->stride[yv->rank - 1] == 1 && t->out[1] >= t->width;
    TapRows s = t->tiles;
    s.x = x, s.w = w, s.y = there ? y : result;
    if (there) s.ys = yv->stride[yv->rank - 2];
    t->tap_rows(&s);
    if (!there) gather_plane(t, y, result, s.ys);
}
static void run_group(const Taps *t, float *planes, float *result, float *y, const float *x,
                      const float *w) {
    const View *yv = &t->tail.into, *xv = &t->x.view;
    const Deep *d = &t->deep;
    const int r = xv->rank - 2, c = xv->rank - 1;
    for (int64_t i = 0; i < t->ins; i++)
        for (int64_t z = 0; z < d->in && z + d->pad < d->planes; z++)
            if (z + d->pad >= 0)
                scatter_channel(t,
                                planes + (size_t)i * t->nplanes + (size_t)(z + d->pad) * t->nplane,
                                x + i * xv->stride[1] + (r > 2 ? z * xv->stride[2] : 0),
                                r > 1 ? xv->stride[r] : 0, xv->stride[c]);
    for (int64_t o = 0; o < t->outs / t->group; o++, y += yv->stride[1])
        for (int64_t z = 0; z < d->out; z++)
            run_plane(t, y + (r > 2 ? z * yv->stride[2] : 0), result,
                      planes + (size_t)(z * d->stride) * t->nplane, w + o * t->ntap);
}

static int taps_run(const Kernel *k, void *const slot[], void *work) {
    const Taps *t = k->self;
    const float *x = operand_at(&t->x, slot, work), *w = operand_at(&t->w, slot, work);
    float *y = view_at(&t->tail.into, slot, work),
          *planes = (float *)(void *)((char *)work + t->planes);
    float *result = (float *)(void *)((char *)work + t->result);
    const View *yv = &t->tail.into;
    const int64_t of_group = t->outs / t->group;
    memset(planes, 0, (t->nplanes * (size_t)t->ins + (size_t)t->width) * sizeof *planes);
    for (int64_t n = 0; n < t->batch; n++)
        for (int64_t g = 0; g < t->group; g++)
            run_group(t, planes, result, y + n * yv->stride[0] + g * of_group * yv->stride[1],
                      x + n * t->x.view.stride[0] + g * t->ins * t->x.view.stride[1],
                      w + g * of_group * t->ntap);
    tail_run(&t->tail, slot, work);
    return 0;
}

bool taps_possible(const Step *s) {
    const View *v = s->view;
    const int64_t ins = v[2].dim[1];
    if (ins < 1 || ins > MAX_TAPS_INPUTS) return false;
    return view_class(v, 3) == CLASS_FLOAT;
}

/* Of the last two axes, rows and columns, and of the first one, which is the depth. */
static void take_axes(Taps *t, const Window *g) {
    for (int a = 0; a < 2; a++) {
        t->in[a] = g->in[1 + a], t->out[a] = g->out[1 + a];
        t->stride[a] = g->stride[1 + a], t->pad[a] = g->begin[1 + a];
        const int64_t reach = (g->kernel[1 + a] - 1) * g->dilation[1 + a];
        t->phase[a] = t->out[a] + reach / t->stride[a];
    }
    t->deep = (Deep){.in = g->in[0],
                     .out = g->out[0],
                     .stride = g->stride[0],
                     .pad = g->begin[0],
                     .dilation = g->dilation[0],
                     .cells = g->kernel[0]};
    t->deep.planes =
        (t->deep.out - 1) * t->deep.stride + (t->deep.cells - 1) * t->deep.dilation + 1;
}
/* The offset of every tap, in the order of the packed weights. */
static void place_taps(Taps *t, const Window *g) {
    const int64_t kh = g->kernel[1], kw = g->kernel[2], plane = t->phase[0] * t->phase[1],
                  cells = t->deep.cells * kh * kw;
    for (int64_t k = 0; k < t->ins * cells; k++) {
        const int64_t c = k / cells, z = k / (kh * kw) % t->deep.cells,
                      rows = k / kw % kh * g->dilation[1], columns = k % kw * g->dilation[2],
                      which = (rows % t->stride[0]) * t->stride[1] + columns % t->stride[1];
        t->offset[k] = c * (int64_t)t->nplanes + z * t->deep.dilation * (int64_t)t->nplane +
                       which * plane + rows / t->stride[0] * t->phase[1] + columns / t->stride[1];
    }
}

/* Tiles are for rows whose windows share rows of the image with those beside them. */
static void take_tiles(Build *b, Taps *t, const Window *g) {
    t->by_rows = g->stride[1] == 1 && g->dilation[1] == 1 && t->out[0] >= TAP_ROWS &&
                 2 * t->out[1] > t->width;
    if (!t->by_rows) return;
    const int64_t cells = g->kernel[1] * g->kernel[2], planes = t->ntap / cells;
    int64_t *plane = ARENA_NEW(b->arena, int64_t, planes);
    for (int64_t p = 0; p < planes; p++) plane[p] = t->offset[p * cells];
    t->tiles = (TapRows){.xs = t->phase[1],
                         .ys = t->out[1] > t->width ? t->out[1] : t->width,
                         .rows = t->out[0],
                         .columns = t->out[1],
                         .planes = planes,
                         .height = g->kernel[1],
                         .width = g->kernel[2],
                         .plane = plane,
                         .column = t->offset};
}

static void place_rows(Build *b, Taps *t) {
    const int64_t k = t->stride[1], first = (k - t->pad[1] % k) % k, to = (first + t->pad[1]) / k,
                  turns = (t->in[1] - first) / k, room = t->phase[1] - to,
                  n = turns < room ? turns : room;
    Weave *unweave = k < SIMD_WEAVES ? b->device->simd->unweave[2][k] : NULL;
    t->turns = (Turns){first, to, n > 0 && (k == 1 || unweave) ? n : 0, unweave};
    t->row = ARENA_NEW(b->arena, int64_t, t->in[0]);
    for (; t->rows < t->in[0]; t->rows++) {
        const int64_t p = t->rows + t->pad[0], r = p / t->stride[0];
        if (r >= t->phase[0]) break;
        t->row[t->rows] = ((p % t->stride[0]) * t->stride[1] * t->phase[0] + r) * t->phase[1];
    }
}

bool taps_build(Build *b, Kernel *k) {
    const Step *s = b->step;
    const View *v = s->view;
    const Window g = window_new(s, &v[0], &v[1]);
    Taps *t = ARENA_NEW(b->arena, Taps, 1);
    k->self = t, k->run = taps_run;
    t->batch = v[0].dim[0], t->outs = v[0].dim[1], t->ins = v[2].dim[1],
    t->group = s->param[CONV_GROUP];
    t->ntap = t->ins * view_count(&v[2]) / (v[2].dim[0] * v[2].dim[1]);
    take_axes(t, &g);
    t->run = (t->out[0] - 1) * t->phase[1] + t->out[1];
    t->nplane = (size_t)(t->stride[0] * t->stride[1] * t->phase[0] * t->phase[1]);
    t->nplanes = (size_t)t->deep.planes * t->nplane;
    t->offset = ARENA_NEW(b->arena, int64_t, t->ntap);
    place_taps(t, &g);
    t->taps = b->device->simd->taps, t->tap_rows = b->device->simd->tap_rows;
    t->width = b->device->simd->width;
    take_tiles(b, t, &g);
    t->planes = build_bytes(b, (t->nplanes * (size_t)t->ins + (size_t)t->width) * sizeof(float));
    t->result =
        build_bytes(b, (size_t)(t->by_rows ? t->out[0] * t->tiles.ys : t->run) * sizeof(float));
    place_rows(b, t);
    if (v[2].dtype == DT_FLOAT && view_is_dense(&v[2]) && !(b->weights && b->weights[2]))
        t->w = operand_as_is(b, 2);
    else if (!operand_pack(b, 2, DT_FLOAT, &t->w)) return false;
    if (t->w.constant) b->kernel->packed = 1 << 2;
    return operand_typed(b, 1, DT_FLOAT, &t->x) && tail_new(b, DT_FLOAT, TAIL_ANY, &t->tail);
}
