/* swiglu: swish(a) * b. */
#include "ops/operator/op.h"

static const AttrDef attrs[] = {{"alpha", A_REAL, "1", .draw = "1 1/2 2"}, {0}};
static const char *shape(Call *c) {
    for (int k = 0; k < c->in[0]->dim.n && c->in[1]->dim.n == c->in[0]->dim.n; k++)
        need_eq(c, c->in[0]->dim.v[k], c->in[1]->dim.v[k]);
    return c->in[0]->dim.n == c->in[1]->dim.n ? same_type(c, "F")
                                              : "the inputs have different ranks";
}
static const char expansion[] = "%s = swish %a alpha=alpha\n"
                                "%y = mul %s %b\n"
                                "out %y\n";
static const OnnxMap onnx[] = {{"", "SwiGLU", 28, 0, "alpha"}, {0}};
const Op op_swiglu = {"swiglu", "a b", "y", attrs, shape, .expand = expansion, .onnx = onnx};
