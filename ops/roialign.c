/* roialign: boxes of images x [n, c, h, w], each as h by w bins (K. He and others, 2017): roi [r,
   4] is x1, y1, x2, y2 times `scale`, batch [r] its image. Each bin is sampled on a grid of
   `samples` by `samples` points (0: about one for each element), linear between elements, 0 beyond
   one element outside. The result is the mean of the samples, or the maximum of their weighted
   elements, as ONNX has it. `align`: the centre of the first element is at 1/2, else at 0, and no
   box is smaller than 1. */
#include "ops/operator/op.h"
#include <math.h>
enum { HEIGHT, WIDTH, SAMPLES, SCALE, ALIGN, MODE };
enum { MEAN, GREATEST };
static const AttrDef attrs[] = {
    [HEIGHT] = {"height", A_INT, "1", .draw = "1 2 3"},
    [WIDTH] = {"width", A_INT, "1", .draw = "1 2 4"},
    [SAMPLES] = {"samples", A_INT, "0", .draw = "0 1 2"},
    [SCALE] = {"scale", A_REAL, "1", .draw = "1 1/2"},
    [ALIGN] = {"align", A_ENUM, "half_pixel", "output_half_pixel half_pixel",
               .draw = "output_half_pixel half_pixel"},
    [MODE] = {"mode", A_ENUM, "avg", "avg max", .draw = "avg max"},
    {0},
};

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim, roi = c->in[1]->dim, batch = c->in[2]->dim;
    if (x.n != 4 || roi.n != 2 || batch.n != 1)
        return "roialign needs x [n, c, h, w], boxes [r, 4] and batch indices [r]";
    if (!is_float(c->in[0]) || !is_float(c->in[1]) || !is_whole(c->in[2]))
        return "not supported for these element types";
    need_eq(c, roi.v[1], poly(c, "4"));
    need_eq(c, batch.v[0], roi.v[0]);
    need_ge(c, intof(c, HEIGHT), poly(c, "1"));
    need_ge(c, intof(c, WIDTH), poly(c, "1"));
    c->out[0] = *c->in[0];
    c->out[0].dim = (Dims){4, {roi.v[0], x.v[1], intof(c, HEIGHT), intof(c, WIDTH)}};
    return NULL;
}
static bool domain(Call *c, int input, Poly *low, Poly *high) {
    return input == 2 && all_places(c, c->in[0]->dim.v[0], low, high);
}
enum { P_SAMPLES = 1, P_SCALE, P_ALIGN, P_MODE };
static int params(Call *c, int64_t *out, int room) {
    if (room < 4 || !is_const(c, intof(c, SAMPLES), &out[0]) || !bits_of(c, SCALE, &out[1]))
        return -1;
    out[2] = word(c, ALIGN), out[3] = word(c, MODE);
    return 4;
}

typedef struct Span { /* a box along one axis */
    double start, bin;
    int64_t samples, size;
} Span;
static Span span(const Step *s, void *const slot[], int64_t r, int axis) {
    const View *y = &s->view[0], *x = &s->view[1], *roi = &s->view[2];
    const double scale = kernel_bits_real(s->param[P_SCALE]), offset = s->param[P_ALIGN] ? 0.5 : 0;
    double end[2];
    for (int k = 0; k < 2; k++)
        end[k] = kernel_real(roi, slot, kernel_at(roi, (int64_t[]){r, 2 * k + 1 - axis})) * scale -
                 offset;
    double length = end[1] - end[0];
    if (!s->param[P_ALIGN] && length < 1) length = 1;
    double bin = length / (double)y->dim[2 + axis];
    int64_t own = bin > 0 && bin < 1e9 ? (int64_t)ceil(bin) : 0;
    return (Span){end[0], bin, s->param[P_SAMPLES] > 0 ? s->param[P_SAMPLES] : own,
                  x->dim[2 + axis]};
}
/* The two elements beside sample k of bin i, and their weights; false: it is outside. */
static bool beside(const Span *p, int64_t i, int64_t k, int64_t at[2], double weight[2]) {
    double place = p->start + (double)i * p->bin + ((double)k + 0.5) * p->bin / (double)p->samples;
    if (!(place >= -1 && place <= (double)p->size) || !p->size) return false;
    if (place < 0) place = 0;
    at[0] = (int64_t)place, at[1] = at[0] + 1;
    if (at[0] >= p->size - 1) at[0] = at[1] = p->size - 1, place = (double)at[0];
    weight[1] = place - (double)at[0], weight[0] = 1 - weight[1];
    return true;
}
/* The four parts of a sample, of the picture and channel that `from` begins with. */
static void parts(const View *x, void *const slot[], int64_t from[4], const Span p[2],
                  const int64_t bin[2], const int64_t sample[2], double part[4]) {
    int64_t row[2], column[2];
    double down[2], across[2];
    bool there = beside(&p[0], bin[0], sample[0], row, down) &&
                 beside(&p[1], bin[1], sample[1], column, across);
    for (int k = 0; k < 4; k++) {
        part[k] = 0;
        if (!there) continue;
        from[2] = row[k / 2], from[3] = column[k % 2];
        part[k] = down[k / 2] * across[k % 2] * kernel_real(x, slot, kernel_at(x, from));
    }
}
static double pooled(const Step *s, void *const slot[], int64_t from[4], const Span p[2],
                     const int64_t bin[2]) {
    const bool greatest = s->param[P_MODE] == GREATEST;
    const int64_t n = p[0].samples * p[1].samples;
    double y = greatest && n ? -INFINITY : 0, part[4];
    for (int64_t k = 0; k < n; k++) {
        parts(&s->view[1], slot, from, p, bin, (int64_t[]){k / p[1].samples, k % p[1].samples},
              part);
        for (int j = 0; j < 4; j++) y = !greatest ? y + part[j] : part[j] > y ? part[j] : y;
    }
    return greatest || !n ? y : y / (double)n;
}
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1], *batch = &s->view[3];
    int64_t i[STEP_RANK], from[4];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        const Span p[2] = {span(s, slot, i[0], 0), span(s, slot, i[0], 1)};
        from[0] = kernel_integer(batch, slot, kernel_at(batch, i)), from[1] = i[1];
        if (from[0] < 0 || from[0] >= x->dim[0]) return -1;
        kernel_set_real(y, slot, kernel_at(y, i), pooled(s, slot, from, p, i + 2));
    }
    return 0;
}

#define SIZES "height=output_height width=output_width samples=sampling_ratio scale=spatial_scale"
static const OnnxMap onnx[] = {
    {"", "RoiAlign", 16, 0, SIZES " align=coordinate_transformation_mode mode"},
    {"", "RoiAlign", 10, 15, SIZES " align=output_half_pixel! mode"},
    {0},
};
const Op op_roialign = {
    "roialign",       "x roi batch",    "y",         attrs, shape, .domain = domain,
    .kernel = kernel, .params = params, .onnx = onnx};
