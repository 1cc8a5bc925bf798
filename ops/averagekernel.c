/* averagekernel: the kernel [o, c, ..] of which every entry is 1 / (number of its spatial places): with c = 1 and as
   many groups as channels, a convolution with it is the average pooling that counts padding. ONNX has no such operator:
   it is exported as a constant. */
#include "op.h"
enum { CHANNELS, KERNEL, DTYPE };
static const AttrDef attrs[] = {
    [CHANNELS] = {.name = "channels", .kind = A_INTS},
    [KERNEL] = {.name = "kernel", .kind = A_INTS, .draw = "1 2 3"},
    [DTYPE] = {.name = "dtype", .kind = A_DTYPE, .init = "F"},
    {0},
};

static const char *shape(Call *c) {
    PolyList ch = ints(c, CHANNELS), k = ints(c, KERNEL);
    if (ch.n != 2) return "channels are two sizes, [o, c]";
    if (k.n < 1 || k.n > RANK_MAX - 2) return "a kernel has at least one spatial axis, at most 6";
    if (dtype_class((DType)word(c, DTYPE)) != 'F') return "not for this element type";
    Type y = {.dtype = (DType)word(c, DTYPE), .dim = {2 + k.n, {ch.v[0], ch.v[1]}}};
    for (int j = 0; j < k.n; j++) y.dim.v[j + 2] = k.v[j];
    for (int j = 0; j < y.dim.n; j++) need_ge(c, y.dim.v[j], 0);
    c->out[0] = y;
    return NULL;
}
static Ex define(Call *c, Dims i) {
    (void)i;
    Dims k = ints_dims(c, KERNEL);
    return divide(c, num(c, 1, 1), size(c, product(c, k, 0, k.n)));
}

const Op op_averagekernel = {"averagekernel", "", "y", attrs, shape, .define = define};
