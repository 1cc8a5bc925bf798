/* winograd.c -- 3x3 convolutions of one group between images whose channels are last, with known
   weights, by Winograd's minimal filtering F(4x4, 3x3) (Lavin, Gray, Fast Algorithms for
   Convolutional Neural Networks, 2016). It needs 36 products where the definition has 144 for a
   tile of 4x4 places of the output.

   Overlapping tiles of 6x6 places of the image, and the 3x3 kernels, are seen as polynomials along
   both axes, and evaluated at six points. For each of the 36 pairs of points, the values are
   multiplied and summed over the channels; this is a matrix product of tiles by packed panels of
   weights (Simd.sweep). The sums are then transformed back into places of the output. This is done
   for as many tiles at a time as fit into the second-level cache.

   The transforms and the points are in simd_winograd.h. The part of the epilogue that ending.c
   takes is computed in the last transform. The result for a tile does not depend on which tiles are
   computed together. */
#include "ops/base/intern.h"
#include "ops/cpu/cpu.h"
#include <math.h>
#include <string.h>

enum { KERNEL = 3, BLOCK_BYTES = 1 << 20, BLOCK_LEAST = 48, LINE_FLOATS = 16 };
typedef struct Winograd {
    Ending e;
    Operand x;
    View add;
    int64_t batch, inputs, outputs, padded;    /* padded: outputs rounded up to whole vectors */
    int64_t in[2], out[2], begin[2], tiles[2]; /* of rows and columns; begin: padding */
    int64_t block;                             /* tiles that are computed together */
    const float *weights, *shift, *zeros;
    size_t values, products; /* offsets into the scratch memory: [points, block, inputs], [points,
                                block, padded] */
} Winograd;

/* Floats from one point to the next. It must not be a power of two, because all points would then
   fall into the same sets of the cache. */
static int64_t point_stride(const Winograd *w, int64_t channels) {
    return w->block * channels + LINE_FLOATS;
}

/* ---- running */
typedef struct Tile {
    int64_t n, at[2]; /* n: the image of the batch; at: the tile's first place in the output */
} Tile;
static Tile tile_at(const Winograd *w, int64_t k) {
    const int64_t row = k / w->tiles[1];
    return (Tile){.n = row / w->tiles[0],
                  .at = {row % w->tiles[0] * WINOGRAD_TILE, k % w->tiles[1] * WINOGRAD_TILE}};
}
static void enter_tile(const Winograd *w, const Simd *simd, const Tile *t, const float *x,
                       float *values) {
    const View *v = &w->x.view;
    const float *cell[WINOGRAD_POINTS];
    const float *image = x + t->n * v->stride[0];
    for (int i = 0; i < WINOGRAD_WINDOW; i++)
        for (int j = 0; j < WINOGRAD_WINDOW; j++) {
            const int64_t row = t->at[0] + i - w->begin[0], column = t->at[1] + j - w->begin[1];
            const bool inside = row >= 0 && row < w->in[0] && column >= 0 && column < w->in[1];
            cell[i * WINOGRAD_WINDOW + j] =
                inside ? image + row * v->stride[2] + column * v->stride[3] : w->zeros;
        }
    simd->winograd_enter(values, point_stride(w, w->inputs), cell, w->inputs);
}
static void leave_tile(const Winograd *w, const Simd *simd, const Tile *t, WinogradTile *s) {
    for (int a = 0; a < 2; a++) {
        const int64_t left = w->out[a] - t->at[a];
        s->size[a] = left < WINOGRAD_TILE ? (int)left : WINOGRAD_TILE;
    }
    simd->winograd_leave(s);
    for (int i = 0; i < s->size[0] && w->e.pass; i++)
        for (int j = 0; j < s->size[1]; j++) {
            float *y = s->y + i * s->ys[0] + j * s->ys[1];
            w->e.pass(y, y, w->e.k, s->channels);
        }
}
/* Multiplies this many tiles by the weights at each point. */
static void multiply_tiles(const Winograd *w, const Simd *simd, const float *values,
                           float *products, int64_t tiles) {
    static const int64_t run[1] = {0};
    const int64_t whole = (int64_t)simd->width * simd->vectors;
    const float *panel = w->weights, *end = panel + WINOGRAD_POINTS * w->inputs * w->padded;
    Sweep s = {.as = w->inputs,
               .ys = w->padded,
               .n = w->inputs,
               .runs = 1,
               .run = run,
               .start = w->zeros,
               .squash = {.low = -INFINITY, .high = INFINITY}};
    for (int p = 0; p < WINOGRAD_POINTS; p++)
        for (int64_t first = 0; first < w->padded; first += whole) {
            const int64_t left = w->padded - first, wide = left < whole ? left : whole;
            s.a = values + p * point_stride(w, w->inputs);
            s.y = products + p * point_stride(w, w->padded) + first;
            s.panel = panel, panel += wide * w->inputs;
            s.ahead = panel, s.ahead_end = panel + whole * w->inputs;
            if (s.ahead_end > end) s.ahead_end = end;
            if (s.ahead >= end) s.ahead = s.panel;
            s.last = wide - simd->width;
            simd->sweep(&s, (int)(wide / simd->width), tiles);
        }
}
static int winograd_run(const Kernel *k, void *const slot[], void *work) {
    const Winograd *w = k->self;
    const Simd *simd = k->device->simd;
    const View *yv = &w->e.tail.into;
    const int64_t all = w->batch * w->tiles[0] * w->tiles[1];
    const float *x = operand_at(&w->x, slot, work),
                *add = w->e.add ? view_at(&w->add, slot, work) : NULL;
    float *y = view_at(yv, slot, work), *values = (float *)(void *)((char *)work + w->values),
          *products = (float *)(void *)((char *)work + w->products);
    WinogradTile s = {.shift = w->shift,
                      .xs = point_stride(w, w->padded),
                      .ys = {yv->stride[2], yv->stride[3]},
                      .adds = {w->add.stride[2], w->add.stride[3]},
                      .channels = w->outputs,
                      .squash = w->e.squash};
    for (int64_t first = 0; first < all; first += w->block) {
        const int64_t n = all - first < w->block ? all - first : w->block;
        for (int64_t i = 0; i < n; i++) {
            const Tile t = tile_at(w, first + i);
            enter_tile(w, simd, &t, x, values + i * w->inputs);
        }
        multiply_tiles(w, simd, values, products, n);
        for (int64_t i = 0; i < n; i++) {
            const Tile t = tile_at(w, first + i);
            s.x = products + i * w->padded;
            s.y = y + t.n * yv->stride[0] + t.at[0] * s.ys[0] + t.at[1] * s.ys[1];
            s.add = add ? add + t.n * w->add.stride[0] + t.at[0] * s.adds[0] + t.at[1] * s.adds[1]
                        : NULL;
            leave_tile(w, simd, &t, &s);
        }
    }
    tail_run(&w->e.tail, slot, work);
    return 0;
}

