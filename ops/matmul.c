/* matmul: y[.., m, n] = the sum over k of a[.., m, k] * b[.., k, n]. A factor may lack leading
   axes, like weights that all batches share; to stretch axes of size 1 is the task of `broadcast`.

   Three variants: matmulinteger multiplies 8-bit integers minus their zero points (one for each
   factor, or one for each row of a or column of b). qlinearmatmul does the same and quantizes the
   result again. fusedmatmul is alpha * A B, where A is a or its transpose; with batchA, a is
   [m, b.., k]: its rows come before the batch axes. B likewise. */
#include "ops/operator/op.h"

/* The sizes of the product of factors of these sizes, which must fit. */
static Dims product_dims(Call *c, Dims a, Dims b) {
    need_eq(c, a.v[a.n - 1], b.v[b.n - 2]);
    for (int k = 3; k <= a.n && k <= b.n; k++) need_eq(c, a.v[a.n - k], b.v[b.n - k]);
    return dims_with(dims_with(a.n >= b.n ? a : b, -2, a.v[a.n - 2]), -1, b.v[b.n - 1]);
}
/* Checks the sizes of the factors, inputs 0 and `second`, and sets the result to their product. */
static const char *shape_product(Call *c, int second, DType dtype) {
    Dims a = c->in[0]->dim, b = c->in[second]->dim;
    if (a.n < 2 || b.n < 2) return "matmul needs matrices";
    c->out[0] = (Type){.dtype = dtype, .dim = product_dims(c, a, b)};
    return NULL;
}
static const char *shape(Call *c) {
    const char *why = dtypes_agree(c, "FIU");
    return why ? why : shape_product(c, 1, c->in[0]->dtype);
}

/* zero_a and zero_b are the inputs of the zero points; -1: there are none. */
static Ex define_product(Call *c, Dims i, int second, int zero_a, int zero_b) {
    Dims a = c->in[0]->dim, b = c->in[second]->dim, k = bound(c, dims_tail(a, 1));
    Ex left = at(c, 0, dims_with(dims_tail(i, a.n), -1, k.v[0]));
    Ex right = at(c, second, dims_with(dims_tail(i, b.n), -2, k.v[0]));
    if (zero_a >= 0) left = minus_zero(c, left, at_per_axis(c, zero_a, i.v[i.n - 2]));
    if (zero_b >= 0) right = minus_zero(c, right, at_per_axis(c, zero_b, i.v[i.n - 1]));
    return sum(c, k, (Cond){0}, mul(c, left, right));
}
static Ex define(Call *c, Dims i) { return define_product(c, i, 1, -1, -1); }

/* Input x with the batch axes of the result y; it is repeated (stride 0) along those that it
   lacks. */
static View factor_like(const View *y, const View *x) {
    View like = *y;
    for (int j = 1; j <= 2; j++) like.dim[like.rank - j] = x->dim[x->rank - j];
    return view_spread(x, like.rank, like.dim);
}
static int write_steps(Call *c, const View in[], const View out[], StepBuf *b) {
    (void)c;
    step_add(b, S_GEMM, 3,
             (const View[]){out[0], factor_like(&out[0], &in[0]), factor_like(&out[0], &in[1])});
    return 1;
}

static const OnnxMap onnx[] = {{"", "MatMul", 1, 0, "inputs:stretch"}, {0}};
const Op op_matmul = {
    "matmul", "a b", "y", .shape = shape, .define = define, .steps = write_steps, .onnx = onnx};

static const char *fit_sides(Call *c, int second, int first_a, int first_b, int n) {
    Dims a = c->in[0]->dim, b = c->in[second]->dim;
    const char *why = NULL;
    for (int k = 0; k < n && !why; k++)
        if (!(why = per_axis_fits(c, first_a + k, a.v[a.n - 2])))
            why = per_axis_fits(c, first_b + k, b.v[b.n - 1]);
    return why;
}
static const char *shape_integer(Call *c) {
    const char *why = shape_product(c, 1, DT_INT32);
    if (!is_byte(c->in[0]) || !is_byte(c->in[1])) return "not supported for these element types";
    if (!why) why = zero_typed(c, 2, 0);
    if (!why) why = zero_typed(c, 3, 1);
    return why ? why : fit_sides(c, 1, 2, 3, 1);
}
static Ex define_integer(Call *c, Dims i) { return define_product(c, i, 1, 2, 3); }
/* Adds steps for the product of 8-bit integers minus their zero points: one step on integers if the
   target has an algorithm, else products of floats over slices of the common axis that have at most
   EXACT_TERMS terms, so that floats add them exactly. *sums becomes the view of the result: y,
   which has 32-bit integers, or the buffer of floats if one slice is enough. Returns false if no
   buffers are left. */
