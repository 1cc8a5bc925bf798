/* sizes: the operators with which shape computations begin, shape and size, and range, with which
   they may end. */
#include "ops/operator/op.h"

/* shape: the sizes of the axes start .. end - 1 of x. Negative start and end count from the end;
   both are limited to the axes that there are. */
enum { START, END };
static const AttrDef shape_attrs[] = {[START] = {"start", A_INT, "0", .draw = "0 1 -1"},
                                      [END] = {"end", A_INT, "8", .draw = "8 1 -1"},
                                      {0}};

static int cut(Call *c, int attr, int rank) {
    int64_t a = 0;
    is_const(c, intof(c, attr), &a);
    if (a < 0) a += rank;
    return a < 0 ? 0 : a > rank ? rank : (int)a;
}
static const char *shape_shape(Call *c) {
    int64_t a;
    int rank = c->in[0]->dim.n, n = cut(c, END, rank) - cut(c, START, rank);
    if (!is_const(c, intof(c, START), &a) || !is_const(c, intof(c, END), &a))
        return "start and end must be numbers";
    c->out[0] = (Type){.dtype = DT_INT64, .dim = {1, {poly_int(c->w, n > 0 ? n : 0)}}};
    return NULL;
}
static bool shape_value(Call *c, const PolyList in[], Poly *out) {
    (void)in;
    int rank = c->in[0]->dim.n, start = cut(c, START, rank), end = cut(c, END, rank);
    for (int k = start; k < end; k++) out[k - start] = c->in[0]->dim.v[k];
    return true;
}
static int shape_params(Call *c, int64_t param[]) {
    param[1] = cut(c, START, c->in[0]->dim.n);
    return 1;
}
static int shape_kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    for (int64_t k = 0; k < y->dim[0]; k++)
        kernel_set_integer(y, slot, kernel_at(y, &k), x->dim[s->param[1] + k]);
    return 0;
}
static const OnnxMap shape_onnx[] = {
    {"", "Shape", 15, 0, "start end"}, {"", "Shape", 1, 14, "start=0! end=8!"}, {0}};
const Op op_shape = {
    "shape",
    "x",
    "y",
    shape_attrs,
    shape_shape,
    .value = shape_value,
    .kernel = shape_kernel,
    .params = shape_params,
    .onnx = shape_onnx,
};

/* size: the number of elements of x. */
static const char *size_shape(Call *c) {
    c->out[0] = (Type){.dtype = DT_INT64};
    return NULL;
}
static bool size_value(Call *c, const PolyList in[], Poly *out) {
    (void)in;
    out[0] = product(c, c->in[0]->dim, 0, c->in[0]->dim.n);
    return true;
}
static int size_kernel(const Step *s, void *const slot[]) {
    int64_t n = 1;
    for (int a = 0; a < s->view[1].rank; a++) n *= s->view[1].dim[a];
    kernel_set_integer(&s->view[0], slot, s->view[0].offset, n);
    return 0;
}
static const OnnxMap size_onnx[] = {{"", "Size", 1, 0, ""}, {0}};
const Op op_size = {
    "size",           "x", "y", .shape = size_shape, .value = size_value, .kernel = size_kernel,
    .onnx = size_onnx};

/* range: the n numbers y[i] = start + step*i. */
enum { FROM, N, STEP, DTYPE };
static const AttrDef range_attrs[] = {
    [FROM] = {"start", A_INT, "0", .draw = "0 2 -3"},
    [N] = {.name = "n", .kind = A_INT, .draw = "1 4"},
    [STEP] = {"step", A_INT, "1", .draw = "1 2 -1"},
    [DTYPE] = {"dtype", A_DTYPE, "I64", .draw = "I64 F"},
    {0},
};
static const char *range_shape(Call *c) {
    need_ge(c, intof(c, N), 0);
    c->out[0] = (Type){.dtype = (DType)enum_value(c, DTYPE), .dim = {1, {intof(c, N)}}};
    return NULL;
}
static Ex range_define(Call *c, Dims i) {
    return size(c, poly(c, "a + s*i", intof(c, FROM), intof(c, STEP), i.v[0]));
}
static const OnnxMap range_onnx[] = {{"", "Range", 11, 0, "range:count"}, {0}};
const Op op_range = {"range", "", "y", range_attrs, range_shape, range_define, .onnx = range_onnx};