/* ---- packing */
enum { COLUMNS = 16 }; /* floats of a vector, at most */
typedef struct Source {
    const float *known; /* the view's first element */
    const View *view;
} Source;
/* Evaluates the three weights of a kernel along an axis at the points. Each value is divided by the
   derivative of the product of all (x - point) at its point, as interpolation requires. */
static void kernel_to_points(double y[WINOGRAD_WINDOW], const double x[KERNEL]) {
    const double a = WINOGRAD_A, b = WINOGRAD_B, a2 = a * a, b2 = b * b, at_a = 2 * a2 * (a2 - b2),
                 at_b = 2 * b2 * (b2 - a2);
    y[0] = x[0] / (a2 * b2);
    y[1] = (x[0] + a * x[1] + a2 * x[2]) / at_a;
    y[2] = (x[0] - a * x[1] + a2 * x[2]) / at_a;
    y[3] = (x[0] + b * x[1] + b2 * x[2]) / at_b;
    y[4] = (x[0] - b * x[1] + b2 * x[2]) / at_b;
    y[5] = x[2];
}
/* Writes into column j of y the values of the kernel of output channel o and input channel c at all
   pairs of points. */
static void kernel_values(const Winograd *w, const Source *s, int64_t o, int64_t c, int j,
                          float y[WINOGRAD_POINTS][COLUMNS]) {
    const double scale = w->e.scale ? (double)w->e.scale[o] : 1;
    const int64_t *stride = s->view->stride;
    const float *known = s->known + o * stride[0] + c * stride[1];
    double rows[KERNEL][WINOGRAD_WINDOW], x[KERNEL], column[WINOGRAD_WINDOW];
    for (int i = 0; i < KERNEL; i++) {
        for (int k = 0; k < KERNEL; k++)
            x[k] = scale * (double)known[i * stride[2] + k * stride[3]];
        kernel_to_points(rows[i], x);
    }
    for (int k = 0; k < WINOGRAD_WINDOW; k++) {
        for (int i = 0; i < KERNEL; i++) x[i] = rows[i][k];
        kernel_to_points(column, x);
        for (int i = 0; i < WINOGRAD_WINDOW; i++) y[i * WINOGRAD_WINDOW + k][j] = (float)column[i];
    }
}
/* Packs, for each point, panels [inputs, columns of the panel]; missing columns are 0. A vector of
   columns is packed at a time, so that whole cache lines are written. */
