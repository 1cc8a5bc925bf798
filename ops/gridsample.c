/* gridsample: x [n, c, ..] sampled at the coordinates in grid [n, .., axes]. The last axis of grid
   has a coordinate for each spatial axis of x, starting with the last one. -1 and 1 are the ends of
   an axis: the centres of its first and last element with `align`, else their outer edges. `mode`
   takes the nearest element or interpolates linearly or cubically (R. Keys, 1981, a = -3/4).
   Outside of x lie zeros, copies of the nearest border element, or the image mirrored at its
   ends. */
#include "ops/operator/op.h"
#include <math.h>
#include <string.h>
enum { MODE, OUTSIDE, ALIGN };
static const AttrDef attrs[] = {
    [MODE] = {"mode", A_ENUM, "linear", "linear nearest cubic", .draw = "linear nearest cubic"},
    [OUTSIDE] = {"outside", A_ENUM, "zeros", "zeros border reflection",
                 .draw = "zeros border reflection"},
    [ALIGN] = {"align", A_ENUM, "no", "no yes", .draw = "no yes"},
    {0},
};

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim, grid = c->in[1]->dim;
    if (x.n < 3 || grid.n != x.n) return "gridsample needs x and grid of equal rank, at least 3";
    if (!is_float(c->in[1])) return "the grid must have a real element type";
    need_eq(c, grid.v[0], x.v[0]);
    need_eq(c, grid.v[grid.n - 1], poly_int(c->w, x.n - 2));
    c->out[0] = *c->in[0];
    for (int k = 2; k < x.n; k++) c->out[0].dim.v[k] = grid.v[k - 1];
    return is_float(c->in[0]) ? NULL : "not supported for this element type";
}
static int params(Call *c, int64_t param[]) {
    param[GRID_MODE] = enum_value(c, MODE);
    param[GRID_OUTSIDE] = enum_value(c, OUTSIDE);
    param[GRID_ALIGN] = enum_value(c, ALIGN);
    return 3;
}

enum { TAPS = 4 };
typedef struct SamplePoint { /* a sample: along each axis, the first element and the weights */
    int ns, taps;
    int64_t outside;
    bool align;
    int64_t first[STEP_RANK];
    double weight[STEP_RANK][TAPS];
} SamplePoint;

static double mirrored(double x, double low, double high) {
    double range = high - low, beyond = x < low ? low - x : x - high;
    if (x >= low && x <= high) return x;
    if (!(range > 0)) return low;
    double turns = floor(beyond / range), rest = beyond - turns * range;
    bool back = fmod(turns, 2) == 0;
    return (x < low) == back ? low + rest : high - rest;
}
static void ends(const SamplePoint *s, int64_t n, double *low, double *high) {
    *low = s->align ? 0 : -0.5;
    *high = (double)n - (s->align ? 1 : 0.5);
}
static double into(const SamplePoint *s, double x, int64_t n) {
    double low, high;
    ends(s, n, &low, &high);
    if (x >= low && x <= high) return x;
    if (s->outside == GRID_BORDER) return x < 0 ? 0 : x > (double)(n - 1) ? (double)(n - 1) : x;
    return s->outside == GRID_REFLECTION ? mirrored(x, low, high) : x;
}
/* The index of the element that place k stands for, on an axis of n places; -1: zero. */
static int64_t element(const SamplePoint *s, int64_t k, int64_t n) {
    double low, high;
    if (k >= 0 && k < n) return k;
    if (s->outside == GRID_ZEROS) return -1;
    if (s->outside == GRID_BORDER) return k < 0 ? 0 : n - 1;
    ends(s, n, &low, &high);
    int64_t at = (int64_t)mirrored((double)k, low, high);
    return at < 0 ? 0 : at >= n ? n - 1 : at;
}
static void axis_weights(SamplePoint *s, int a, int64_t mode, float g, int64_t n) {
    float at = kernel_grid_place(g, n, s->align);
    if (mode == GRID_NEAREST) at = rintf(at);
    double x = into(s, (double)at, n), low = floor(x);
    s->first[a] = (int64_t)(mode == GRID_NEAREST ? x : low) - (mode == GRID_CUBIC);
    for (int k = 0; k < s->taps; k++)
        s->weight[a][k] = mode == GRID_NEAREST  ? 1
                          : mode == GRID_LINEAR ? (k ? x - low : 1 - (x - low))
                                                : kernel_keys(-0.75, x - (double)(s->first[a] + k));
}
/* The elements that one sample reads, as offsets from the start of a channel, with their
   weights. */
