/* trilu: the elements of matrices on and above (upper), or on and below, the diagonal that is k
   places right of the main one; zeros elsewhere. */
#include "ops/operator/op.h"
enum { K, UPPER };
static const AttrDef attrs[] = {
    [K] = {"k", A_INT, "0", .draw = "0 1 -1"},
    [UPPER] = {"upper", A_ENUM, "yes", "no yes", .draw = "no yes"},
    {0},
};

static const char *shape(Call *c) {
    return c->in[0]->dim.n < 2 ? "trilu needs matrices" : same_type(c, "FIUB");
}
static Ex define(Call *c, Dims i) {
    Poly column = i.v[i.n - 1], diagonal = poly(c, "i + k", i.v[i.n - 2], intof(c, K));
    Cond kept = enum_value(c, UPPER) ? when_ge(c, column, diagonal) : when_ge(c, diagonal, column);
    return when(c, kept, at(c, 0, i), num(c, 0, 1));
}

static const OnnxMap onnx[] = {{"", "Trilu", 14, 0, "k=input:1 upper"}, {0}};
const Op op_trilu = {"trilu", "x", "y", attrs, shape, define, .onnx = onnx};
