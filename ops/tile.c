/* tile: x repeated along every axis: y[i..] = x[i mod n ..], where n are the sizes of x. */
#include "ops/operator/op.h"
enum { REPEATS };
static const AttrDef attrs[] = {[REPEATS] = {.name = "repeats", .kind = A_INTS}, {0}};

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim;
    PolyList r = ints(c, REPEATS);
    if (r.n != x.n) return "tile needs a repeat count for each axis";
    c->out[0] = *c->in[0];
    for (int k = 0; k < x.n; k++) {
        need_ge(c, r.v[k], 0);
        c->out[0].dim.v[k] = poly(c, "r*n", r.v[k], x.v[k]);
    }
    return NULL;
}
static Ex define(Call *c, Dims i) {
    for (int k = 0; k < i.n; k++)
        i.v[k] = digits(c, i.v[k], (Dims){2, {ints(c, REPEATS).v[k], c->in[0]->dim.v[k]}}).v[1];
    return at(c, 0, i);
}

static const OnnxMap onnx[] = {
    {"", "Expand", 8, 0, "repeats:stretched"},
    {"", "Tile", 6, 0, "repeats=input:1"},
    {0},
};
const Op op_tile = {"tile", "x", "y", attrs, shape, define, .onnx = onnx};
