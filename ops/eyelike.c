/* eyelike: a matrix with ones on the diagonal that is k places right of the main one, and zeros
   elsewhere. */
#include "ops/operator/op.h"

enum { DIAGONAL, SHAPE, DTYPE };
static const AttrDef attrs[] = {
    [DIAGONAL] = {"k", A_INT, "0", .draw = "0 1 -1"},
    [SHAPE] = {.name = "shape", .kind = A_INTS},
    [DTYPE] = {.name = "dtype", .kind = A_DTYPE, .init = "F"},
    {0},
};
static const char *shape(Call *c) {
    Dims y = ints_dims(c, SHAPE);
    if (ints(c, SHAPE).n != 2) return "eyelike makes a matrix";
    for (int k = 0; k < y.n; k++) need_ge(c, y.v[k], 0);
    c->out[0] = (Type){.dtype = (DType)enum_value(c, DTYPE), .dim = y};
    return NULL;
}
static Ex define(Call *c, Dims i) {
    return when(c, when_eq(c, i.v[1], poly(c, "i + k", i.v[0], intof(c, DIAGONAL))), num(c, 1, 1),
                num(c, 0, 1));
}
static const OnnxMap onnx[] = {{"", "EyeLike", 9, 0, "k shape:like dtype:like"}, {0}};
const Op op_eyelike = {"eyelike", "", "y", attrs, shape, define, .onnx = onnx};
