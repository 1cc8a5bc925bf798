/* split: output j is the j-th piece of x along an axis. The sizes of the pieces must add up to the
   size of that axis. */
#include "ops/operator/op.h"
enum { AXIS, SIZES };
static const AttrDef attrs[] = {[AXIS] = {"axis", A_INT, "0", .axes = true, .draw = "0 1 -1"},
                                [SIZES] = {.name = "sizes", .kind = A_INTS},
                                {0}};

static const char *shape(Call *c) {
    PolyList part = ints(c, SIZES);
    int a = axis(c, AXIS, c->in[0]->dim.n);
    if (a < 0) return "axis out of range";
    if (part.n != c->nout) return "split needs one size for each output";
    need_eq(c, c->in[0]->dim.v[a], total(c, part, part.n));
    for (int j = 0; j < c->nout; j++) {
        need_ge(c, part.v[j], 0);
        c->out[j] = *c->in[0];
        c->out[j].dim.v[a] = part.v[j];
    }
    return NULL;
}

static Ex define(Call *c, Dims i) {
    int a = axis(c, AXIS, i.n);
    return at(c, 0, dims_with(i, a, poly(c, "i + o", i.v[a], total(c, ints(c, SIZES), c->port))));
}

static const OnnxMap onnx[] = {
    {"", "Split", 18, 0, "axis sizes=input:1 sizes:equal"},
    {"", "Split", 13, 17, "axis sizes=input:1 sizes:equal"},
    {"", "Split", 2, 12, "axis sizes=split sizes:equal"},
    {"", "Split", 1, 1, "axis sizes=split|input:1 sizes:equal"},
    {0},
};
const Op op_split = {"split", "x", "ys..", attrs, shape, define, .onnx = onnx};
