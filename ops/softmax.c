/* softmax: y = exp(x - m) / sum of exp(x - m) along an axis, m the maximum there (it cancels; it keeps exp from
   overflowing). */
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

/* The axis goes last. */
static int lower(Call *c, const View in[], const View out[], StepBuf *b) {
    int a = axis(c, AXIS, in[0].rank), order[STEP_RANK];
    for (int k = 0; k < in[0].rank; k++) order[k] = k == in[0].rank - 1 ? a : k + (k >= a);
    step_add(b, S_SOFTMAX, 2, (const View[]){view_axes(&out[0], out[0].rank, order), view_axes(&in[0], in[0].rank, order)});
    return 1;
}

static const OnnxMap onnx[] = {{"", "Softmax", 13, 0, "axis"}, {"", "Softmax", 1, 12, "axis:flatten"}, {0}};
const Op op_softmax = {"softmax", "x", "y", attrs, shape, define, .lower = lower, .onnx = onnx};
