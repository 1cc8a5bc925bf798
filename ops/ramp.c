/* ramp: integers in arithmetic progression along each axis: the element at i0, i1, .. is start +
   steps[0] i0 + steps[1] i1 + .. The places that windows and runs take are such constants; a rule
   that has a ramp on its left side matches them (rules/match.c). No ONNX operator is one. */
#include "ops/operator/op.h"

enum { START, STEPS, SHAPE };
static const AttrDef attrs[] = {
    [START] = {"start", A_INT, "0", .draw = "0 2 -3"},
    [STEPS] = {.name = "steps", .kind = A_INTS},
    [SHAPE] = {.name = "shape", .kind = A_INTS},
    {0},
};
static const char *shape(Call *c) {
    const Dims y = ints_dims(c, SHAPE);
    if (ints(c, SHAPE).n > RANK_MAX) return RANK_TOO_HIGH;
    if (ints(c, STEPS).n != y.n) return "ramp needs one entry of steps for each axis";
    for (int k = 0; k < y.n; k++) need_ge(c, y.v[k], 0);
    c->out[0] = (Type){.dtype = DT_INT64, .dim = y};
    return NULL;
}
static Ex define(Call *c, Dims i) {
    Poly at = intof(c, START);
    for (int k = 0; k < i.n; k++) at = poly(c, "a + s*i", at, ints(c, STEPS).v[k], i.v[k]);
    return size(c, at);
}
const Op op_ramp = {"ramp", "", "y", attrs, shape, define, .onnx = NULL};
