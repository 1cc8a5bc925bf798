/* softmax: y = exp(x - m) / sum of exp(x - m) along an axis, m the maximum there (it cancels; it keeps exp from overflowing). */
#include "op.h"
enum { AXIS };
static const AttrDef attrs[] = {[AXIS] = {"axis", A_INT, "-1", .axes = true, .draw = "0 1 -1"}, {0}};

static const char *shape(Call *c) {
    if (axis(c, AXIS, c->in[0]->dim.n) < 0) return "axis out of range";
    return same_type(c, "F");
}

static Ex define(Call *c, Dims i) {
    int a = axis(c, AXIS, i.n);
    Dims n = {1, {c->in[0]->dim.v[a]}}, j = bound(c, n), k = bound(c, n);
    Ex m = most(c, j, (Cond){0}, at(c, 0, dims_with(i, a, j.v[0])));
    Ex z = sum(c, k, (Cond){0}, fn(c, FN_EXP, sub(c, at(c, 0, dims_with(i, a, k.v[0])), m)));
    return divide(c, fn(c, FN_EXP, sub(c, at(c, 0, i), m)), z);
}

static const OnnxMap onnx[] = {{"", "Softmax", 13, 0, "axis"}, {"", "Softmax", 1, 12, "axis:flatten"}, {0}};
const Op op_softmax = {"softmax", "x", "y", attrs, shape, define, .onnx = onnx};
