/* col2im: lays blocks back into an image and adds elements that overlap: y[n, c, i..] is the sum,
   over the places k.. of a block, of x[n, c*K + k.., l..] where s*l + d*k - p = i on each axis. x
   is [n, C*K, L], where K is the number of elements of a block [k..] and L the number of positions
   l.. of blocks in an image of these sizes. */
#include "ops/operator/op.h"
enum { IMAGE, BLOCK, STRIDES, PADS, DILATIONS };
/* An empty list stands for strides and dilations of 1 and pads of 0. */
static const AttrDef attrs[] = {
    [IMAGE] = {.name = "image", .kind = A_INTS},
    [BLOCK] = {.name = "block", .kind = A_INTS},
    [STRIDES] = {"strides", A_INTS, "[]", .draw = "1 2 3"},
    [PADS] = {"pads", A_INTS, "[]", .draw = "0 1"},
    [DILATIONS] = {"dilations", A_INTS, "[]", .draw = "1 2"},
    {0},
};
static Poly entry(Call *c, int attr, int k) {
    return ints(c, attr).n ? ints(c, attr).v[k] : poly(c, attr == PADS ? "0" : "1");
}
static Poly places(Call *c, int k) { /* the number of blocks along spatial axis k */
    Poly pads = poly(c, "p + q", entry(c, PADS, k), entry(c, PADS, k + ints(c, IMAGE).n));
    const WindowAxis x = {ints(c, BLOCK).v[k], entry(c, STRIDES, k), entry(c, DILATIONS, k)};
    return windows(c, ints(c, IMAGE).v[k], x, pads);
}

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim, image = ints_dims(c, IMAGE), block = ints_dims(c, BLOCK);
    int ns = image.n;
    Poly all = poly(c, "1");
    if (x.n != 3 || ns < 1 || ns > 5 || block.n != ns) return "col2im needs x [n, c*k, l]";
    for (int k = STRIDES; k <= DILATIONS; k++)
        if (ints(c, k).n && ints(c, k).n != (k == PADS ? 2 * ns : ns))
            return "col2im needs one stride, one dilation and two pads for each spatial axis";
    Poly k = product(c, block, 0, ns), channels = quot(c, x.v[1], k);
    need_eq(c, x.v[1], poly(c, "k*q", k, channels));
    c->out[0] = (Type){.dtype = c->in[0]->dtype, .dim = {2, {x.v[0], channels}}};
    for (int j = 0; j < ns; j++) {
        all = poly(c, "a*l", all, places(c, j));
        need_ge(c, image.v[j], 0);
        c->out[0].dim.v[c->out[0].dim.n++] = image.v[j];
    }
    need_eq(c, x.v[2], all);
    return dtypes_agree(c, "FIU");
}
static Ex define(Call *c, Dims i) {
    Dims block = ints_dims(c, BLOCK), k = bound(c, block);
    Poly element = i.v[1], line = poly(c, "0");
    Cond there = {0};
    for (int j = 0; j < k.n; j++) {
        Poly n = places(c, j), s = entry(c, STRIDES, j);
        Poly from =
            poly(c, "i + p - d*k", i.v[j + 2], entry(c, PADS, j), entry(c, DILATIONS, j), k.v[j]);
        Poly l = quot(c, from, s);
        there = both(c, there, when_eq(c, from, poly(c, "s*l", s, l)));
        there = both(c, there, inside(c, (Dims){1, {l}}, (Dims){1, {n}}, 0));
        line = poly(c, "a*n + l", line, n, l);
        element = poly(c, "a*n + k", element, block.v[j], k.v[j]);
    }
    return sum(c, k, there, at(c, 0, (Dims){3, {i.v[0], element, line}}));
}

/* ---- Steps: one for targets that run it. Elsewhere the image is filled with zeros, then whole
   views of x are added to it: one view for each element of a block, or one for each block,
   whichever are fewer. */
enum { SPATIAL_MOST = 5, STEPS_MOST = 256 };
/* The elements of a block, or the blocks: how many along each axis, their distance in the image
   (step) and in x (stride), and how many in all. */
