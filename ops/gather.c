/* gather: y[a.., i.., b..] = x[a.., index[i..], b..]: the axes of index replace the axis of x that
   is indexed. Negative indices count from the end. Rules use the definition; the kernel runs, since
   it is faster than a loop over the definition. */
#include "ops/operator/op.h"
enum { AXIS };
static const AttrDef attrs[] = {[AXIS] = {"axis", A_INT, "0", .axes = true, .draw = "0 1 -1"}, {0}};

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim, index = c->in[1]->dim, y = {0};
    int a = axis(c, AXIS, x.n);
    if (a < 0) return "axis out of range";
    if (!is_integer(c->in[1])) return "indices must be integers";
    if (x.n - 1 + index.n > RANK_MAX) return RANK_TOO_HIGH;
    for (int k = 0; k < a; k++) y.v[y.n++] = x.v[k];
    for (int k = 0; k < index.n; k++) y.v[y.n++] = index.v[k];
    for (int k = a + 1; k < x.n; k++) y.v[y.n++] = x.v[k];
    c->out[0] = *c->in[0];
    c->out[0].dim = y;
    return NULL;
}

static Ex define(Call *c, Dims i) {
    Dims x = c->in[0]->dim, index = c->in[1]->dim, at_index = {.n = index.n}, at_x = {.n = x.n};
    int a = axis(c, AXIS, x.n);
    Poly k = bound(c, (Dims){1, {x.v[a]}}).v[0];
    for (int j = 0; j < index.n; j++) at_index.v[j] = i.v[a + j];
    for (int j = 0; j < x.n; j++) at_x.v[j] = j < a ? i.v[j] : j == a ? k : i.v[j - 1 + index.n];
    return take(c, k, at(c, 1, at_index), at(c, 0, at_x));
}

/* In shape computations x is a list of sizes, so it has one axis. */
static bool value(Call *c, const PolyList in[], Poly *out) {
    if (c->in[0]->dim.n != 1 || !in[0].v || !in[1].v) return false;
    for (int k = 0; k < in[1].n; k++) {
        int64_t at;
        if (!is_const(c, in[1].v[k], &at)) return false;
        if (at < 0) at += in[0].n;
        if (at < 0 || at >= in[0].n) return false;
        out[k] = in[0].v[at];
    }
    return true;
}

static int params(Call *c, int64_t param[]) {
    param[OP_AXIS] = axis(c, AXIS, c->in[0]->dim.n);
    return 1;
}
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1], *index = &s->view[2];
    int a = (int)s->param[OP_AXIS];
    int64_t i[STEP_RANK], j[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        int64_t at = kernel_integer(index, slot, kernel_at(index, i + a));
        if (at < 0) at += x->dim[a];
        if (at < 0 || at >= x->dim[a]) return -1;
        for (int k = 0; k < x->rank; k++)
            j[k] = k < a ? i[k] : k == a ? at : i[k - 1 + index->rank];
        kernel_move(y, slot, kernel_at(y, i), x, kernel_at(x, j));
    }
    return 0;
}

static const OnnxMap onnx[] = {{"", "Gather", 1, 0, "axis"}, {0}};
const Op op_gather = {"gather",
                      "x index",
                      "y",
                      attrs,
                      shape,
                      define,
                      .value = value,
                      .kernel = kernel,
                      .params = params,
                      .onnx = onnx,
                      .flags = OP_BY_DATA};
