/* loss: loss functions. nll is minus the element of x [n, c, ..] that target [n, ..] selects on
   axis 1, times the weight of its class; of all targets (none), their sum, or the sum divided by
   the sum of the weights (mean). A target equal to `ignore` has the weight 0. crossentropy is nll
   of the logarithm of softmax, which is its second result. */
#include "ops/operator/op.h"
enum { REDUCTION, IGNORE };
enum { NONE, SUM, MEAN };
static const AttrDef attrs[] = {
    [REDUCTION] = {"reduction", A_ENUM, "mean", "none sum mean", .draw = "none sum mean"},
    /* The default is not a class, so no target is ignored. */
    [IGNORE] = {"ignore", A_INT, "-9223372036854775807", .draw = "0 -1"},
    {0},
};

static const char *shape_nll(Call *c) {
    Dims x = c->in[0]->dim, target = c->in[1]->dim;
    if (x.n < 2 || target.n != x.n - 1) return "the loss needs x [n, c, ..] and targets [n, ..]";
    if (!is_float(c->in[0]) || !is_integer(c->in[1]))
        return "not supported for these element types";
    for (int k = 0; k < target.n; k++) need_eq(c, target.v[k], x.v[k ? k + 1 : 0]);
    if (c->in[2]) {
        if (c->in[2]->dim.n != 1) return "the weights must be one number per class";
        need_eq(c, c->in[2]->dim.v[0], x.v[1]);
    }
    c->out[0] = (Type){.dtype = c->in[0]->dtype,
                       .dim = enum_value(c, REDUCTION) == NONE ? target : (Dims){0}};
    return NULL;
}
static bool domain(Call *c, int input, Poly *low, Poly *high) {
    return input == 1 && all_places(c, c->in[0]->dim.v[1], low, high);
}
enum { P_REDUCTION = 1, P_IGNORE };
static int params(Call *c, int64_t param[]) {
    param[P_REDUCTION] = enum_value(c, REDUCTION);
    return is_const(c, intof(c, IGNORE), &param[P_IGNORE]) ? 2 : -1;
}

/* Stores the loss and the weight of one target; returns false if there is no such class. */
static bool one_loss(const Step *s, void *const slot[], const int64_t i[], double *loss,
                     double *weight) {
    const View *x = &s->view[1], *target = &s->view[2],
               *w = s->nview > 3 && s->view[3].rank >= 0 ? &s->view[3] : NULL;
    int64_t at[STEP_RANK] = {i[0], kernel_integer(target, slot, kernel_at(target, i))};
    for (int k = 2; k < x->rank; k++) at[k] = i[k - 1];
    *loss = *weight = 0;
    if (at[1] == s->param[P_IGNORE]) return true;
    if (at[1] < 0 || at[1] >= x->dim[1]) return false;
    *weight = w ? kernel_real(w, slot, kernel_at(w, &at[1])) : 1;
    *loss = -kernel_real(x, slot, kernel_at(x, at)) * *weight;
    return true;
}
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *target = &s->view[2];
    int64_t i[STEP_RANK];
    double loss, weight, losses = 0, weights = 0;
    for (bool more = kernel_first(target, i); more; more = kernel_next(target, i)) {
        if (!one_loss(s, slot, i, &loss, &weight)) return -1;
        if (s->param[P_REDUCTION] == NONE) kernel_set_real(y, slot, kernel_at(y, i), loss);
        losses += loss, weights += weight;
    }
    if (s->param[P_REDUCTION] != NONE)
        kernel_set_real(y, slot, y->offset,
                        s->param[P_REDUCTION] == SUM ? losses : losses / weights);
    return 0;
}
static const OnnxMap onnx_nll[] = {
    {"", "NegativeLogLikelihoodLoss", 12, 0, "reduction ignore=ignore_index"}, {0}};
const Op op_nll = {"nll",
                   "x target weight?",
                   "y",
                   attrs,
                   shape_nll,
                   .domain = domain,
                   .kernel = kernel,
                   .params = params,
                   .onnx = onnx_nll};

static const char *shape_crossentropy(Call *c) {
    const char *why = shape_nll(c);
    c->out[1] = *c->in[0];
    return why;
}
static const char expansion[] = "%l = logsoftmax %x axis=1\n"
                                "%y = nll %l %target %weight reduction=reduction ignore=ignore\n"
                                "out %y %l\n";
static const OnnxMap onnx_crossentropy[] = {
    {"", "SoftmaxCrossEntropyLoss", 12, 0, "reduction ignore=ignore_index"}, {0}};
const Op op_crossentropy = {
    "crossentropy",      "x target weight?",       "y log_prob", attrs, shape_crossentropy,
    .expand = expansion, .onnx = onnx_crossentropy};