static bool add_products(StepBuf *b, const View *a, const View *w, const View *zero_a,
                         const View *zero_w, const View *y, View *sums) {
    View x[2], v[3], whole = {.slot = 0};
    const int r = y->rank;
    const View all[] = {*y, factor_like(y, a), factor_like(y, w)};
    if (a->rank > 1 && w->rank > 1 &&
        exact_int8(b, &(Step){.kind = S_GEMM, .nview = 3, .view = all}, zero_a, zero_w))
        return *sums = *y, true;
    if (!exact_floats(b, a, zero_a, a->rank - 2, &x[0]) ||
        !exact_floats(b, w, zero_w, w->rank - 1, &x[1]) ||
        !step_buffer(b, DT_FLOAT, r, y->dim, sums))
        return false;
    const View left = factor_like(y, &x[0]), right = factor_like(y, &x[1]);
    const int64_t n = left.dim[r - 1];
    for (int64_t k = 0; k == 0 || k < n; k += EXACT_TERMS) {
        const int64_t part = n - k < EXACT_TERMS ? n - k : EXACT_TERMS;
        v[0] = *sums, v[1] = view_part(&left, r - 1, k, part),
        v[2] = view_part(&right, r - 2, k, part);
        exact_round(b, step_add(b, S_GEMM, 3, v));
        if (n <= EXACT_TERMS) break;
        if (k == 0) step_copy(b, y, sums);
        else if (!exact_collect(b, sums, y, &whole)) return false;
    }
    if (n > EXACT_TERMS) *sums = *y;
    return true;
}
static const View *given(Call *c, const View in[], int k) { return has(c, k) ? &in[k] : NULL; }
static int steps_integer(Call *c, const View in[], const View out[], StepBuf *b) {
    View sums;
    if (!add_products(b, &in[0], &in[1], given(c, in, 2), given(c, in, 3), &out[0], &sums))
        return 0;
    if (sums.slot != out[0].slot) step_copy(b, &out[0], &sums);
    return 1;
}
static const OnnxMap onnx_integer[] = {{"", "MatMulInteger", 10, 0, "factors:stretch"}, {0}};
const Op op_matmulinteger = {
    "matmulinteger",        "a b a_zero? b_zero?", "y", NULL, shape_integer, define_integer,
    .steps = steps_integer, .onnx = onnx_integer};

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO };
static const char *shape_qlinear(Call *c) {
    const char *why = shape_product(c, B, c->in[Y_ZERO]->dtype);
    if (!is_byte(c->in[A]) || !is_byte(c->in[B]) || !is_byte(c->in[Y_ZERO]))
        return "not supported for these element types";
    if (!dims_single(c, c->in[Y_SCALE]->dim) || !dims_single(c, c->in[Y_ZERO]->dim))
        return "scale and zero point of the result must be single numbers";
    if (!why) why = zero_typed(c, A_ZERO, A);
    if (!why) why = zero_typed(c, B_ZERO, B);
    return why ? why : fit_sides(c, B, A_SCALE, B_SCALE, 2);
}
static Ex define_qlinear(Call *c, Dims i) {
    Poly row = i.v[i.n - 2], column = i.v[i.n - 1];
    Ex scale = mul(c, at_per_axis(c, A_SCALE, row), at_per_axis(c, B_SCALE, column));
    Ex y = mul(c, define_product(c, i, B, A_ZERO, B_ZERO),
               divide(c, scale, at_per_axis(c, Y_SCALE, 0)));
    return round_saturate(c, y, at_per_axis(c, Y_ZERO, 0));
}
static int steps_qlinear(Call *c, const View in[], const View out[], StepBuf *b) {
    const View *y = &out[0];
    const int r = y->rank;
    View whole, sums,
        scale[3] = {per_axis_view(&in[A_SCALE], y, r - 2), per_axis_view(&in[B_SCALE], y, r - 1),
                    per_axis_view(&in[Y_SCALE], y, -1)};
    const View zero = per_axis_view(&in[Y_ZERO], y, -1);
    if (c->in[A_SCALE]->dtype != DT_FLOAT || !step_buffer(b, DT_INT32, r, y->dim, &whole) ||
        !add_products(b, &in[A], &in[B], &in[A_ZERO], &in[B_ZERO], &whole, &sums))
        return 0;
    exact_quantize(b, y, &sums, NULL, scale, &zero);
    return 1;
}
static const OnnxMap onnx_qlinear[] = {{"", "QLinearMatMul", 10, 0, "factors:stretch"}, {0}};
const Op op_qlinearmatmul = {"qlinearmatmul",
                             "a a_scale a_zero b b_scale b_zero y_scale y_zero",
                             "y",
                             NULL,
                             shape_qlinear,
                             define_qlinear,
                             .steps = steps_qlinear,
                             .onnx = onnx_qlinear};

