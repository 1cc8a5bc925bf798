/* mean: the mean of any number of tensors, element by element. Inputs that lack leading axes are
   repeated along them. */
#include "ops/operator/op.h"

static const char *shape(Call *c) {
    const char *why = dtypes_agree(c, "F");
    if (why) return why;
    c->out[0] = *c->in[0];
    for (int k = 1; k < c->nin; k++) c->out[0].dim = dims_join(c, c->out[0].dim, c->in[k]->dim);
    return NULL;
}
static Ex define(Call *c, Dims i) {
    Ex total = at(c, 0, dims_tail(i, c->in[0]->dim.n));
    for (int k = 1; k < c->nin; k++) total = add(c, total, at(c, k, dims_tail(i, c->in[k]->dim.n)));
    return mul(c, num(c, 1, c->nin), total);
}
static const OnnxMap onnx[] = {{"", "Mean", 8, 0, ""}, {0}};
const Op op_mean = {"mean", "xs..", "y",          NULL,
                    shape,  define, .onnx = onnx, .flags = OP_BROADCASTS | OP_COMMUTATIVE};
