/* lrn: local response normalisation (Krizhevsky, Sutskever, Hinton, 2012): y[n, c, ..] = x[n, c, ..] / (bias +
   alpha/size * sum k: x[n, k, ..]^2) ^ beta, k over the `size` channels around c: floor((size - 1)/2) before it, the
   rest behind it. */
#include "op.h"
enum { ALPHA, BETA, BIAS, SIZE };
static const AttrDef attrs[] = {
    [ALPHA] = {"alpha", A_REAL, "1/10000", .draw = "1/10000 1/2"},
    [BETA] = {"beta", A_REAL, "3/4", .draw = "3/4 1/2 1"},
    [BIAS] = {"bias", A_REAL, "1", .draw = "1 2"},
    [SIZE] = {.name = "size", .kind = A_INT, .draw = "1 2 3 5"},
    {0},
};

static const char *shape(Call *c) {
    if (c->in[0]->dim.n < 2) return "lrn needs channels on axis 1";
    need_ge(c, intof(c, SIZE), poly(c, "1"));
    return same_type(c, "F");
}

static Ex define(Call *c, Dims i) {
    Poly n = intof(c, SIZE), before = quot(c, poly(c, "n - 1", n), poly(c, "2"));
    Dims k = bound(c, (Dims){1, {n}}), near = dims_with(i, 1, poly(c, "c + k - b", i.v[1], k.v[0], before));
    Cond within = inside(c, (Dims){1, {near.v[1]}}, (Dims){1, {c->in[0]->dim.v[1]}}, 0);
    Ex squares = sum(c, k, within, mul(c, at(c, 0, near), at(c, 0, near)));
    Ex base = add(c, real(c, BIAS), mul(c, divide(c, real(c, ALPHA), size(c, n)), squares));
    return divide(c, at(c, 0, i), power(c, base, real(c, BETA)));
}

static const OnnxMap onnx[] = {{"", "LRN", 1, 0, "alpha beta bias size"}, {0}};
const Op op_lrn = {"lrn", "x", "y", attrs, shape, define, .onnx = onnx};
