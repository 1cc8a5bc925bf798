/* depthtospace, spacetodepth: channels of x [n, c, h, w] become blocks of b by b places, or such
   blocks become channels. The index of such a channel is made of (row, column, channel) or, with
   order=crd, of (channel, row, column). */
#include "ops/operator/op.h"
enum { BLOCK, ORDER };
enum { DCR, CRD };
static const AttrDef attrs[] = {
    [BLOCK] = {.name = "block", .kind = A_INT, .draw = "1 2 3"},
    [ORDER] = {"order", A_ENUM, "dcr", "dcr crd", .draw = "dcr crd"},
    {0},
};

static const char *shape_of(Call *c, Dims y) {
    Poly block = intof(c, BLOCK);
    need_ge(c, block, poly(c, "1"));
    c->out[0] = *c->in[0];
    c->out[0].dim = y;
    return NULL;
}
static const char *shape_depth(Call *c) {
    Dims x = c->in[0]->dim;
    Poly b = intof(c, BLOCK);
    if (x.n != 4) return "depthtospace needs x [n, c, h, w]";
    Poly channels = quot(c, x.v[1], poly(c, "b*b", b));
    need_eq(c, x.v[1], poly(c, "c*b*b", channels, b));
    return shape_of(
        c, (Dims){4, {x.v[0], channels, poly(c, "h*b", x.v[2], b), poly(c, "w*b", x.v[3], b)}});
}
static Ex define_depth(Call *c, Dims i) {
    Dims x = c->in[0]->dim, y = c->out[0].dim;
    Poly b = intof(c, BLOCK);
    Dims row = digits(c, i.v[2], (Dims){2, {x.v[2], b}}),
         column = digits(c, i.v[3], (Dims){2, {x.v[3], b}});
    const char *at_channel = enum_value(c, ORDER) == CRD ? "c*b*b + r*b + s" : "r*b*n + s*n + c";
    Poly channel = enum_value(c, ORDER) == CRD
                       ? poly(c, at_channel, i.v[1], b, row.v[1], column.v[1])
                       : poly(c, at_channel, row.v[1], b, y.v[1], column.v[1], i.v[1]);
    return at(c, 0, (Dims){4, {i.v[0], channel, row.v[0], column.v[0]}});
}
static const OnnxMap onnx_depth[] = {{"", "DepthToSpace", 11, 0, "block=blocksize order=mode^"},
                                     {"", "DepthToSpace", 1, 10, "block=blocksize order=dcr!"},
                                     {0}};
const Op op_depthtospace = {"depthtospace",    "x", "y", attrs, shape_depth, define_depth,
                            .onnx = onnx_depth};

static const char *shape_space(Call *c) {
    Dims x = c->in[0]->dim;
    Poly b = intof(c, BLOCK);
    if (x.n != 4) return "spacetodepth needs x [n, c, h, w]";
    Poly h = quot(c, x.v[2], b), w = quot(c, x.v[3], b);
    need_eq(c, x.v[2], poly(c, "h*b", h, b));
    need_eq(c, x.v[3], poly(c, "w*b", w, b));
    return shape_of(c, (Dims){4, {x.v[0], poly(c, "c*b*b", x.v[1], b), h, w}});
}
static Ex define_space(Call *c, Dims i) {
    Poly b = intof(c, BLOCK);
    Poly channels = c->in[0]->dim.v[1];
    bool first = enum_value(c, ORDER) == CRD;
    Dims d = digits(c, i.v[1], first ? (Dims){3, {channels, b, b}} : (Dims){3, {b, b, channels}});
    Poly channel = d.v[first ? 0 : 2], row = d.v[first ? 1 : 0], column = d.v[first ? 2 : 1];
    return at(c, 0,
              (Dims){4,
                     {i.v[0], channel, poly(c, "h*b + r", i.v[2], b, row),
                      poly(c, "w*b + s", i.v[3], b, column)}});
}
static const OnnxMap onnx_space[] = {{"", "SpaceToDepth", 1, 27, "block=blocksize order=dcr!"},
                                     {"", "SpaceToDepth", 28, 0, "block=blocksize order=mode^"},
                                     {0}};
const Op op_spacetodepth = {"spacetodepth",    "x", "y", attrs, shape_space, define_space,
                            .onnx = onnx_space};
