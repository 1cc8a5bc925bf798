/* identitykernel: the kernel [o, c, ..] of a convolution that changes nothing: 1 in the middle where the output channel
   is input channel c of its group, else 0. With c = 1 it is a depthwise kernel. ONNX has no such operator: it is
   exported as a constant. */
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
    need_ge(c, ch.v[0], 0);
    need_ge(c, ch.v[1], poly(c, "1"));
    need_eq(c, ch.v[0], poly(c, "c*q", ch.v[1], quot(c, ch.v[0], ch.v[1])));
    Type y = {.dtype = (DType)word(c, DTYPE), .dim = {2 + k.n, {ch.v[0], ch.v[1]}}};
    for (int j = 0; j < k.n; j++) {
        need_ge(c, k.v[j], 0);
        y.dim.v[j + 2] = k.v[j];
    }
    c->out[0] = y;
    return NULL;
}
static Ex define(Call *c, Dims i) {
    PolyList ch = ints(c, CHANNELS), k = ints(c, KERNEL);
    Dims channel = digits(c, i.v[0], (Dims){2, {quot(c, ch.v[0], ch.v[1]), ch.v[1]}});
    Cond one = when_eq(c, i.v[1], channel.v[1]);
    for (int j = 0; j < k.n; j++) one = both(c, one, when_eq(c, i.v[j + 2], quot(c, k.v[j], poly(c, "2"))));
    return when(c, one, num(c, 1, 1), num(c, 0, 1));
}

const Op op_identitykernel = {"identitykernel", "", "y", attrs, shape, .define = define};
