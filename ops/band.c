/* band: an n by n matrix with ones in a band around the diagonal and zeros elsewhere: y[i, j] = 1
   where i - below <= j <= i + above. If `below` and `above` are 0, it is the identity. ONNX has no
   such operator; it is exported as a constant. */
#include "ops/operator/op.h"
enum { N, BELOW, ABOVE, DTYPE };
static const AttrDef attrs[] = {
    [N] = {.name = "n", .kind = A_INT, .draw = "1 3 5"},
    [BELOW] = {"below", A_INT, "0", .draw = "0 1 2"},
    [ABOVE] = {"above", A_INT, "0", .draw = "0 1 2"},
    [DTYPE] = {.name = "dtype", .kind = A_DTYPE, .init = "F"},
    {0},
};

static const char *shape(Call *c) {
    Poly n = intof(c, N);
    need_ge(c, n, 0);
    c->out[0] = (Type){.dtype = (DType)enum_value(c, DTYPE), .dim = {2, {n, n}}};
    return NULL;
}
static Ex define(Call *c, Dims i) {
    Cond above = when_ge(c, poly(c, "i + a", i.v[0], intof(c, ABOVE)), i.v[1]);
    Cond below = when_ge(c, poly(c, "j + b", i.v[1], intof(c, BELOW)), i.v[0]);
    return when(c, both(c, above, below), num(c, 1, 1), num(c, 0, 1));
}

const Op op_band = {"band", "", "y", attrs, shape, .define = define};
