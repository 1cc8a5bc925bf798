/* pad: y[i..] = x[i - begin ..], or `value` where that is outside x. pads lists the begins of all
   axes, then the ends; negative pads cut. */
#include "ops/operator/op.h"
enum { PADS, VALUE };
static const AttrDef attrs[] = {
    [PADS] = {.name = "pads", .kind = A_INTS},
    [VALUE] = {"value", A_REAL, "0", .element = true, .draw = "0 1 -1/2"},
    {0}};

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim;
    PolyList p = ints(c, PADS);
    const char *why = dtypes_agree(c, "FIUB");
    if (why) return why;
    if (p.n != 2 * x.n) return "pad needs a begin and an end for every axis";
    c->out[0] = *c->in[0];
    for (int k = 0; k < x.n; k++) {
        c->out[0].dim.v[k] = poly(c, "n + b + e", x.v[k], p.v[k], p.v[k + x.n]);
        need_ge(c, c->out[0].dim.v[k], 0);
    }
    return NULL;
}

/* x, or `otherwise` outside it. Only axes that are padded are guarded. */
static Ex padded(Call *c, Dims i, Ex otherwise) {
    Dims x = c->in[0]->dim, ix = i;
    PolyList p = ints(c, PADS);
    Cond in = {0};
    for (int k = 0; k < i.n; k++) {
        ix.v[k] = poly(c, "i - b", i.v[k], p.v[k]);
        if (p.v[k] || p.v[k + i.n])
            in = both(c, in, inside(c, (Dims){1, {ix.v[k]}}, (Dims){1, {x.v[k]}}, 0));
    }
    return when(c, in, at(c, 0, ix), otherwise);
}
static Ex define(Call *c, Dims i) { return padded(c, i, real(c, VALUE)); }

/* Copies the part of x that y contains into y. */
static void copy_inner(Call *c, const View in[], const View out[], StepBuf *b) {
    View x = in[0], y = out[0];
    for (int k = 0; k < x.rank; k++) {
        int64_t begin = step_size(b, ints(c, PADS).v[k]), from = begin < 0 ? -begin : 0,
                to = y.dim[k] - begin;
        if (to > x.dim[k]) to = x.dim[k];
        if (to < from) to = from;
        x = view_part(&x, k, from, to - from);
        y = view_part(&y, k, from + begin, to - from);
    }
    step_copy(b, &y, &x);
}
static int write_steps(Call *c, const View in[], const View out[], StepBuf *b) {
    double value;
    if (!ex_number(c->w, real(c, VALUE), &value)) return 0;
    step_fill(b, &out[0], value);
    copy_inner(c, in, out, b);
    return 1;
}

static const OnnxMap onnx[] = {
    {"", "Pad", 11, 0, "mode==constant pads:axes"},
    {"", "Pad", 2, 10, "mode==constant pads:axes"},
    {"", "Pad", 1, 1, "mode==constant pads=paddings value"},
    {"", "CenterCropPad", 18, 0, "pads:center"},
    {0},
};
const Op op_pad = {
    "pad", "x", "y", attrs, shape, define, .steps = write_steps, .onnx = onnx, .flags = OP_WRITES};

/* padwith: like pad, but `value` is an input, because it is not known before or not finite. */
static const AttrDef with_attrs[] = {[PADS] = {.name = "pads", .kind = A_INTS}, {0}};
static const char *shape_with(Call *c) {
    for (int k = 0; k < c->in[1]->dim.n; k++) need_eq(c, c->in[1]->dim.v[k], poly(c, "1"));
    return c->in[1]->dim.n > 1 ? "the fill value must be a single number" : shape(c);
}
static Ex define_with(Call *c, Dims i) {
    return padded(c, i, at(c, 1, (Dims){.n = c->in[1]->dim.n}));
}
static int steps_with(Call *c, const View in[], const View out[], StepBuf *b) {
    View value = view_spread(&in[1], out[0].rank ? out[0].rank : in[1].rank, out[0].dim);
    step_copy(b, &out[0], &value);
    copy_inner(c, in, out, b);
    return 1;
}
static const OnnxMap onnx_with[] = {{"", "Pad", 11, 0, "mode==constant pads:axes"}, {0}};
const Op op_padwith = {"padwith",           "x value",        "y",
                       with_attrs,          shape_with,       define_with,
                       .steps = steps_with, .onnx = onnx_with};
