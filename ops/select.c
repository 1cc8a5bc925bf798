/* select: y[i..] = x[M i + o], or 0 where that lies outside x. M has a row for each axis of x and a
   column for each axis of y. Constants that are found by solving equations are written with it
   (generator/discover): constants with zeros put between the elements of another one, shifted
   copies, diagonals. It is applied to constants only and computed before the model is written,
   because ONNX has no such operator. */
#include "ops/operator/op.h"
enum { MATRIX, OFFSETS, SHAPE };
static const AttrDef attrs[] = {
    [MATRIX] = {.name = "matrix", .kind = A_INTS, .draw = "0 0 1 -1 2"},
    [OFFSETS] = {.name = "offsets", .kind = A_INTS, .draw = "0 1 -1 2"},
    [SHAPE] = {.name = "shape", .kind = A_INTS, .draw = "1 2 3"},
    {0},
};

static const char *shape(Call *c) {
    const int n = c->in[0]->dim.n;
    const Dims y = ints_dims(c, SHAPE);
    const char *why = dtypes_agree(c, "FIU");
    if (why) return why;
    if (ints(c, OFFSETS).n != n) return "select needs an offset for every axis of its input";
    if (ints(c, MATRIX).n != n * y.n)
        return "select needs a row for every axis of its input, an entry for every one of its "
               "result";
    for (int k = 0; k < y.n; k++) need_ge(c, y.v[k], 0);
    c->out[0] = *c->in[0];
    c->out[0].dim = y;
    return NULL;
}

static Ex define(Call *c, Dims i) {
    const Dims x = c->in[0]->dim;
    const PolyList m = ints(c, MATRIX), offset = ints(c, OFFSETS);
    Dims at_x = x;
    for (int k = 0; k < x.n; k++) {
        at_x.v[k] = offset.v[k];
        for (int j = 0; j < i.n; j++)
            at_x.v[k] = poly(c, "a + m*i", at_x.v[k], m.v[k * i.n + j], i.v[j]);
    }
    return when(c, inside(c, at_x, x, 0), at(c, 0, at_x), num(c, 0, 1));
}

const Op op_select = {"select", "x", "y", attrs, shape, define, .flags = OP_ON_CONSTANTS};
