/* conv: y[n, o, i..] = b[o] + sum c, k..: x[n, g*C + c, s*i + d*k - p ..] * w[o, c, k..], g the
   group of o, zero outside x. x [N, G*C, ..], w [O, C, ..], b [O], any number of spatial axes. */
#include "op.h"
enum { GROUP, STRIDES, PADS, DILATIONS };
static const AttrDef attrs[] = {
    [GROUP] = {"group", A_INT, "1", .draw = "1 2 3"},
    [STRIDES] = {"strides", A_INTS, "1", .fill = PER_SPATIAL, .draw = "1 2 3"},
    [PADS] = {"pads", A_INTS, "0", .fill = PER_SIDE, .draw = "0 1 2"},
    [DILATIONS] = {"dilations", A_INTS, "1", .fill = PER_SPATIAL, .draw = "1 2"},
    {0},
};

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim, w = c->in[1]->dim;
    PolyList s = ints(c, STRIDES), p = ints(c, PADS), d = ints(c, DILATIONS);
    Poly group = intof(c, GROUP);
    const char *why = dtypes_agree(c, "F");
    if (why) return why;
    int ns = x.n - 2;
    if (ns < 1 || w.n != x.n)
        return "conv needs x [n, group*c, ..] and w [o, c, ..] of one rank, at least 3";
    if (c->in[2] && c->in[2]->dim.n != 1) return "the bias of conv has one axis";
    if (s.n != ns || p.n != 2 * ns || d.n != ns)
        return "conv needs strides, dilations and twice as many pads, one for each spatial axis";
    need_ge(c, group, poly(c, "1"));
    need_eq(c, x.v[1], poly(c, "g*c", group, w.v[1]));
    need_eq(c, w.v[0], poly(c, "g*q", group, quot(c, w.v[0], group)));
    if (c->in[2]) need_eq(c, c->in[2]->dim.v[0], w.v[0]);
    c->out[0] = *c->in[0];
    c->out[0].dim.v[1] = w.v[0];
    for (int j = 0; j < ns; j++)
        c->out[0].dim.v[j + 2] = windows(c, x.v[j + 2], w.v[j + 2], s.v[j],
                                         poly(c, "p + q", p.v[j], p.v[j + ns]), d.v[j]);
    return NULL;
}

static Ex define(Call *c, Dims i) {
    Dims x = c->in[0]->dim, w = c->in[1]->dim, k = bound(c, dims_tail(w, w.n - 1));
    PolyList s = ints(c, STRIDES), p = ints(c, PADS), d = ints(c, DILATIONS);
    Poly group = intof(c, GROUP), o = i.v[1];
    Dims g = digits(c, o, (Dims){2, {group, quot(c, w.v[0], group)}});
    Dims ix = dims_with(i, 1, poly(c, "g*c + k", g.v[0], w.v[1], k.v[0]));
    for (int j = 0; j < x.n - 2; j++)
        ix.v[j + 2] = poly(c, "s*i + d*k - p", s.v[j], i.v[j + 2], d.v[j], k.v[j + 1], p.v[j]);
    Ex e = sum(c, k, inside(c, ix, x, 2), mul(c, at(c, 0, ix), at(c, 1, dims_cons(o, k))));
    return c->in[2] ? add(c, e, at(c, 2, (Dims){1, {o}})) : e;
}

/* The bias is added as each element is written. */
static int lower(Call *c, const View in[], const View out[], StepBuf *b) {
    enum { CHANNEL = 1 };
    View v[4] = {out[0], in[0], in[1]};
    if (c->in[2]) {
        v[3] = view_spread(&in[2], 1, &out[0].dim[CHANNEL]);
        v[3] = (View){v[3].slot, v[3].dtype, .rank = out[0].rank, .offset = v[3].offset,
                      .stride = {[CHANNEL] = v[3].stride[0]}};
        for (int k = 0; k < out[0].rank; k++) v[3].dim[k] = out[0].dim[k];
    }
    Step *s = step_add(b, S_CONV, c->in[2] ? 4 : 3, v);
    step_sizes(b, s, 1, ints(c, GROUP).v);
    step_sizes(b, s, ints(c, STRIDES).n, ints(c, STRIDES).v);
    step_sizes(b, s, ints(c, PADS).n, ints(c, PADS).v);
    step_sizes(b, s, ints(c, DILATIONS).n, ints(c, DILATIONS).v);
    if (c->in[2])
        step_code(
            b, s, 3,
            (const Scalar[]){{.op = C_ACC}, {.op = C_VIEW, .a = 3}, {.op = C_ADD, .a = 0, .b = 1}});
    return 1;
}

static const OnnxMap onnx[] = {
    {"", "Conv", 1, 0, "rank:kernel group strides dilations pads:auto_pad kernel_shape:check"},
    {0}};
const Op op_conv = {"conv", "x w b?", "y", attrs, shape, define, .lower = lower, .onnx = onnx};
