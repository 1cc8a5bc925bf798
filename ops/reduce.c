/* reduce: sum, mean, maximum, minimum, product, norms and logarithms of sums over some axes, which
   y no longer has. The maximum over nothing is -infinity, the minimum infinity. */
#include "ops/operator/op.h"
enum { AXES };
static const AttrDef attrs[] = {
    [AXES] = {.name = "axes", .kind = A_INTS, .axes = true, .draw = "0 1 -1"}, {0}};

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
static const char *shape_extreme(Call *c) { return shape_of(c, "FIUB"); }
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
    Ex y = maximum(c, k, (Cond){0}, term(c, i, k));
    return c->in[0]->dtype == DT_BOOL ? max2(c, y, num(c, 0, 1))
                                      : y; /* over nothing, the maximum of truth values is 0 */
}
static Ex define_min(Call *c, Dims i) {
    Dims k = bound(c, reduced_sizes(c));
    return mul(c, num(c, -1, 1), maximum(c, k, (Cond){0}, mul(c, num(c, -1, 1), term(c, i, k))));
}
/* A product has a definition only if its number of factors is known and small. */
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

/* The logarithm of the sum of exponentials. The maximum is taken out, so that no exponential
   overflows. */
static Ex define_logsumexp(Call *c, Dims i) {
    Dims k = bound(c, reduced_sizes(c));
    Ex m = define_max(c, i), z = sum(c, k, (Cond){0}, fn(c, FN_EXP, sub(c, term(c, i, k), m)));
    return add(c, m, fn(c, FN_LOG, z));
}

/* One reduction step, in whose view the reduced axes come last. */
static int write_steps(Call *c, ReduceKind kind, const View in[], const View out[], StepBuf *b) {
    int order[STEP_RANK], n = 0;
    if (c->in[0]->dtype == DT_BOOL) return 0;
    for (int turn = 0; turn < 2; turn++)
        for (int k = 0; k < in[0].rank; k++)
            if (reduced(c, k) == turn) order[n++] = k;
    Step *s = step_add(b, S_REDUCE, 2, (const View[]){out[0], view_axes(&in[0], n, order)});
    step_param(b, s, 1, &(int64_t){kind});
    return 1;
}
static int steps_sum(Call *c, const View in[], const View out[], StepBuf *b) {
    return write_steps(c, REDUCE_SUM, in, out, b);
}
static int steps_mean(Call *c, const View in[], const View out[], StepBuf *b) {
    return write_steps(c, REDUCE_MEAN, in, out, b);
}
static int steps_max(Call *c, const View in[], const View out[], StepBuf *b) {
    return write_steps(c, REDUCE_MAX, in, out, b);
}
static int steps_min(Call *c, const View in[], const View out[], StepBuf *b) {
    return write_steps(c, REDUCE_MIN, in, out, b);
}
static int steps_prod(Call *c, const View in[], const View out[], StepBuf *b) {
    return write_steps(c, REDUCE_PROD, in, out, b);
}

/* Two steps: the program `before` of each element, into a buffer of floats; then the sum over the
   axes, with the function `after` (0: none) of the result. */
static int steps_mapped_sum(Call *c, const View in[], const View out[], StepBuf *b, int ncode,
                            const Scalar before[], int after) {
    const Scalar result[] = {{.op = C_ACC}, {.op = (uint8_t)after, .a = 0}};
    View wide = in[0];
    if (!step_buffer(b, DT_FLOAT, in[0].rank, in[0].dim, &wide)) return 0;
    step_code(b, step_add(b, S_EWISE, 2, (const View[]){wide, in[0]}), ncode, before);
    const int done = write_steps(c, REDUCE_SUM, &wide, out, b);
    if (done && after) step_code(b, &b->v[b->n - 1], 2, result);
    return done;
}
static const Scalar square_code[] = {{.op = C_VIEW, .a = 1}, {.op = C_MUL, .a = 0, .b = 0}};
static int steps_squares(Call *c, const View in[], const View out[], StepBuf *b) {
    return steps_mapped_sum(c, in, out, b, 2, square_code, 0);
}
static int steps_l2(Call *c, const View in[], const View out[], StepBuf *b) {
    return steps_mapped_sum(c, in, out, b, 2, square_code, C_SQRT);
}
static int steps_logsum(Call *c, const View in[], const View out[], StepBuf *b) {
    return steps_mapped_sum(c, in, out, b, 1, square_code, C_LOG);
}

/* The axes are an input since opset 18, for ReduceSum since opset 13. */
#define REDUCE(TYPE, OPSET)                                                    \
    {"", TYPE, OPSET, 0, "axes=input:1 axes:all_or_none keepdims:reinsert"}, { \
        "", TYPE, 1, OPSET - 1, "axes axes:all keepdims:reinsert"              \
    }
#define GLOBAL(TYPE) \
    { "", TYPE, 1, 0, "axes:spatial keepdims:always" }
