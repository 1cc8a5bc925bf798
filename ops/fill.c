/* fill: every element is `value`. */
#include "ops/operator/op.h"
enum { VALUE, SHAPE, DTYPE };
static const AttrDef attrs[] = {
    [VALUE] = {"value", A_REAL, "0", .element = true, .draw = "0 1 -1/2"},
    [SHAPE] = {.name = "shape", .kind = A_INTS},
    [DTYPE] = {.name = "dtype", .kind = A_DTYPE, .init = "F"},
    {0},
};

static const char *shape(Call *c) {
    Dims y = ints_dims(c, SHAPE);
    if (ints(c, SHAPE).n > RANK_MAX) return RANK_TOO_HIGH;
    for (int k = 0; k < y.n; k++) need_ge(c, y.v[k], 0);
    c->out[0] = (Type){.dtype = (DType)enum_value(c, DTYPE), .dim = y};
    return NULL;
}
static Ex define(Call *c, Dims i) {
    (void)i;
    return real(c, VALUE);
}

static const OnnxMap onnx[] = {{"", "ConstantOfShape", 9, 0, "shape=input:0 value:tensor"}, {0}};
const Op op_fill = {"fill", "", "y", attrs, shape, define, .onnx = onnx, .flags = OP_WRITES};
