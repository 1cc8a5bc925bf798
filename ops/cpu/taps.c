/* taps.c -- convolutions with few input channels per group (depthwise, grouped) that keep the plain
   layout.

   The channels of a group are first copied into padded planes, one for each remainder of the row
   and the column modulo the strides. There, cell (kh, kw) of channel c has a constant offset from
   any output, whatever the strides and dilations are. A whole output plane, with rows as long as
   the padded ones, is therefore a single run: y[i] = sum over taps of w[t] * x[offset[t] + i], with
   the accumulators in registers. With three spatial axes, a channel has as many such planes as the
   windows reach along the first axis, and each output plane is a run that begins at the first plane
   of its windows.

   If a group has several output channels, some of them are computed together (Simd.tap_channels),
   with the epilogue in registers as far as ending.c allows. In that case there may be many input
   channels. */
#include "ops/cpu/cpu.h"
#include <string.h>

/* CHANNELS: output channels that are computed together. LEAST_CHANNELS: a group must have this
   many. */
enum { CHANNELS = 8, LEAST_CHANNELS = 3 };
/* Limits beyond which other algorithms are, or are likely to be, faster. */
enum { MOST_INPUTS = 16, MOST_TERMS = 640, FEW_TERMS = 256, FEW_PLANES = 64 };
/* Floats of the padded planes of a group. */
enum { MOST_ROOM = 1 << 28 };
typedef struct Deep { /* the first of three spatial axes */
    int64_t in, out, stride, pad, dilation, cells, planes;
} Deep;
/* The columns of a row that are moved by one call. From column `first` on, which goes to place `to`
   of the plane of remainder 0, n groups of columns are split by their remainders. */
typedef struct Turns {
    int64_t first, to, n;
    Weave *unweave; /* NULL: with a stride of 1 they are moved as a whole; or n is 0 */
} Turns;
typedef struct Taps {
    Operand x, w;
    Ending e; /* if channels are computed one by one, only its tail is used */
    Deep deep;
    int64_t in[2], out[2], stride[2], pad[2],
        phase[2];                               /* rows and columns of the plane of one remainder */
    int64_t batch, outs, ins, group, ntap, run; /* ntap: terms of a sum; run: elements of a plane */
    int64_t *offset;
    size_t planes, result, nplane, nplanes; /* planes, result: offsets into the scratch memory;
                                               nplane, nplanes: the floats of a plane and of a
                                               channel */
    void (*taps)(float *y, const float *x, const int64_t offset[], const float w[], int64_t taps,
                 int64_t n);
    void (*tap_rows)(const TapRows *);
    int width;            /* floats of a vector */
    bool by_rows;         /* uses `tiles` (Simd.tap_rows) */
    TapRows tiles;        /* without x, w, y */
    bool together;        /* computes several output channels together */
    bool direct;          /* they are written directly to the output, without going through the
                            scratch memory */
    TapChannels channels; /* without x, w, y */
    void (*tap_channels)(const TapChannels *);
    Turns turns;
    int64_t rows, *row; /* the input rows that are read, and the offset of each in the planes */
} Taps;

/* Moves columns first..end-1 of a row, one at a time. `row` lies in the plane of remainder 0. */
static void scatter_columns(const Taps *t, float *restrict row, const float *restrict x,
                            int64_t column_stride, int64_t first, int64_t end) {
    const int64_t stride = t->stride[1], plane = t->phase[0] * t->phase[1], p = first + t->pad[1];
    int64_t c = p / stride, r = p % stride;
    for (int64_t i = first; i < end && c < t->phase[1]; i++) {
        row[r * plane + c] = x[i * column_stride];
        if (++r == stride) r = 0, c++;
    }
}
/* Moves a channel into its planes. All channels go to the same places; the other places keep the
   zeros of the padding. */
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
    const View *yv = &t->e.tail.into;
    const int r = yv->rank - 2, c = yv->rank - 1;
    for (int64_t i = 0; i < t->out[0]; i++) {
        float *to = y + i * (r > 1 ? yv->stride[r] : 0);
        const float *from = result + i * pitch;
        if (yv->stride[c] == 1) memcpy(to, from, (size_t)t->out[1] * sizeof *to);
        else
            for (int64_t j = 0; j < t->out[1]; j++) to[j * yv->stride[c]] = from[j];
    }
}
/* Computes a plane of the output for one channel. x: the first plane of the input that its windows
   reach. */
