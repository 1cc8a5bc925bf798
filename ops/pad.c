/* pad: y[i..] = x[i - begin ..], `value` outside x. pads are the begins of all axes, then the ends; negative ones cut. */
#include "op.h"
enum { PADS, VALUE };
static const AttrDef attrs[] = {[PADS] = {.name = "pads", .kind = A_INTS}, [VALUE] = {"value", A_REAL, "0", .draw = "0 1 -1/2"}, {0}};

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim;
    PolyList p = ints(c, PADS);
    const char *why = dtypes_agree(c, "FIU");
    if (why) return why;
    if (p.n != 2 * x.n) return "pad needs a begin and an end for every axis";
    c->out[0] = *c->in[0];
    for (int k = 0; k < x.n; k++) {
        c->out[0].dim.v[k] = poly(c, "n + b + e", x.v[k], p.v[k], p.v[k + x.n]);
        need_ge(c, c->out[0].dim.v[k], 0);
    }
    return NULL;
}

/* Only axes that are padded are guarded. */
static Ex define(Call *c, Dims i) {
    Dims x = c->in[0]->dim, ix = i;
    PolyList p = ints(c, PADS);
    Cond in = {0};
    for (int k = 0; k < i.n; k++) {
        ix.v[k] = poly(c, "i - b", i.v[k], p.v[k]);
        if (p.v[k] || p.v[k + i.n]) in = both(c, in, inside(c, (Dims){1, {ix.v[k]}}, (Dims){1, {x.v[k]}}, 0));
    }
    return when(c, in, at(c, 0, ix), real(c, VALUE));
}

static const OnnxMap onnx[] = {
    {"", "Pad", 11, 0, "mode==constant pads:axes"},
    {"", "Pad", 2, 10, "mode==constant pads:axes"},
    {"", "Pad", 1, 1, "mode==constant pads=paddings value"},
    {0},
};
const Op op_pad = {"pad", "x", "y", attrs, shape, define, .onnx = onnx};
