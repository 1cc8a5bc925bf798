/* roialign: boxes of images x [n, c, h, w], each divided into height by width bins (K. He and
   others, 2017). roi [r, 4] holds x1, y1, x2, y2 of the boxes, which are multiplied by `scale`;
   batch [r] says which image each box is of. A bin is sampled on a grid of `samples` by `samples`
   points (0: about one for each element), by linear interpolation; farther than one element outside
   the image it is 0. The result is the mean of the samples or, as ONNX defines it, the maximum of
   the weighted elements that they consist of.

   With align = half_pixel, the centre of the first element is at 1/2. Otherwise it is at 0, and a
   box is at least 1 wide and high. */
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
    if (!is_float(c->in[0]) || !is_float(c->in[1]) || !is_integer(c->in[2]))
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
static int params(Call *c, int64_t param[]) {
    if (!is_const(c, intof(c, SAMPLES), &param[ROI_SAMPLES]) ||
        !bits_of(c, SCALE, &param[ROI_SCALE]))
        return -1;
    param[ROI_ALIGN] = enum_value(c, ALIGN), param[ROI_MODE] = enum_value(c, MODE);
    return 4;
}

static RoiSpan span(const Step *s, void *const slot[], int64_t r, int axis) {
    const View *roi = &s->view[2];
    double ends[2];
    for (int k = 0; k < 2; k++)
        ends[k] = kernel_real(roi, slot, kernel_at(roi, (int64_t[]){r, 2 * k + 1 - axis}));
    const RoiBoxes boxes = roi_boxes(s->param);
    return roi_span(&boxes, ends, s->view[0].dim[2 + axis], s->view[1].dim[2 + axis]);
}
/* Stores the four weighted elements of a sample, of the image and channel given by from[0] and
   from[1]. */
static void parts(const View *x, void *const slot[], int64_t from[4], const RoiSpan p[2],
                  const int64_t bin[2], const int64_t sample[2], double part[4]) {
    int64_t row[2], column[2];
    double down[2], across[2];
    bool there = roi_beside(&p[0], bin[0], sample[0], row, down) &&
                 roi_beside(&p[1], bin[1], sample[1], column, across);
    for (int k = 0; k < 4; k++) {
        part[k] = 0;
        if (!there) continue;
        from[2] = row[k / 2], from[3] = column[k % 2];
        part[k] = down[k / 2] * across[k % 2] * kernel_real(x, slot, kernel_at(x, from));
    }
}
static double pooled(const Step *s, void *const slot[], int64_t from[4], const RoiSpan p[2],
                     const int64_t bin[2]) {
    const bool greatest = s->param[ROI_MODE] == GREATEST;
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
        const RoiSpan p[2] = {span(s, slot, i[0], 0), span(s, slot, i[0], 1)};
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
