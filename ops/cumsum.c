/* cumsum: sums of the elements up to each place along an axis, from the end with `reverse`, without the place itself
   with `exclusive`. */
#include "op.h"
enum { AXIS, EXCLUSIVE, REVERSE };
static const AttrDef attrs[] = {
    [AXIS] = {.name = "axis", .kind = A_INT, .axes = true, .draw = "0 1 -1"},
    [EXCLUSIVE] = {"exclusive", A_WORD, "no", "no yes", .draw = "no yes"},
    [REVERSE] = {"reverse", A_WORD, "no", "no yes", .draw = "no yes"},
    {0},
};

static const char *shape(Call *c) { return axis(c, AXIS, c->in[0]->dim.n) < 0 ? "axis out of range" : same_type(c, "FIU"); }

static Ex define(Call *c, Dims i) {
    int a = axis(c, AXIS, i.n);
    Dims k = bound(c, (Dims){1, {c->in[0]->dim.v[a]}});
    Poly late = word(c, REVERSE) ? k.v[0] : i.v[a], early = word(c, REVERSE) ? i.v[a] : k.v[0];
    Cond counted = when_ge(c, late, poly(c, "e + x", early, poly_int(c->w, word(c, EXCLUSIVE))));
    return sum(c, k, counted, at(c, 0, dims_with(i, a, k.v[0])));
}

static const OnnxMap onnx[] = {{"", "CumSum", 11, 0, "axis=input:1 exclusive reverse"}, {0}};
const Op op_cumsum = {"cumsum", "x", "y", attrs, shape, define, .onnx = onnx};