static void run_plane(const Taps *t, float *y, float *result, const float *x, const float *w) {
    if (!t->by_rows) {
        t->taps(result, x, t->offset, w, t->ntap, t->run);
        gather_plane(t, y, result, t->phase[1]);
        return;
    }
    const View *yv = &t->e.tail.into;
    const bool there = yv->stride[yv->rank - 1] == 1 && t->out[1] >= t->width;
    TapRows s = t->tiles;
    s.x = x, s.w = w, s.y = there ? y : result;
    if (there) s.ys = yv->stride[yv->rank - 2];
    t->tap_rows(&s);
    if (!there) gather_plane(t, y, result, s.ys);
}
static void pass_over(const Taps *t, float *y, int64_t channels) {
    const TapChannels *s = &t->channels;
    for (int64_t o = 0; o < channels && t->e.pass; o++)
        for (int64_t i = 0; i < s->rows; i++) {
            float *row = y + o * s->yc + i * s->ys;
            t->e.pass(row, row, t->e.k, s->columns);
        }
}
/* Computes a plane of the output for several channels, of which `first` is the first. */
static void run_channels(const Taps *t, float *y, float *result, const float *x, const float *w,
                         int64_t first, int64_t channels) {
    TapChannels s = t->channels;
    s.x = x, s.w = w, s.y = t->direct ? y : result, s.channels = channels;
    s.scale += first, s.shift += first;
    t->tap_channels(&s);
    pass_over(t, s.y, channels);
    for (int64_t o = 0; o < channels && !t->direct; o++)
        gather_plane(t, y + o * t->e.tail.into.stride[1], result + o * s.yc, t->phase[1]);
}
/* Computes channels first..first+n-1 of the output from the planes of their group. y: channel
   `first`. */
static void run_block(const Taps *t, const float *planes, float *result, float *y, const float *w,
                      int64_t first, int64_t n) {
    const View *yv = &t->e.tail.into;
    const Deep *d = &t->deep;
    for (int64_t z = 0; z < d->out; z++) {
        const float *x = planes + (size_t)(z * d->stride) * t->nplane;
        float *to = y + (yv->rank > 4 ? z * yv->stride[2] : 0);
        if (t->together) run_channels(t, to, result, x, w, first, n);
        else run_plane(t, to, result, x, w);
    }
}
static void enter_channels(const Taps *t, float *planes, const float *x) {
    const View *xv = &t->x.view;
    const Deep *d = &t->deep;
    const int r = xv->rank - 2, c = xv->rank - 1;
    for (int64_t i = 0; i < t->ins; i++)
        for (int64_t z = 0; z < d->in && z + d->pad < d->planes; z++)
            if (z + d->pad >= 0)
                scatter_channel(t,
                                planes + (size_t)i * t->nplanes + (size_t)(z + d->pad) * t->nplane,
                                x + i * xv->stride[1] + (r > 2 ? z * xv->stride[2] : 0),
                                r > 1 ? xv->stride[r] : 0, xv->stride[c]);
}
/* Computes group g of an image. The last channels that are computed together may overlap the ones
   before. */
static void run_group(const Taps *t, float *planes, float *result, float *y, const float *w,
                      int64_t g) {
    const int64_t outs = t->outs / t->group, most = t->together ? CHANNELS : 1,
                  n = outs < most ? outs : most;
    for (int64_t o = 0; o < outs; o += n) {
        const int64_t first = g * outs + (o < outs - n ? o : outs - n);
        run_block(t, planes, result, y + first * t->e.tail.into.stride[1], w + first * t->ntap,
                  first, n);
    }
}

static int taps_run(const Kernel *k, void *const slot[], void *work) {
    const Taps *t = k->self;
    const float *x = operand_at(&t->x, slot, work), *w = operand_at(&t->w, slot, work);
    float *y = view_at(&t->e.tail.into, slot, work),
          *planes = (float *)(void *)((char *)work + t->planes);
    float *result = (float *)(void *)((char *)work + t->result);
    const View *yv = &t->e.tail.into;
    memset(planes, 0, (t->nplanes * (size_t)t->ins + (size_t)t->width) * sizeof *planes);
    for (int64_t n = 0; n < t->batch; n++)
        for (int64_t g = 0; g < t->group; g++) {
            enter_channels(t, planes,
                           x + n * t->x.view.stride[0] + g * t->ins * t->x.view.stride[1]);
            run_group(t, planes, result, y + n * yv->stride[0], w, g);
        }
    tail_run(&t->e.tail, slot, work);
    return 0;
}

