/* argmax, argmin: the index of the maximum or the minimum along an axis, which y lacks. Of equal
   elements the first one counts or, with `last`, the last one. */
#include "ops/operator/op.h"
enum { AXIS, LAST };
static const AttrDef attrs[] = {
    [AXIS] = {"axis", A_INT, "0", .axes = true, .draw = "0 1 -1"},
    [LAST] = {"last", A_ENUM, "no", "no yes", .draw = "no yes"},
    {0},
};

static const char *shape(Call *c) {
    int a = axis(c, AXIS, c->in[0]->dim.n);
    if (a < 0) return "axis out of range";
    c->out[0] = (Type){.dtype = DT_INT64, .dim = dims_without(c->in[0]->dim, a)};
    need_ge(c, c->in[0]->dim.v[a], poly(c, "1"));
    return dtypes_agree(c, "FIU");
}

extern const Op op_argmin;
static int params(Call *c, int64_t param[]) {
    param[ARGMAX_MINIMUM] = c->op == &op_argmin;
    param[OP_AXIS] = axis(c, AXIS, c->in[0]->dim.n);
    param[ARGMAX_LAST] = enum_value(c, LAST);
    return 3;
}
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    int a = (int)s->param[OP_AXIS];
    int64_t i[STEP_RANK], j[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        double best = 0;
        int64_t where = 0;
        for (int k = 0; k < y->rank; k++) j[k < a ? k : k + 1] = i[k];
        for (j[a] = 0; j[a] < x->dim[a]; j[a]++) {
            double value =
                kernel_real(x, slot, kernel_at(x, j)) * (s->param[ARGMAX_MINIMUM] ? -1 : 1);
            if (j[a] && !(s->param[ARGMAX_LAST] ? value >= best : value > best)) continue;
            best = value;
            where = j[a];
        }
        kernel_set_integer(y, slot, kernel_at(y, i), where);
    }
    return 0;
}

static const OnnxMap onnx[] = {
    {"", "ArgMax", 12, 0, "axis last=select_last_index keepdims:reinsert"},
    {"", "ArgMax", 1, 11, "axis last=no! keepdims:reinsert"},
    {0},
};
const Op op_argmax = {"argmax",         "x",         "y", attrs, shape, .kernel = kernel,
                      .params = params, .onnx = onnx};

static const OnnxMap onnx_min[] = {
    {"", "ArgMin", 12, 0, "axis last=select_last_index keepdims:reinsert"},
    {"", "ArgMin", 1, 11, "axis last=no! keepdims:reinsert"},
    {0},
};
const Op op_argmin = {"argmin",        "x", "y", attrs, shape, .kernel = kernel, .params = params,
                      .onnx = onnx_min};
