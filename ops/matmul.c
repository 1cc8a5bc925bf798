/* matmul: y[.., m, n] = sum k: a[.., m, k] * b[.., k, n].
   A factor may lack leading axes (shared weights); stretching a 1 is the business of
   `broadcast`. */
#include "op.h"

static const char *shape(Call *c) {
    Dims a = c->in[0]->dim, b = c->in[1]->dim;
    const char *why = dtypes_agree(c, "FIU");
    if (why) return why;
    if (a.n < 2 || b.n < 2) return "matmul needs matrices";
    need_eq(c, a.v[a.n - 1], b.v[b.n - 2]);
    for (int k = 3; k <= a.n && k <= b.n; k++) need_eq(c, a.v[a.n - k], b.v[b.n - k]);
    c->out[0] = *c->in[0];
    c->out[0].dim = dims_with(dims_with(a.n >= b.n ? a : b, -2, a.v[a.n - 2]), -1, b.v[b.n - 1]);
    return NULL;
}

static Ex define(Call *c, Dims i) {
    Dims a = c->in[0]->dim, b = c->in[1]->dim, k = bound(c, dims_tail(a, 1));
    Ex left = at(c, 0, dims_with(dims_tail(i, a.n), -1, k.v[0]));
    Ex right = at(c, 1, dims_with(dims_tail(i, b.n), -2, k.v[0]));
    return sum(c, k, (Cond){0}, mul(c, left, right));
}

/* A factor without the output's leading axes repeats along them. */
static int lower(Call *c, const View in[], const View out[], StepBuf *b) {
    if (!is_float(c->in[0])) return 0;
    View v[3] = {out[0]};
    for (int k = 0; k < 2; k++) {
        View like = out[0];
        for (int j = 1; j <= 2; j++) like.dim[like.rank - j] = in[k].dim[in[k].rank - j];
        v[k + 1] = view_spread(&in[k], like.rank, like.dim);
    }
    step_add(b, S_GEMM, 3, v);
    return 1;
}

static const OnnxMap onnx[] = {{"", "MatMul", 1, 0, "inputs:stretch"}, {0}};
const Op op_matmul = {"matmul",         "a b",          "y",         .shape = shape,
                      .define = define, .lower = lower, .onnx = onnx};
