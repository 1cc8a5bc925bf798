/* softmax: y = exp(x - m) / sum of exp(x - m) along an axis, where m is the maximum along it. m
   cancels, but keeps exp from overflowing. */
#include "ops/operator/op.h"
enum { AXIS };
static const AttrDef attrs[] = {[AXIS] = {"axis", A_INT, "-1", .axes = true, .draw = "0 1 -1"},
                                {0}};

static const char *shape(Call *c) {
    if (axis(c, AXIS, c->in[0]->dim.n) < 0) return "axis out of range";
    return same_type(c, "F");
}

/* Returns x - m; *z becomes the sum of exp(x - m). */
static Ex shifted(Call *c, Dims i, Ex *z) {
    int a = axis(c, AXIS, i.n);
    Dims n = {1, {c->in[0]->dim.v[a]}}, j = bound(c, n), k = bound(c, n);
    Ex m = maximum(c, j, (Cond){0}, at(c, 0, dims_with(i, a, j.v[0])));
    *z = sum(c, k, (Cond){0}, fn(c, FN_EXP, sub(c, at(c, 0, dims_with(i, a, k.v[0])), m)));
    return sub(c, at(c, 0, i), m);
}
static Ex define(Call *c, Dims i) {
    Ex z, x = shifted(c, i, &z);
    return divide(c, fn(c, FN_EXP, x), z);
}

/* One softmax step over views whose last axis is `axis`. */
static int write_steps(Call *c, const View in[], const View out[], StepBuf *b) {
    int a = axis(c, AXIS, in[0].rank), order[STEP_RANK];
    for (int k = 0; k < in[0].rank; k++) order[k] = k == in[0].rank - 1 ? a : k + (k >= a);
    step_add(b, S_SOFTMAX, 2,
             (const View[]){view_axes(&out[0], out[0].rank, order),
                            view_axes(&in[0], in[0].rank, order)});
    return 1;
}

static const OnnxMap onnx[] = {
    {"", "Softmax", 13, 0, "axis"}, {"", "Softmax", 1, 12, "axis:flatten"}, {0}};
const Op op_softmax = {
    "softmax",          "x", "y", attrs, shape, define, .steps = write_steps, .onnx = onnx,
    .flags = OP_BOUNDED};

/* logsoftmax: the logarithm of softmax. */
static Ex define_log(Call *c, Dims i) {
    Ex z, x = shifted(c, i, &z);
    return sub(c, x, fn(c, FN_LOG, z));
}
static const OnnxMap onnx_log[] = {
    {"", "LogSoftmax", 13, 0, "axis"}, {"", "LogSoftmax", 1, 12, "axis:flatten"}, {0}};
const Op op_logsoftmax = {"logsoftmax", "x", "y", attrs, shape, define_log, .onnx = onnx_log};

/* hardmax: 1 at the first maximum along the axis, 0 elsewhere. */
static int params(Call *c, int64_t param[]) {
    param[OP_AXIS] = axis(c, AXIS, c->in[0]->dim.n);
    return 1;
}
static int kernel_hardmax(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    const int a = (int)s->param[OP_AXIS];
    View first = *y; /* the first element of every line along the axis */
    int64_t i[STEP_RANK];
    if (y->dim[a]) first.dim[a] = 1;
    for (bool more = kernel_first(&first, i); more; more = kernel_next(&first, i)) {
        const int64_t from = kernel_at(x, i), to = kernel_at(y, i);
        int64_t best = 0;
        for (int64_t k = 1; k < x->dim[a]; k++)
            if (kernel_real(x, slot, from + k * x->stride[a]) >
                kernel_real(x, slot, from + best * x->stride[a]))
                best = k;
        for (int64_t k = 0; k < y->dim[a]; k++)
            kernel_set_real(y, slot, to + k * y->stride[a], k == best);
    }
    return 0;
}
static const OnnxMap onnx_hardmax[] = {
    {"", "Hardmax", 13, 0, "axis"}, {"", "Hardmax", 1, 12, "axis:flatten"}, {0}};
const Op op_hardmax = {
    "hardmax",           "x", "y", attrs, shape, .kernel = kernel_hardmax, .params = params,
    .onnx = onnx_hardmax};
