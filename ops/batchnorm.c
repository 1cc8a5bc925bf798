/* batchnorm: y = scale * (x - mean) / sqrt(var + epsilon) + bias, where scale, bias, mean and var
   hold one number per channel (axis 1). */
#include "ops/operator/op.h"
enum { EPSILON };
static const AttrDef attrs[] = {
    [EPSILON] = {"epsilon", A_REAL, "1/100000", .draw = "1/100000 1/1000 1/10"}, {0}};
enum { X, SCALE, BIAS, MEAN, VAR };

static const char *shape(Call *c) {
    Dims x = c->in[X]->dim;
    if (x.n < 2) return "batchnorm needs channels on axis 1";
    for (int k = SCALE; k <= VAR; k++) {
        if (c->in[k]->dim.n != 1) return "batchnorm needs one number per channel";
        need_eq(c, c->in[k]->dim.v[0], x.v[1]);
    }
    return same_type(c, "F");
}

static Ex define(Call *c, Dims i) {
    Dims channel = {1, {i.v[1]}};
    Ex deviation = fn(c, FN_SQRT, add(c, at(c, VAR, channel), real(c, EPSILON)));
    Ex centred = sub(c, at(c, X, i), at(c, MEAN, channel));
    return add(c, mul(c, at(c, SCALE, channel), divide(c, centred, deviation)),
               at(c, BIAS, channel));
}

static const OnnxMap onnx[] = {
    {"", "BatchNormalization", 14, 0, "epsilon training_mode==0 momentum:ignore"},
    {"", "BatchNormalization", 9, 13, "epsilon momentum:ignore"},
    {"", "BatchNormalization", 7, 8, "epsilon spatial==1 momentum:ignore"},
    {"", "BatchNormalization", 1, 6,
     "epsilon spatial==1 +is_test==1 momentum:ignore consumed_inputs:ignore"},
    {0},
};
const Op op_batchnorm = {"batchnorm", "x scale bias mean var", "y", attrs, shape, define,
                         .onnx = onnx};