static void pack(const Winograd *w, const Simd *simd, const Source *s, float *packed) {
    const int width = simd->width;
    const int64_t whole = (int64_t)width * simd->vectors;
    for (int64_t o = 0; o < w->padded; o += width) {
        const int64_t first = o - o % whole, left = w->padded - first,
                      wide = left < whole ? left : whole;
        float *to = packed + first * w->inputs + o % whole;
        for (int64_t c = 0; c < w->inputs; c++) {
            float y[WINOGRAD_POINTS][COLUMNS] = {{0}};
            for (int j = 0; j < width && o + j < w->outputs; j++)
                kernel_values(w, s, o + j, c, j, y);
            for (int p = 0; p < WINOGRAD_POINTS; p++)
                memcpy(to + p * w->inputs * w->padded + c * wide, y[p],
                       (size_t)width * sizeof(float));
        }
    }
}
static bool pack_weights(Build *b, Winograd *w) {
    const Simd *simd = b->device->simd;
    const View *v = &b->step->view[2];
    const Source s = {.view = v, .known = (const float *)b->weights[2] + v->offset};
    struct {
        int64_t outputs, inputs, stride[4], width, vectors, first;
        char method[16], known[33], scale[33];
    } of;
    char key[33];
    memset(&of, 0, sizeof of);
    of.outputs = w->outputs, of.inputs = w->inputs, of.width = simd->width,
    of.vectors = simd->vectors;
    memcpy(of.stride, v->stride, sizeof of.stride);
    memcpy(of.method, "winograd 4 3", sizeof "winograd 4 3");
    of.first = shared_digest(v, s.known, of.known);
    if (w->e.scale) hash_hex(w->e.scale, (size_t)w->outputs * sizeof *w->e.scale, of.scale);
    hash_hex(&of, sizeof of, key);
    Share *share = build_share(b);
    if (!(share->bytes = shared_find(b->device, key))) {
        share->bytes = shared_new(
            b->device, key, (size_t)(WINOGRAD_POINTS * w->inputs * w->padded) * sizeof(float));
        if (!share->bytes) return build_no_memory(b);
        pack(w, simd, &s, share->bytes);
    }
    w->weights = share->bytes;
    b->kernel->packed = 1 << 2;
    return true;
}

/* ---- making */
bool winograd_like(const Step *s) {
    const bool exact = s->ncode > 1 && s->code[1].op == C_ROUND;
    const StepWindow w = step_window(s);
    if (w.n != 2 || s->param[CONV_GROUP] != 1 || exact) return false;
    for (int i = 0; i < w.n; i++)
        if (w.kernel[i] != KERNEL || w.stride[i] != 1 || w.dilation[i] != 1) return false;
    return true;
}
bool winograd_possible(const Device *d, const Step *s) {
    const View *v = s->view;
    for (int i = 0; i < 3; i++)
        if (v[i].dtype != DT_FLOAT || view_count(&v[i]) == 0) return false;
    return winograd_like(s) && !step_has_zero(s) && v[0].stride[1] == 1 &&
           v[0].dim[1] >= d->simd->width && v[1].dim[1] >= d->simd->width;
}
/* The number of tiles of a block: as many as the cache can hold at all points, but at least
   BLOCK_LEAST, so that fetching a panel pays. All blocks have about the same size. */
static int64_t tiles_of_block(const Winograd *w) {
    const int64_t all = w->batch * w->tiles[0] * w->tiles[1],
                  each = WINOGRAD_POINTS * (w->inputs + w->padded) * (int64_t)sizeof(float);
    int64_t most = BLOCK_BYTES / each;
    if (most < BLOCK_LEAST) most = BLOCK_LEAST;
    const int64_t blocks = (all + most - 1) / most;
    return (all + blocks - 1) / blocks;
}
bool winograd_build(Build *b, Kernel *k) {
    static const int order[] = {0, 2, 3, 1}, back[] = {0, 3, 1, 2};
    const Step *s = b->step;
    const View *v = s->view;
    Winograd *w = ARENA_NEW(b->arena, Winograd, 1);
    if (!b->weights || !b->weights[2]) return build_fail(b, "the weights are not constant");
    if (!ending_new(b, 1, 1, &w->e)) return false;
    if (v[1].stride[1] == 1) w->x = operand_as_is(b, 1);
    else {
        const View last = view_axes(&v[1], 4, order);
        if (!operand_pack_as(b, 1, &last, DT_FLOAT, &w->x)) return false;
        w->x.view = view_axes(&w->x.view, 4, back);
    }
    if (w->e.add) w->add = v[w->e.add];
    const int width = b->device->simd->width;
    const StepWindow window = step_window(s);
    w->batch = v[0].dim[0], w->outputs = v[0].dim[1], w->inputs = v[1].dim[1];
    w->padded = (w->outputs + width - 1) / width * width;
    for (int a = 0; a < 2; a++) {
        w->in[a] = v[1].dim[2 + a], w->out[a] = v[0].dim[2 + a], w->begin[a] = window.begin[a];
        w->tiles[a] = (w->out[a] + WINOGRAD_TILE - 1) / WINOGRAD_TILE;
    }
    w->block = tiles_of_block(w);
    const size_t row = WINOGRAD_POINTS * sizeof(float);
    w->values = build_bytes(b, row * (size_t)point_stride(w, w->inputs));
    w->products = build_bytes(b, row * (size_t)point_stride(w, w->padded));
    const int64_t panel = (int64_t)width * b->device->simd->vectors;
    w->zeros = ARENA_NEW(b->arena, float, w->inputs > panel ? w->inputs : panel);
    float *shift = ARENA_NEW(b->arena, float, w->outputs);
    if (w->e.shift) memcpy(shift, w->e.shift, (size_t)w->outputs * sizeof *shift);
    w->shift = shift;
    k->self = w, k->run = winograd_run;
    return pack_weights(b, w);
}
