/* broadcast: stretches axes of size 1 and adds leading axes, so that y has the sizes `shape`. Only
   an axis of x whose size is the number 1 is stretched; every other axis keeps its size. */
#include "ops/operator/op.h"
enum { SHAPE };
static const AttrDef attrs[] = {[SHAPE] = {.name = "shape", .kind = A_INTS}, {0}};

static bool stretched(Call *c, int k) {
    int64_t one;
    return is_const(c, c->in[0]->dim.v[k], &one) && one == 1;
}

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim, y = ints_dims(c, SHAPE);
    if (ints(c, SHAPE).n > RANK_MAX) return RANK_TOO_HIGH;
    if (y.n < x.n) return "broadcast cannot drop axes";
    for (int k = 0; k < y.n; k++) need_ge(c, y.v[k], 0);
    for (int k = 0; k < x.n; k++)
        if (!stretched(c, k)) need_eq(c, x.v[k], y.v[y.n - x.n + k]);
    c->out[0] = *c->in[0];
    c->out[0].dim = y;
    return NULL;
}

static Ex define(Call *c, Dims i) {
    Dims x = dims_tail(i, c->in[0]->dim.n);
    for (int k = 0; k < x.n; k++)
        if (stretched(c, k)) x.v[k] = 0;
    return at(c, 0, x);
}

/* ConstantOfShape is a fill; one of a number that no attribute holds, such as an infinity,
   stretches a constant. */
static const OnnxMap onnx[] = {{"", "Expand", 8, 0, "shape:expand"},
                               {"", "ConstantOfShape", 9, 0, "shape=input:0 x:tensor"},
                               {0}};
const Op op_broadcast = {"broadcast", "x", "y", attrs, shape, define, .onnx = onnx};
