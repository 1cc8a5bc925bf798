/* reduce: sum, mean, maximum, minimum or product over some axes, which y no longer has. The maximum of nothing is
   -infinity, the minimum infinity. */
#include "op.h"
enum { AXES };
static const AttrDef attrs[] = {[AXES] = {.name = "axes", .kind = A_INTS, .axes = true, .draw = "0 1 -1"}, {0}};

/* Whether axis k of x is reduced. */
static bool reduced(Call *c, int k) {
    for (int j = 0; j < ints(c, AXES).n; j++)
        if (axis_at(c, AXES, j, c->in[0]->dim.n) == k) return true;
    return false;
}
static Dims reduced_sizes(Call *c) {
    Dims x = c->in[0]->dim, n = {0};
    for (int k = 0; k < x.n; k++)
        if (reduced(c, k)) n.v[n.n++] = x.v[k];
    return n;
}

static const char *shape_of(Call *c, const char *classes) {
    Dims x = c->in[0]->dim, y = {0};
    const char *why = same_type(c, classes);
    for (int j = 0; j < ints(c, AXES).n; j++)
        if (axis_at(c, AXES, j, x.n) < 0) return "axis out of range";
    if (reduced_sizes(c).n != ints(c, AXES).n) return "an axis is given twice";
    for (int k = 0; k < x.n; k++)
        if (!reduced(c, k)) y.v[y.n++] = x.v[k];
    c->out[0].dim = y;
    return why;
}
static const char *shape(Call *c) { return shape_of(c, "FIU"); }
static const char *shape_mean(Call *c) { return shape_of(c, "F"); }

/* The element of x at output index i and, on the reduced axes, at k. */
static Ex term(Call *c, Dims i, Dims k) {
    Dims x = c->in[0]->dim;
    int from_i = 0, from_k = 0;
    for (int a = 0; a < x.n; a++) x.v[a] = reduced(c, a) ? k.v[from_k++] : i.v[from_i++];
    return at(c, 0, x);
}
static Ex define_sum(Call *c, Dims i) {
    Dims k = bound(c, reduced_sizes(c));
    return sum(c, k, (Cond){0}, term(c, i, k));
}
static Ex define_mean(Call *c, Dims i) {
    Dims n = reduced_sizes(c);
    return divide(c, define_sum(c, i), size(c, product(c, n, 0, n.n)));
}
static Ex define_max(Call *c, Dims i) {
    Dims k = bound(c, reduced_sizes(c));
    return most(c, k, (Cond){0}, term(c, i, k));
}
static Ex define_min(Call *c, Dims i) {
    Dims k = bound(c, reduced_sizes(c));
    return mul(c, num(c, -1, 1), most(c, k, (Cond){0}, mul(c, num(c, -1, 1), term(c, i, k))));
}
/* A product has a definition where the number of its factors is a small number. */
static Ex define_prod(Call *c, Dims i) {
    enum { FACTORS_MAX = 16 };
    Dims n = reduced_sizes(c), k = n;
    int64_t count;
    if (!is_const(c, product(c, n, 0, n.n), &count) || count > FACTORS_MAX) return 0;
    Ex y = 0;
    for (int64_t j = 0; j < count; j++) {
        int64_t rest = j;
        for (int a = n.n - 1; a >= 0; a--) {
            int64_t radix = 1;
            is_const(c, n.v[a], &radix);
            k.v[a] = poly_int(c->w, rest % radix);
            rest /= radix;
        }
        y = y ? mul(c, y, term(c, i, k)) : term(c, i, k);
    }
    return y ? y : num(c, 1, 1);
}

/* The reduced axes go last. */
static int lower(Call *c, ReduceKind kind, const View in[], const View out[], StepBuf *b) {
    int order[STEP_RANK], n = 0;
    for (int turn = 0; turn < 2; turn++)
        for (int k = 0; k < in[0].rank; k++)
            if (reduced(c, k) == turn) order[n++] = k;
    Step *s = step_add(b, S_REDUCE, 2, (const View[]){out[0], view_axes(&in[0], n, order)});
    step_param(b, s, 1, &(int64_t){kind});
    return 1;
}
static int lower_sum(Call *c, const View in[], const View out[], StepBuf *b) { return lower(c, REDUCE_SUM, in, out, b); }
static int lower_mean(Call *c, const View in[], const View out[], StepBuf *b) { return lower(c, REDUCE_MEAN, in, out, b); }
static int lower_max(Call *c, const View in[], const View out[], StepBuf *b) { return lower(c, REDUCE_MAX, in, out, b); }
static int lower_min(Call *c, const View in[], const View out[], StepBuf *b) { return lower(c, REDUCE_MIN, in, out, b); }
static int lower_prod(Call *c, const View in[], const View out[], StepBuf *b) { return lower(c, REDUCE_PROD, in, out, b); }

/* The axes became an input with opset 18, for ReduceSum with 13. */
#define REDUCE(TYPE, OPSET) \
    {"", TYPE, OPSET, 0, "axes=input:1 axes:all keepdims:reinsert"}, { "", TYPE, 1, OPSET - 1, "axes axes:all keepdims:reinsert" }
#define GLOBAL(TYPE) \
    { "", TYPE, 1, 0, "axes:spatial keepdims:reinsert" }
static const OnnxMap onnx_sum[] = {REDUCE("ReduceSum", 13), {0}};
static const OnnxMap onnx_mean[] = {REDUCE("ReduceMean", 18), GLOBAL("GlobalAveragePool"), {0}};
static const OnnxMap onnx_max[] = {REDUCE("ReduceMax", 18), GLOBAL("GlobalMaxPool"), {0}};
static const OnnxMap onnx_min[] = {REDUCE("ReduceMin", 18), {0}};
static const OnnxMap onnx_prod[] = {REDUCE("ReduceProd", 18), {0}};
const Op op_reduce_sum = {"reduce_sum", "x", "y", attrs, shape, define_sum, .lower = lower_sum, .onnx = onnx_sum};
const Op op_reduce_mean = {"reduce_mean", "x", "y", attrs, shape_mean, define_mean, .lower = lower_mean, .onnx = onnx_mean};
const Op op_reduce_max = {"reduce_max", "x", "y", attrs, shape, define_max, .lower = lower_max, .onnx = onnx_max};
const Op op_reduce_min = {"reduce_min", "x", "y", attrs, shape, define_min, .lower = lower_min, .onnx = onnx_min};
const Op op_reduce_prod = {"reduce_prod", "x", "y", attrs, shape, define_prod, .lower = lower_prod, .onnx = onnx_prod};
