/* affinegrid: the sampling grid of an affine map, for gridsample. grid [n, .., axes] is theta [n,
   axes, axes + 1] times a vector for each element of an image of `sizes` [n, c, ..]: the
   coordinates of the element, followed by a 1.

   Coordinates run from -1 to 1 and are listed with the last axis first. With `align`, -1 and 1 are
   the centres of the first and the last element of an axis, else their outer edges. */
#include "ops/operator/op.h"
enum { SIZES, ALIGN };
static const AttrDef attrs[] = {[SIZES] = {.name = "sizes", .kind = A_INTS},
                                [ALIGN] = {"align", A_ENUM, "no", "no yes", .draw = "no yes"},
                                {0}};

static const char *shape(Call *c) {
    Dims theta = c->in[0]->dim, d = ints_dims(c, SIZES);
    int ns = d.n - 2;
    if (theta.n != 3 || ns < 1 || ints(c, SIZES).n >= RANK_MAX)
        return "affinegrid needs theta [n, axes, axes + 1] and sizes [n, c, ..]";
    for (int k = 0; k < d.n; k++) need_ge(c, d.v[k], 0);
    need_eq(c, theta.v[0], d.v[0]);
    need_eq(c, theta.v[1], poly_int(c->w, ns));
    need_eq(c, theta.v[2], poly_int(c->w, ns + 1));
    c->out[0] = (Type){.dtype = c->in[0]->dtype, .dim = {.n = ns + 2, .v = {d.v[0]}}};
    for (int k = 0; k < ns; k++) c->out[0].dim.v[k + 1] = d.v[k + 2];
    c->out[0].dim.v[ns + 1] = poly_int(c->w, ns);
    return is_float(c->in[0]) ? NULL : "not supported for this element type";
}
/* The coordinate, from -1 to 1, of place i on an axis of n places. */
static Ex place(Call *c, Poly i, Poly n) {
    Poly twice = poly(c, enum_value(c, ALIGN) ? "2*i" : "2*i + 1", i);
    Poly whole = enum_value(c, ALIGN) ? poly(c, "n - 1", n) : n;
    return sub(c, divide(c, size(c, twice), size(c, whole)), num(c, 1, 1));
}
static Ex define(Call *c, Dims i) {
    int ns = i.n - 2;
    Dims at_theta = {3, {i.v[0], i.v[ns + 1], poly_int(c->w, ns)}};
    Ex y = at(c, 0, at_theta);
    for (int k = 0; k < ns; k++) {
        Ex factor = at(c, 0, dims_with(at_theta, 2, poly_int(c->w, ns - 1 - k)));
        y = add(c, y, mul(c, factor, place(c, i.v[k + 1], c->out[0].dim.v[k + 1])));
    }
    return y;
}
static const OnnxMap onnx[] = {{"", "AffineGrid", 20, 0, "sizes=input:1 align=align_corners"}, {0}};
const Op op_affinegrid = {"affinegrid", "theta", "grid", attrs, shape, define, .onnx = onnx};
