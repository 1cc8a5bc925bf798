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

/* The numbers of each channel make two, factor = scale / sqrt(var + epsilon) and shift = bias -
   mean * factor, so that an element takes one multiplication and one addition. 16-bit floats would
   be too short for them. */
static int steps(Call *c, const View in[], const View out[], StepBuf *b) {
    const int32_t dtype = dtype_bits(c->in[X]->dtype) < 32 ? DT_FLOAT : out[0].dtype;
    double epsilon;
    View factor, shift;
    if (!ex_number(c->w, real(c, EPSILON), &epsilon) ||
        !step_buffer(b, dtype, 1, in[SCALE].dim, &factor) ||
        !step_buffer(b, dtype, 1, in[SCALE].dim, &shift))
        return 0;
    step_code(b, step_add(b, S_EWISE, 3, (const View[]){factor, in[SCALE], in[VAR]}), 6,
              (const Scalar[]){{.op = C_VIEW, .a = 1},
                               {.op = C_VIEW, .a = 2},
                               {.op = C_CONST, .k = epsilon},
                               {.op = C_ADD, .a = 1, .b = 2},
                               {.op = C_SQRT, .a = 3},
                               {.op = C_DIV, .a = 0, .b = 4}});
    step_code(b, step_add(b, S_EWISE, 4, (const View[]){shift, in[BIAS], in[MEAN], factor}), 5,
              (const Scalar[]){{.op = C_VIEW, .a = 1},
                               {.op = C_VIEW, .a = 2},
                               {.op = C_VIEW, .a = 3},
                               {.op = C_MUL, .a = 1, .b = 2},
                               {.op = C_SUB, .a = 0, .b = 3}});
    const View y[] = {
        out[0],
        in[X],
        per_axis_view(&factor, &out[0], 1),
        per_axis_view(&shift, &out[0], 1)
    };
    step_code(b, step_add(b, S_EWISE, 4, y), 5,
              (const Scalar[]){{.op = C_VIEW, .a = 1},
                               {.op = C_VIEW, .a = 2},
                               {.op = C_MUL, .a = 0, .b = 1},
                               {.op = C_VIEW, .a = 3},
                               {.op = C_ADD, .a = 2, .b = 3}});
    return 1;
}

static const OnnxMap onnx[] = {
    {"", "BatchNormalization", 14, 0, "epsilon training_mode==0 momentum:ignore"},
    {"", "BatchNormalization", 9, 13, "epsilon momentum:ignore"},
    {"", "BatchNormalization", 7, 8, "epsilon spatial==1 momentum:ignore"},
    {"", "BatchNormalization", 1, 6,
     "epsilon spatial==1 +is_test==1 momentum:ignore consumed_inputs:ignore"},
    {0},
};
const Op op_batchnorm = {"batchnorm", "x scale bias mean var", "y",         attrs, shape,
                         define,      .steps = steps,          .onnx = onnx};