typedef struct OffsetRun {
    int64_t n[SPATIAL_MOST], step[SPATIAL_MOST], stride[SPATIAL_MOST];
    int64_t all;
} OffsetRun;
static OffsetRun run_of(int ns, const int64_t n[], const int64_t step[], int64_t stride) {
    OffsetRun r = {.all = 1};
    for (int j = ns - 1; j >= 0; j--) {
        r.n[j] = n[j], r.step[j] = step[j], r.stride[j] = stride * r.all;
        r.all *= n[j];
    }
    return r;
}
/* Adds a view of x to the image: place `at` of `one`, at all places of `many` that fall into the
   image. */
static void add_run(StepBuf *b, const View *image, const View *x, const int64_t pads[],
                    const OffsetRun *one, int64_t at, const OffsetRun *many) {
    View y = *image, part = *x;
    for (int j = y.rank - 3; j >= 0; at /= one->n[j--]) {
        const int64_t k = at % one->n[j], start = k * one->step[j] - pads[j], step = many->step[j];
        const int64_t last = image->dim[j + 2] - 1 - start;
        const int64_t first = start < 0 ? (-start + step - 1) / step : 0;
        int64_t end = last < 0 ? 0 : last / step + 1;
        if (end > many->n[j]) end = many->n[j];
        if (first >= end) return;
        part.offset += k * one->stride[j] + first * many->stride[j];
        y.offset += (start + first * step) * image->stride[j + 2];
        part.stride[j + 2] = many->stride[j], y.stride[j + 2] = image->stride[j + 2] * step;
        part.dim[j + 2] = y.dim[j + 2] = end - first;
    }
    step_code(b, step_add(b, S_EWISE, 3, (const View[]){y, y, part}), 3,
              (const Scalar[]){
                  {.op = C_VIEW, .a = 1}, {.op = C_VIEW, .a = 2}, {.op = C_ADD, .a = 0, .b = 1}});
}
static int write_steps(Call *c, const View in[], const View out[], StepBuf *b) {
    const int ns = ints(c, IMAGE).n;
    int64_t n[2][SPATIAL_MOST], step[2][SPATIAL_MOST], pads[SPATIAL_MOST];
    int64_t axis[SPATIAL_MOST][COL2IM_AXIS_PARAMS];
    if (dtype_bits((DType)out[0].dtype) < 32 || out[0].rank != ns + 2) return 0;
    for (int j = 0; j < ns; j++) {
        n[0][j] = step_size(b, ints(c, BLOCK).v[j]), n[1][j] = step_size(b, places(c, j));
        step[0][j] = step_size(b, entry(c, DILATIONS, j));
        step[1][j] = step_size(b, entry(c, STRIDES, j));
        pads[j] = step_size(b, entry(c, PADS, j));
        if (n[0][j] < 1 || n[1][j] < 1 || step[0][j] < 1 || step[1][j] < 1) return 0;
        axis[j][COL2IM_BLOCK] = n[0][j], axis[j][COL2IM_PLACES] = n[1][j];
        axis[j][COL2IM_STRIDE] = step[1][j], axis[j][COL2IM_PAD] = pads[j];
        axis[j][COL2IM_DILATION] = step[0][j];
    }
    if (step_col2im(b, &out[0], &in[0], ns, axis)) return 1;
    const OffsetRun elements = run_of(ns, n[0], step[0], in[0].stride[1]),
                    blocks = run_of(ns, n[1], step[1], in[0].stride[2]);
    const bool by_element = elements.all <= blocks.all;
    const OffsetRun *one = by_element ? &elements : &blocks,
                    *many = by_element ? &blocks : &elements;
    if (one->all > STEPS_MOST) return 0;
    View x = out[0]; /* x with the axes of the image; add_run() sets the spatial ones */
    x.slot = in[0].slot, x.offset = in[0].offset, x.format = in[0].format;
    x.stride[0] = in[0].stride[0], x.stride[1] = in[0].stride[1] * elements.all;
    step_fill(b, &out[0], 0);
    for (int64_t k = 0; k < one->all; k++) add_run(b, &out[0], &x, pads, one, k, many);
    return 1;
}
static const OnnxMap onnx[] = {
    {"", "Col2Im", 18, 0, "image=input:1 block=input:2 strides pads dilations"}, {0}};
const Op op_col2im = {"col2im", "x", "y", attrs, shape, define, .steps = write_steps, .onnx = onnx};
