/* filter: fixed kernels [o, c, ..] of convolutions, which no weights determine. ONNX has no such
   operators; they are exported as constants. */
#include "ops/operator/op.h"
enum { CHANNELS, KERNEL, DTYPE };
static const AttrDef attrs[] = {
    [CHANNELS] = {.name = "channels", .kind = A_INTS},
    [KERNEL] = {.name = "kernel", .kind = A_INTS, .draw = "1 2 3"},
    [DTYPE] = {.name = "dtype", .kind = A_DTYPE, .init = "F"},
    {0},
};

static const char *shape(Call *c) {
    PolyList channels = ints(c, CHANNELS), k = ints(c, KERNEL);
    if (channels.n != 2) return "filter needs channels as two sizes, [o, c]";
    if (k.n < 1 || k.n > RANK_MAX - 2) return "filter needs a kernel with 1 to 6 spatial axes";
    if (dtype_class((DType)enum_value(c, DTYPE)) != 'F')
        return "not supported for this element type";
    Type y = {.dtype = (DType)enum_value(c, DTYPE),
              .dim = {2 + k.n, {channels.v[0], channels.v[1]}}};
    for (int j = 0; j < k.n; j++) y.dim.v[j + 2] = k.v[j];
    for (int j = 0; j < y.dim.n; j++) need_ge(c, y.dim.v[j], 0);
    c->out[0] = y;
    return NULL;
}

/* averagekernel: every entry is 1 / (number of spatial places). A convolution with it, with c = 1
   and as many groups as channels, is the average pooling that counts padding. */
static Ex define_average(Call *c, Dims i) {
    (void)i;
    Dims k = ints_dims(c, KERNEL);
    return divide(c, num(c, 1, 1), size(c, product(c, k, 0, k.n)));
}
const Op op_averagekernel = {"averagekernel", "", "y", attrs, shape, .define = define_average};

/* identitykernel: the kernel whose convolution returns its input. Output channel o reads channel o
   mod c of its group: that entry is 1 in the middle of the kernel, all others are 0. */
static const char *shape_identity(Call *c) {
    PolyList channels = ints(c, CHANNELS);
    const char *why = shape(c);
    if (why) return why;
    need_ge(c, channels.v[1], poly(c, "1"));
    need_eq(c, channels.v[0], poly(c, "c*q", channels.v[1], quot(c, channels.v[0], channels.v[1])));
    return NULL;
}
static Ex define_identity(Call *c, Dims i) {
    PolyList channels = ints(c, CHANNELS), k = ints(c, KERNEL);
    Dims o = digits(c, i.v[0], (Dims){2, {quot(c, channels.v[0], channels.v[1]), channels.v[1]}});
    Cond one = when_eq(c, i.v[1], o.v[1]);
    for (int j = 0; j < k.n; j++)
        one = both(c, one, when_eq(c, i.v[j + 2], quot(c, k.v[j], poly(c, "2"))));
    return when(c, one, num(c, 1, 1), num(c, 0, 1));
}
const Op op_identitykernel = {"identitykernel",         "", "y", attrs, shape_identity,
                              .define = define_identity};