enum { ALPHA, TRANS_A, TRANS_B, BATCH_A, BATCH_B };
static const AttrDef fused_attrs[] = {
    [ALPHA] = {"alpha", A_REAL, "1", .draw = "1 1/2 -2"},
    [TRANS_A] = {"transA", A_ENUM, "no", "no yes", .draw = "no yes"},
    [TRANS_B] = {"transB", A_ENUM, "no", "no yes", .draw = "no yes"},
    [BATCH_A] = {"batchA", A_ENUM, "no", "no yes", .draw = "no yes"},
    [BATCH_B] = {"batchB", A_ENUM, "no", "no yes", .draw = "no yes"},
    {0},
};
/* Sets axis[] to the axes of the input that are the axes [.., row, column] of the factor. */
static void factor_axes(Call *c, int input, int n, int axis[]) {
    for (int k = 0; k < n; k++) axis[k] = k;
    if (enum_value(c, BATCH_A + input)) {
        for (int k = 0; k + 2 < n; k++) axis[k] = k + 1;
        axis[n - 2] = 0;
    }
    if (enum_value(c, TRANS_A + input)) {
        const int row = axis[n - 2];
        axis[n - 2] = axis[n - 1], axis[n - 1] = row;
    }
}
static Dims factor_dims(Call *c, int input) {
    const Dims d = c->in[input]->dim;
    Dims out = d;
    int axis[RANK_MAX];
    factor_axes(c, input, d.n, axis);
    for (int k = 0; k < d.n; k++) out.v[k] = d.v[axis[k]];
    return out;
}
static const char *shape_fused(Call *c) {
    const char *why = dtypes_agree(c, "F");
    if (why) return why;
    if (c->in[0]->dim.n < 2 || c->in[1]->dim.n < 2) return "fusedmatmul needs matrices";
    c->out[0] = *c->in[0];
    c->out[0].dim = product_dims(c, factor_dims(c, 0), factor_dims(c, 1));
    return NULL;
}
/* The element of a factor at an index of the factor. */
static Ex of_factor(Call *c, int input, Dims i) {
    Dims x = i;
    int axis[RANK_MAX];
    factor_axes(c, input, i.n, axis);
    for (int k = 0; k < i.n; k++) x.v[axis[k]] = i.v[k];
    return at(c, input, x);
}
static Ex define_fused(Call *c, Dims i) {
    const int na = c->in[0]->dim.n, nb = c->in[1]->dim.n;
    const Dims a = factor_dims(c, 0), k = bound(c, dims_tail(a, 1));
    const Ex y = sum(c, k, (Cond){0},
                     mul(c, of_factor(c, 0, dims_with(dims_tail(i, na), -1, k.v[0])),
                         of_factor(c, 1, dims_with(dims_tail(i, nb), -2, k.v[0]))));
    return real(c, ALPHA) == num(c, 1, 1) ? y : mul(c, real(c, ALPHA), y);
}
/* One matrix product, whose epilogue multiplies by alpha. */
static int steps_fused(Call *c, const View in[], const View out[], StepBuf *b) {
    View v[3] = {out[0]};
    double alpha;
    if (!ex_number(c->w, real(c, ALPHA), &alpha)) return 0;
    for (int k = 0; k < 2; k++) {
        int axis[RANK_MAX];
        factor_axes(c, k, in[k].rank, axis);
        const View factor = view_axes(&in[k], in[k].rank, axis);
        v[1 + k] = factor_like(&out[0], &factor);
    }
    Step *s = step_add(b, S_GEMM, 3, v);
    if (alpha != 1)
        step_code(b, s, 3,
                  (const Scalar[]){
                      {.op = C_ACC}, {.op = C_CONST, .k = alpha}, {.op = C_MUL, .a = 0, .b = 1}});
    return 1;
}
/* TransposeMatMul is an earlier name of FusedMatMul. */
static const OnnxMap onnx_fused[] = {
    {"com.microsoft", "FusedMatMul", 1, 0,
     "alpha transA transB batchA=no! batchB=no! transBatchA==0 transBatchB==0 factors:stretch"},
    {"com.microsoft", "FusedMatMul", 1, 0,
     "alpha transA transB batchA=transBatchA batchB=transBatchB"},
    {"com.microsoft", "TransposeMatMul", 1, 0,
     "alpha transA transB batchA=no! batchB=no! factors:stretch import:only"},
    {0}};
const Op op_fusedmatmul = {
    "fusedmatmul",     "a b", "y", fused_attrs, shape_fused, define_fused, .steps = steps_fused,
    .onnx = onnx_fused};
