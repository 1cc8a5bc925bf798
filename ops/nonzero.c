/* nonzero: the indices of the elements that are not 0, in row-major order, as the columns of y
   [rank, n]. compress: the slices along an axis at the places where a condition is true. How many
   there are depends on data, so `n` is a size that nothing else determines. */
#include "ops/operator/op.h"
enum { N, AXIS };
static const AttrDef attrs[] = {[N] = {.name = "n", .kind = A_INT}, {0}};

static const char *shape(Call *c) {
    need_ge(c, intof(c, N), 0);
    c->out[0] =
        (Type){.dtype = DT_INT64, .dim = {2, {poly_int(c->w, c->in[0]->dim.n), intof(c, N)}}};
    return dtypes_agree(c, "FIUB");
}
static bool is_set(const View *x, void *const slot[], int64_t at) {
    return kernel_is_integer(x) ? kernel_integer(x, slot, at) != 0 : kernel_real(x, slot, at) != 0;
}
/* Columns beyond the indices hold -1, so that a run with the greatest n tells how many there
   are. */
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    int64_t i[STEP_RANK], at[2] = {0, 0};
    for (bool more = kernel_first(x, i); more; more = kernel_next(x, i)) {
        if (!is_set(x, slot, kernel_at(x, i))) continue;
        if (at[1] >= y->dim[1]) return -1;
        for (at[0] = 0; at[0] < x->rank; at[0]++)
            kernel_set_integer(y, slot, kernel_at(y, at), i[at[0]]);
        at[1]++;
    }
    for (; at[1] < y->dim[1]; at[1]++)
        for (at[0] = 0; at[0] < x->rank; at[0]++) kernel_set_integer(y, slot, kernel_at(y, at), -1);
    return 0;
}
static const OnnxMap onnx[] = {{"", "NonZero", 9, 0, "n:nonzero"}, {0}};
const Op op_nonzero = {"nonzero", "x", "y", attrs, shape, .kernel = kernel, .onnx = onnx};

static const AttrDef compress_attrs[] = {
    [N] = {.name = "n", .kind = A_INT},
    [AXIS] = {"axis", A_INT, "0", .axes = true, .draw = "0 1 -1"},
    {0}};
static const char *shape_compress(Call *c) {
    int a = axis(c, AXIS, c->in[0]->dim.n);
    if (a < 0) return "axis out of range";
    if (c->in[1]->dim.n != 1 || c->in[1]->dtype != DT_BOOL)
        return "the condition must be a boolean tensor of one axis";
    need_ge(c, intof(c, N), 0);
    c->out[0] = *c->in[0];
    c->out[0].dim.v[a] = intof(c, N);
    return NULL;
}
static int params_compress(Call *c, int64_t param[]) {
    param[OP_AXIS] = axis(c, AXIS, c->in[0]->dim.n);
    return 1;
}
static int kernel_compress(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1], *condition = &s->view[2];
    int a = (int)s->param[OP_AXIS];
    int64_t i[STEP_RANK], to = 0;
    for (int64_t from = 0; from < condition->dim[0]; from++) {
        if (!kernel_integer(condition, slot, kernel_at(condition, &from))) continue;
        if (to >= y->dim[a] || from >= x->dim[a]) return -1;
        View row = view_part(y, a, to++, 1), source = view_part(x, a, from, 1);
        for (bool more = kernel_first(&row, i); more; more = kernel_next(&row, i))
            kernel_move(&row, slot, kernel_at(&row, i), &source, kernel_at(&source, i));
    }
    return to == y->dim[a] ? 0 : -1;
}
static const OnnxMap onnx_compress[] = {{"", "Compress", 9, 0, "axis axis:list n:compress"}, {0}};
const Op op_compress = {
    "compress",
    "x condition",
    "y",
    compress_attrs,
    shape_compress,
    .kernel = kernel_compress,
    .params = params_compress,
    .onnx = onnx_compress,
    .flags = OP_PASSES,
};