enum { ALL_TAPS = 4096 /* TAPS on each of six axes */ };
typedef struct SampleReads {
    int n;
    int64_t offset[ALL_TAPS];
    double weight[ALL_TAPS];
} SampleReads;
static void list_reads(const SamplePoint *s, const View *x, SampleReads *r) {
    View taps = {.rank = s->ns};
    int64_t k[STEP_RANK];
    r->n = 0;
    for (int a = 0; a < s->ns; a++) taps.dim[a] = s->taps;
    for (bool more = kernel_first(&taps, k); more; more = kernel_next(&taps, k)) {
        double weight = 1;
        int64_t offset = 0, at = 0;
        for (int a = 0; a < s->ns && at >= 0; a++) {
            weight *= s->weight[a][k[a]];
            at = element(s, s->first[a] + k[a], x->dim[a + 2]);
            offset += at * x->stride[a + 2];
        }
        if (at < 0) continue;
        r->offset[r->n] = offset;
        r->weight[r->n++] = weight;
    }
}
static double single_at(const char *data, int64_t place) {
    float v; /* memory of a model file need not be aligned */
    memcpy(&v, data + place * (int64_t)sizeof v, sizeof v);
    return (double)v;
}
/* Stores the weighted sums of all channels, which start at element `from` of x. float32 is read
   directly, since that is faster. */
static void put_channels(const SampleReads *r, const View *y, int64_t to, const View *x,
                         int64_t from, void *const slot[]) {
    const bool floats = x->dtype == DT_FLOAT && y->dtype == DT_FLOAT;
    const char *data = slot[x->slot];
    for (int64_t c = 0; c < y->dim[1]; c++, to += y->stride[1], from += x->stride[1]) {
        double total = 0;
        for (int k = 0; k < r->n; k++)
            total += r->weight[k] * (floats ? single_at(data, from + r->offset[k])
                                            : kernel_real(x, slot, from + r->offset[k]));
        kernel_set_real(y, slot, to, total);
    }
}
static int kernel(const Step *step, void *const slot[]) {
    const View *y = &step->view[0], *x = &step->view[1], *grid = &step->view[2];
    SamplePoint s = {.ns = x->rank - 2,
                     .outside = step->param[GRID_OUTSIDE],
                     .align = step->param[GRID_ALIGN] != 0};
    View places = *y;
    int64_t i[STEP_RANK], g[STEP_RANK];
    SampleReads reads;
    s.taps = step->param[GRID_MODE] == GRID_NEAREST  ? 1
             : step->param[GRID_MODE] == GRID_LINEAR ? 2
                                                     : TAPS;
    places.dim[1] = y->dim[1] > 0;
    for (bool more = kernel_first(&places, i); more; more = kernel_next(&places, i)) {
        g[0] = i[0];
        for (int a = 0; a < s.ns; a++) g[a + 1] = i[a + 2];
        for (int a = 0; a < s.ns; a++) {
            g[s.ns + 1] = s.ns - 1 - a;
            if (x->dim[a + 2] < 1) return -1;
            axis_weights(&s, a, step->param[GRID_MODE],
                         (float)kernel_real(grid, slot, kernel_at(grid, g)), x->dim[a + 2]);
        }
        list_reads(&s, x, &reads);
        put_channels(&reads, y, kernel_at(y, i), x, x->offset + i[0] * x->stride[0], slot);
    }
    return 0;
}
static const OnnxMap onnx[] = {
    {"", "GridSample", 20, 0, "mode outside=padding_mode align=align_corners"},
    {"", "GridSample", 16, 19,
     "mode=linear! mode==bilinear outside=padding_mode align=align_corners"},
    {"", "GridSample", 16, 19,
     "mode=cubic! +mode==bicubic outside=padding_mode align=align_corners"},
    {"", "GridSample", 16, 19,
     "mode=nearest! +mode==nearest outside=padding_mode align=align_corners"},
    {0},
};
const Op op_gridsample = {"gridsample",     "x grid",         "y",         attrs, shape,
                          .kernel = kernel, .params = params, .onnx = onnx};
