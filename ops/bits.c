/* bits: bitcast: the same bits as elements of another type of the same width. eyelike: a matrix with ones on diagonal k.
   mean: the mean of some tensors, element by element. swiglu: swish of a, times b. */
#include "op.h"
#include <string.h>
enum { TO };
static const AttrDef cast_attrs[] = {[TO] = {.name = "to", .kind = A_DTYPE, .draw = "I32"}, {0}};
static const char *shape_bitcast(Call *c) {
    int bits = dtype_bits(c->in[0]->dtype);
    c->out[0] = *c->in[0];
    c->out[0].dtype = (DType)word(c, TO);
    return bits >= 8 && bits == dtype_bits(c->out[0].dtype) ? NULL : "elements of another width";
}
static int kernel_bitcast(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    const size_t width = (size_t)dtype_bits((DType)y->dtype) / 8;
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i))
        memcpy((char *)slot[y->slot] + (size_t)kernel_at(y, i) * width, (const char *)slot[x->slot] + (size_t)kernel_at(x, i) * width,
               width);
    return 0;
}
static const OnnxMap onnx_bitcast[] = {{"", "BitCast", 26, 0, "to"}, {0}};
const Op op_bitcast = {"bitcast", "x", "y", cast_attrs, shape_bitcast, .kernel = kernel_bitcast, .onnx = onnx_bitcast};

enum { DIAGONAL, SHAPE, DTYPE };
static const AttrDef eye_attrs[] = {
    [DIAGONAL] = {"k", A_INT, "0", .draw = "0 1 -1"},
    [SHAPE] = {.name = "shape", .kind = A_INTS},
    [DTYPE] = {.name = "dtype", .kind = A_DTYPE, .init = "F"},
    {0},
};
static const char *shape_eye(Call *c) {
    Dims y = ints_dims(c, SHAPE);
    if (ints(c, SHAPE).n != 2) return "eyelike makes a matrix";
    for (int k = 0; k < y.n; k++) need_ge(c, y.v[k], 0);
    c->out[0] = (Type){.dtype = (DType)word(c, DTYPE), .dim = y};
    return NULL;
}
static Ex define_eye(Call *c, Dims i) {
    return when(c, when_eq(c, i.v[1], poly(c, "i + k", i.v[0], intof(c, DIAGONAL))), num(c, 1, 1), num(c, 0, 1));
}
static const OnnxMap onnx_eye[] = {{"", "EyeLike", 9, 0, "k shape:like dtype:like"}, {0}};
const Op op_eyelike = {"eyelike", "", "y", eye_attrs, shape_eye, define_eye, .onnx = onnx_eye};

static const char *shape_mean(Call *c) {
    const char *why = dtypes_agree(c, "F");
    if (why) return why;
    c->out[0] = *c->in[0];
    for (int k = 1; k < c->nin; k++) c->out[0].dim = dims_join(c, c->out[0].dim, c->in[k]->dim);
    return NULL;
}
static Ex define_mean(Call *c, Dims i) {
    Ex total = at(c, 0, dims_tail(i, c->in[0]->dim.n));
    for (int k = 1; k < c->nin; k++) total = add(c, total, at(c, k, dims_tail(i, c->in[k]->dim.n)));
    return mul(c, num(c, 1, c->nin), total);
}
static const OnnxMap onnx_mean[] = {{"", "Mean", 8, 0, ""}, {0}};
const Op op_mean = {"mean", "xs..", "y", NULL, shape_mean, define_mean, .onnx = onnx_mean, .flags = OP_BROADCASTS | OP_COMMUTATIVE};

static const AttrDef glu_attrs[] = {{"alpha", A_REAL, "1", .draw = "1 1/2 2"}, {0}};
static const char *shape_glu(Call *c) {
    for (int k = 0; k < c->in[0]->dim.n && c->in[1]->dim.n == c->in[0]->dim.n; k++) need_eq(c, c->in[0]->dim.v[k], c->in[1]->dim.v[k]);
    return c->in[0]->dim.n == c->in[1]->dim.n ? same_type(c, "F") : "inputs of different ranks";
}
static const char expansion[] = "%s = swish %a alpha=alpha\n"
                                "%y = mul %s %b\n"
                                "out %y\n";
static const OnnxMap onnx_glu[] = {{"", "SwiGLU", 28, 0, "alpha"}, {0}};
const Op op_swiglu = {"swiglu", "a b", "y", glu_attrs, shape_glu, .expand = expansion, .onnx = onnx_glu};
