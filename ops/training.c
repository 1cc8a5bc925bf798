/* training: operators in the form that training needs. dropmask: x, and a mask that says that all
   of it is kept (dropout in inference whose mask is a result). batchtrain: batch normalization by
   the mean and variance of the batch itself; further results are the running mean and variance:
   momentum * before + (1 - momentum) * now. */
#include "ops/operator/op.h"
#include <math.h>

static const char *shape_mask(Call *c) {
    const char *why = same_type(c, "F");
    c->out[1] = c->out[0];
    c->out[1].dtype = DT_BOOL;
    return why;
}
static int kernel_mask(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *mask = &s->view[1], *x = &s->view[2];
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        kernel_move(y, slot, kernel_at(y, i), x, kernel_at(x, i));
        kernel_set_integer(mask, slot, kernel_at(mask, i), 1);
    }
    return 0;
}
static const OnnxMap onnx_mask[] = {{"", "Dropout", 12, 0, "training:off seed:ignore"}, {0}};
const Op op_dropmask = {"dropmask",       "x", "y mask", .shape = shape_mask, .kernel = kernel_mask,
                        .onnx = onnx_mask};

enum { EPSILON, MOMENTUM };
enum { X, SCALE, BIAS, MEAN, VAR, INPUTS };
static const AttrDef batch_attrs[] = {
    [EPSILON] = {"epsilon", A_REAL, "1/100000", .draw = "1/100000 1/1000 1/10"},
    [MOMENTUM] = {"momentum", A_REAL, "9/10", .draw = "9/10 1/2 0"},
    {0},
};
static const char *shape_batch(Call *c) {
    Dims x = c->in[X]->dim;
    if (x.n < 2) return "batch normalization needs channels on axis 1";
    for (int k = SCALE; k < INPUTS; k++) {
        if (c->in[k]->dim.n != 1) return "batch normalization needs one number per channel";
        need_eq(c, c->in[k]->dim.v[0], x.v[1]);
    }
    const char *why = same_type(c, "F");
    c->out[1] = *c->in[MEAN], c->out[2] = *c->in[VAR];
    return why;
}
static int params_batch(Call *c, int64_t param[]) {
    return !bits_of(c, EPSILON, &param[1]) || !bits_of(c, MOMENTUM, &param[2]) ? -1 : 2;
}

/* The mean of (x - from)^power over a channel; power is 1 or 2. */
static double moment(const View *x, void *const slot[], int64_t channel, int power, double from) {
    View part = *x;
    int64_t i[STEP_RANK], n = 0;
    double total = 0;
    part.dim[1] = 1, part.offset += channel * x->stride[1];
    for (bool more = kernel_first(&part, i); more; more = kernel_next(&part, i), n++) {
        double e = kernel_real(&part, slot, kernel_at(&part, i)) - from;
        total += power == 2 ? e * e : e;
    }
    return total / (double)n;
}
static void normalize(const Step *s, void *const slot[], int64_t channel, double mean,
                      double factor, double bias) {
    View x = s->view[3 + X], y = s->view[0];
    int64_t i[STEP_RANK];
    x.dim[1] = y.dim[1] = 1;
    x.offset += channel * x.stride[1], y.offset += channel * y.stride[1];
    for (bool more = kernel_first(&y, i); more; more = kernel_next(&y, i))
        kernel_set_real(&y, slot, kernel_at(&y, i),
                        (kernel_real(&x, slot, kernel_at(&x, i)) - mean) * factor + bias);
}
static int kernel_batch(const Step *s, void *const slot[]) {
    const View *x = &s->view[3 + X], *running[2] = {&s->view[1], &s->view[2]};
    const double epsilon = param_real(s->param[1]), momentum = param_real(s->param[2]);
    for (int64_t c = 0; c < x->dim[1]; c++) {
        double at[INPUTS] = {0}, now[2];
        for (int k = SCALE; k < INPUTS; k++)
            at[k] = kernel_real(&s->view[3 + k], slot, kernel_at(&s->view[3 + k], &c));
        now[0] = moment(x, slot, c, 1, 0), now[1] = moment(x, slot, c, 2, now[0]);
        normalize(s, slot, c, now[0], at[SCALE] / sqrt(now[1] + epsilon), at[BIAS]);
        for (int k = 0; k < 2; k++)
            kernel_set_real(running[k], slot, kernel_at(running[k], &c),
                            momentum * at[MEAN + k] + (1 - momentum) * now[k]);
    }
    return 0;
}
static const OnnxMap onnx_batch[] = {
    {"", "BatchNormalization", 14, 0, "epsilon momentum training:attribute"}, {0}};
const Op op_batchtrain = {
    "batchtrain", "x scale bias mean var", "y mean_after var_after", batch_attrs,
    shape_batch,  .kernel = kernel_batch,  .params = params_batch,   .onnx = onnx_batch,
};