static const OnnxMap onnx_sum[] = {REDUCE("ReduceSum", 13), {0}};
static const OnnxMap onnx_mean[] = {REDUCE("ReduceMean", 18), GLOBAL("GlobalAveragePool"), {0}};
static const OnnxMap onnx_max[] = {REDUCE("ReduceMax", 18), GLOBAL("GlobalMaxPool"), {0}};
static const OnnxMap onnx_min[] = {REDUCE("ReduceMin", 18), {0}};
static const OnnxMap onnx_prod[] = {REDUCE("ReduceProd", 18), {0}};
static const OnnxMap onnx_l1[] = {REDUCE("ReduceL1", 18), {0}};
static const OnnxMap onnx_l2[] = {REDUCE("ReduceL2", 18), {0}};
static const OnnxMap onnx_squares[] = {REDUCE("ReduceSumSquare", 18), {0}};
static const OnnxMap onnx_logsum[] = {REDUCE("ReduceLogSum", 18), {0}};
static const OnnxMap onnx_logsumexp[] = {REDUCE("ReduceLogSumExp", 18), {0}};
static const char expand_l1[] = "%a = abs %x\n"
                                "%y = reduce_sum %a axes=axes\n"
                                "out %y\n";
static const char expand_squares[] = "%s = mul %x %x\n"
                                     "%y = reduce_sum %s axes=axes\n"
                                     "out %y\n";
static const char expand_l2[] = "%s = mul %x %x\n"
                                "%z = reduce_sum %s axes=axes\n"
                                "%y = sqrt %z\n"
                                "out %y\n";
static const char expand_logsum[] = "%z = reduce_sum %x axes=axes\n"
                                    "%y = log %z\n"
                                    "out %y\n";
static const char *shape_signed(Call *c) { return shape_of(c, "FI"); }
const Op op_reduce_l1 = {"reduce_l1",    "x", "y", attrs, shape_signed, .expand = expand_l1,
                         .onnx = onnx_l1};
const Op op_reduce_l2 = {
    "reduce_l2",    "x", "y", attrs, shape_mean, .steps = steps_l2, .expand = expand_l2,
    .onnx = onnx_l2};
const Op op_reduce_squares = {
    "reduce_squares",    "x", "y", attrs, shape, .steps = steps_squares, .expand = expand_squares,
    .onnx = onnx_squares};
const Op op_reduce_logsum = {
    "reduce_logsum",    "x", "y", attrs, shape_mean, .steps = steps_logsum, .expand = expand_logsum,
    .onnx = onnx_logsum};
const Op op_reduce_logsumexp = {
    "reduce_logsumexp", "x", "y", attrs, shape_mean, define_logsumexp, .onnx = onnx_logsumexp};
const Op op_reduce_sum = {"reduce_sum",    "x", "y", attrs, shape, define_sum, .steps = steps_sum,
                          .onnx = onnx_sum};
const Op op_reduce_mean = {
    "reduce_mean",    "x", "y", attrs, shape_mean, define_mean, .steps = steps_mean,
    .onnx = onnx_mean};
const Op op_reduce_max = {
    "reduce_max", "x", "y", attrs, shape_extreme, define_max, .steps = steps_max, .onnx = onnx_max};
const Op op_reduce_min = {
    "reduce_min", "x", "y", attrs, shape_extreme, define_min, .steps = steps_min, .onnx = onnx_min};
const Op op_reduce_prod = {
    "reduce_prod", "x", "y", attrs, shape, define_prod, .steps = steps_prod, .onnx = onnx_prod};

/* globalmean: the mean over all axes but the first two, which keep size 1. It is exported as ONNX's
   GlobalAveragePool, for which runtimes have an 8-bit version where they have none of ReduceMean.
   The importer reads GlobalAveragePool as reduce_mean. */
static const char *shape_global(Call *c) {
    const Dims x = c->in[0]->dim;
    const char *why = same_type(c, "F");
    if (x.n < 3 || x.n > 5) return "globalmean needs an image of one to three axes";
    for (int k = 2; k < x.n; k++) c->out[0].dim.v[k] = poly(c, "1");
    return why;
}
static const char expand_global[] = "[x:3] %m = reduce_mean %x axes=[2]\n"
                                    "[x:3] %y = reshape %m shape=[x.0, x.1, 1]\n"
                                    "[x:4] %m = reduce_mean %x axes=[2, 3]\n"
                                    "[x:4] %y = reshape %m shape=[x.0, x.1, 1, 1]\n"
                                    "[x:5] %m = reduce_mean %x axes=[2, 3, 4]\n"
                                    "[x:5] %y = reshape %m shape=[x.0, x.1, 1, 1, 1]\n"
                                    "out %y\n";
static const OnnxMap onnx_global[] = {{"", "GlobalAveragePool", 1, 0, "export:only"}, {0}};
const Op op_globalmean = {
    "globalmean", "x", "y", .shape = shape_global, .expand = expand_global, .onnx = onnx_global};
