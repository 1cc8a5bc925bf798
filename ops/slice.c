/* slice: y[i..] = x[start + step*i ..], with sizes[a] elements along each axis a. A step may be
   negative if it is a known number. The first and the last element must lie inside x. */
#include "ops/operator/op.h"
enum { STARTS, SIZES, STEPS };
static const AttrDef attrs[] = {
    [STARTS] = {"starts", A_INTS, "0", .fill = PER_AXIS},
    [SIZES] = {.name = "sizes", .kind = A_INTS},
    [STEPS] = {"steps", A_INTS, "1", .fill = PER_AXIS, .draw = "1 2 -1 -2"},
    {0},
};

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim, y = ints_dims(c, SIZES);
    PolyList start = ints(c, STARTS), step = ints(c, STEPS);
    if (y.n != x.n || start.n != x.n || step.n != x.n)
        return "slice needs a start, a size and a step for each axis";
    for (int k = 0; k < x.n; k++) {
        int64_t by = 1;
        if (!is_const(c, step.v[k], &by)) need_ge(c, step.v[k], poly(c, "1"));
        if (by == 0) return "slice cannot step by 0";
        Poly last = poly(c, "o + s*n - s", start.v[k], step.v[k], y.v[k]);
        need_ge(c, y.v[k], 0);
        need_ge(c, by > 0 ? start.v[k] : last, 0);
        need_ge(c, x.v[k], poly(c, "l + 1", by > 0 ? last : start.v[k]));
    }
    c->out[0] = *c->in[0];
    c->out[0].dim = y;
    return NULL;
}

static Ex define(Call *c, Dims i) {
    PolyList start = ints(c, STARTS), step = ints(c, STEPS);
    for (int k = 0; k < i.n; k++) i.v[k] = poly(c, "o + s*i", start.v[k], step.v[k], i.v[k]);
    return at(c, 0, i);
}

static const OnnxMap onnx[] = {
    {"", "Slice", 10, 0, "slice:axes"}, {"", "Slice", 1, 9, "slice:axes"}, {0}};
const Op op_slice = {"slice", "x", "y", attrs, shape, define, .onnx = onnx};
