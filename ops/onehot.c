/* onehot: adds an axis of `depth` places with values[1] at the place that the index names and
   values[0] elsewhere. Negative indices count from the end. */
#include "ops/operator/op.h"
enum { AXIS, DEPTH };
static const AttrDef attrs[] = {
    [AXIS] = {"axis", A_INT, "-1", .draw = "-1 0 1"},
    [DEPTH] = {.name = "depth", .kind = A_INT, .draw = "2 5"},
    {0},
};

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim, y = {.n = x.n + 1};
    if (y.n > RANK_MAX) return RANK_TOO_HIGH;
    int a = axis(c, AXIS, y.n);
    if (a < 0) return "axis out of range";
    if (c->in[1]->dim.n != 1) return "values must be a pair, [off, on]";
    need_eq(c, c->in[1]->dim.v[0], poly(c, "2"));
    need_ge(c, intof(c, DEPTH), 0);
    for (int k = 0; k < y.n; k++) y.v[k] = k == a ? intof(c, DEPTH) : x.v[k - (k > a)];
    c->out[0] = (Type){.dtype = c->in[1]->dtype, .dim = y};
    return NULL;
}
/* Indices beyond the axis are allowed and match no place; random data should match one. */
static bool domain(Call *c, int input, Poly *low, Poly *high) {
    return input == 0 && all_places(c, intof(c, DEPTH), low, high);
}
static int params(Call *c, int64_t param[]) {
    param[OP_AXIS] = axis(c, AXIS, c->out[0].dim.n);
    return 1;
}
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1], *values = &s->view[2];
    int a = (int)s->param[OP_AXIS];
    int64_t i[STEP_RANK], j[STEP_RANK] = {0};
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        for (int k = 0; k < y->rank; k++)
            if (k != a) j[k - (k > a)] = i[k];
        int64_t where = (int64_t)kernel_real(x, slot, kernel_at(x, j));
        int64_t on = (where < 0 ? where + y->dim[a] : where) == i[a];
        kernel_move(y, slot, kernel_at(y, i), values, kernel_at(values, &on));
    }
    return 0;
}

static const OnnxMap onnx[] = {{"", "OneHot", 9, 0, "axis depth=input:1"}, {0}};
const Op op_onehot = {
    "onehot",         "indices values", "y",         attrs, shape, .domain = domain,
    .kernel = kernel, .params = params, .onnx = onnx};