/* Whether the padded planes of a group have a reasonable size, however far the windows reach. */
static bool planes_fit(const Step *s) {
    const StepWindow w = step_window(s);
    double room = (double)s->view[2].dim[1];
    for (int a = 0; a < w.n; a++)
        room *= (double)s->view[0].dim[2 + a] * (double)w.stride[a] +
                (double)w.kernel[a] * (double)w.dilation[a];
    return room <= MOST_ROOM;
}
bool taps_possible(const Step *s) {
    const int64_t ins = s->view[2].dim[1];
    return ins >= 1 && ins <= MOST_INPUTS && view_class(s->view, 3) == CLASS_FLOAT && planes_fit(s);
}
bool taps_together_possible(const Step *s) {
    const View *y = &s->view[0];
    const int64_t terms = conv_terms(s);
    return y->dim[1] / s->param[CONV_GROUP] >= LEAST_CHANNELS && y->stride[y->rank - 1] == 1 &&
           terms >= 1 && (terms <= MOST_TERMS || s->view[2].dim[1] <= MOST_INPUTS) &&
           view_class(s->view, 3) == CLASS_FLOAT && planes_fit(s);
}
bool taps_together_likely(const Step *s) {
    const StepWindow w = step_window(s);
    const int64_t terms = conv_terms(s), ins = s->view[2].dim[1];
    int64_t planes = 1;
    for (int a = 0; a < w.n; planes *= w.stride[a++])
        if (w.stride[a] > FEW_PLANES / planes) return false;
    if (s->view[0].dim[1] / s->param[CONV_GROUP] <= CHANNELS) return true;
    return terms <= FEW_TERMS && (terms > ins || ins <= MOST_INPUTS); /* otherwise it is a matrix
                                                                         product */
}

/* Takes the last two axes as rows and columns, and the first one as the depth. */
static void taps_axes(Taps *t, const Window *g) {
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
/* Computes the offset of each tap, in the order of the packed weights. */
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

/* Uses tiles if the windows of neighbouring rows share rows of the image. */
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

/* Prepares the computation of several channels. All rows of an output plane are a single run if no
   padding lies between them. */
static void take_channels(Build *b, Taps *t) {
    const View *yv = &t->e.tail.into;
    const int64_t ys = yv->rank > 3 ? yv->stride[yv->rank - 2] : 0;
    const bool whole = t->phase[1] == t->out[1] && ys == t->out[1];
    TapChannels *s = &t->channels;
    s->rows = t->out[0], s->columns = t->out[1], s->xs = t->phase[1], s->ys = ys;
    s->yc = yv->stride[1];
    if (whole) s->columns *= s->rows, s->rows = 1;
    t->direct = yv->stride[yv->rank - 1] == 1 && s->columns >= t->width;
    if (!t->direct) s->rows = 1, s->columns = t->run, s->yc = t->run + t->width;
    s->ws = s->taps = t->ntap, s->offset = t->offset, s->squash = t->e.squash;
    s->scale = ending_list(b, t->e.scale, 1, t->outs);
    s->shift = ending_list(b, t->e.shift, 0, t->outs);
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

/* Floats of a result that is computed in scratch memory before it is moved to the output. */
static int64_t count_result(const Taps *t) {
    if (t->together) return t->direct ? 0 : CHANNELS * t->channels.yc;
    return t->by_rows ? t->out[0] * t->tiles.ys : t->run;
}
bool taps_build(Build *b, bool together, Kernel *k) {
    const Step *s = b->step;
    const View *v = s->view;
    const Window g = window_new(s, &v[0], &v[1]);
    Taps *t = ARENA_NEW(b->arena, Taps, 1);
    k->self = t, k->run = taps_run;
    t->batch = v[0].dim[0], t->outs = v[0].dim[1], t->ins = v[2].dim[1],
    t->group = s->param[CONV_GROUP];
    t->ntap = conv_terms(s);
    taps_axes(t, &g);
    t->run = (t->out[0] - 1) * t->phase[1] + t->out[1];
    t->nplane = (size_t)(t->stride[0] * t->stride[1] * t->phase[0] * t->phase[1]);
    t->nplanes = (size_t)t->deep.planes * t->nplane;
    t->offset = ARENA_NEW(b->arena, int64_t, t->ntap);
    place_taps(t, &g);
    t->taps = b->device->simd->taps, t->tap_rows = b->device->simd->tap_rows;
    t->width = b->device->simd->width;
    t->together = together;
    if (together ? !ending_new(b, 1, -1, &t->e) : !tail_new(b, DT_FLOAT, TAIL_ANY, &t->e.tail))
        return false;
    if (together) take_channels(b, t);
    else take_tiles(b, t, &g);
    t->tap_channels = b->device->simd->tap_channels;
    t->planes = build_bytes(b, (t->nplanes * (size_t)t->ins + (size_t)t->width) * sizeof(float));
    t->result = build_bytes(b, (size_t)count_result(t) * sizeof(float));
    place_rows(b, t);
    if (v[2].dtype == DT_FLOAT && view_is_dense(&v[2]) && !(b->weights && b->weights[2]))
        t->w = operand_as_is(b, 2);
    else if (!operand_pack(b, 2, DT_FLOAT, &t->w)) return false;
    if (t->w.constant) b->kernel->packed = 1 << 2;
    return operand_typed(b, 1, DT_FLOAT, &t->x);
}
