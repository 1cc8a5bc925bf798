/* col2im: blocks laid back into an image, overlapping elements added: y[n, c, i..] = sum k..: x[n,
   c*K + k.., l..] where s*l + d*k - p = i. x [n, C*K, L], K the number of elements of a block
   [k..], L the number of positions l of a block in an image of these sizes. */
#include "ops/operator/op.h"
enum { IMAGE, BLOCK, STRIDES, PADS, DILATIONS };
/* Lists left empty: 1s, pads 0. */
static const AttrDef attrs[] = {
    [IMAGE] = {.name = "image", .kind = A_INTS},
    [BLOCK] = {.name = "block", .kind = A_INTS},
    [STRIDES] = {"strides", A_INTS, "[]", .draw = "1 2 3"},
    [PADS] = {"pads", A_INTS, "[]", .draw = "0 1"},
    [DILATIONS] = {"dilations", A_INTS, "[]", .draw = "1 2"},
    {0},
};
static Poly entry(Call *c, int attr, int k) {
    return ints(c, attr).n ? ints(c, attr).v[k] : poly(c, attr == PADS ? "0" : "1");
}
static Poly places(Call *c, int k) { /* how many along an axis */
    Poly pads = poly(c, "p + q", entry(c, PADS, k), entry(c, PADS, k + ints(c, IMAGE).n));
    return windows(c, ints(c, IMAGE).v[k], ints(c, BLOCK).v[k], entry(c, STRIDES, k), pads,
                   entry(c, DILATIONS, k));
}

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim, image = ints_dims(c, IMAGE), block = ints_dims(c, BLOCK);
    int ns = image.n;
    Poly all = poly(c, "1");
    if (x.n != 3 || ns < 1 || ns > 5 || block.n != ns) return "col2im needs x [n, c*k, l]";
    for (int k = STRIDES; k <= DILATIONS; k++)
        if (ints(c, k).n && ints(c, k).n != (k == PADS ? 2 * ns : ns))
            return "col2im needs one stride, one dilation and two pads for each spatial axis";
    Poly k = product(c, block, 0, ns), channels = quot(c, x.v[1], k);
    need_eq(c, x.v[1], poly(c, "k*q", k, channels));
    c->out[0] = (Type){.dtype = c->in[0]->dtype, .dim = {2, {x.v[0], channels}}};
    for (int j = 0; j < ns; j++) {
        all = poly(c, "a*l", all, places(c, j));
        need_ge(c, image.v[j], 0);
        c->out[0].dim.v[c->out[0].dim.n++] = image.v[j];
    }
    need_eq(c, x.v[2], all);
    return dtypes_agree(c, "FIU");
}
static Ex define(Call *c, Dims i) {
    Dims block = ints_dims(c, BLOCK), k = bound(c, block);
    Poly element = i.v[1], line = poly(c, "0");
    Cond there = {0};
    for (int j = 0; j < k.n; j++) {
        Poly n = places(c, j), s = entry(c, STRIDES, j);
        Poly from =
            poly(c, "i + p - d*k", i.v[j + 2], entry(c, PADS, j), entry(c, DILATIONS, j), k.v[j]);
        Poly l = quot(c, from, s);
        there = both(c, there, when_eq(c, from, poly(c, "s*l", s, l)));
        there = both(c, there, inside(c, (Dims){1, {l}}, (Dims){1, {n}}, 0));
        line = poly(c, "a*n + l", line, n, l);
        element = poly(c, "a*n + k", element, block.v[j], k.v[j]);
    }
    return sum(c, k, there, at(c, 0, (Dims){3, {i.v[0], element, line}}));
}
static const OnnxMap onnx[] = {
    {"", "Col2Im", 18, 0, "image=input:1 block=input:2 strides pads dilations"}, {0}};
const Op op_col2im = {"col2im", "x", "y", attrs, shape, define, .onnx = onnx};
