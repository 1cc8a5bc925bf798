/* gemm: y[m, n] = alpha * (sum over k of A[m, k] * B[k, n]) + beta * c[m, n], where A is a or its
   transpose and B is b or its transpose. c may lack leading axes. fusedgemm is gemm followed by an
   activation. */
#include "ops/operator/op.h"
enum { ALPHA, BETA, TRANS_A, TRANS_B };
static const AttrDef attrs[] = {
    [ALPHA] = {"alpha", A_REAL, "1", .draw = "1 1/2 -2"},
    [BETA] = {"beta", A_REAL, "1", .draw = "1 1/4 -1"},
    [TRANS_A] = {"transA", A_ENUM, "no", "no yes", .draw = "no yes"},
    [TRANS_B] = {"transB", A_ENUM, "no", "no yes", .draw = "no yes"},
    {0},
};

static Dims turned(Dims d, int yes) { return yes ? (Dims){2, {d.v[1], d.v[0]}} : d; }

static const char *shape(Call *c) {
    const char *why = dtypes_agree(c, "FIU");
    if (why) return why;
    if (c->in[0]->dim.n != 2 || c->in[1]->dim.n != 2) return "gemm needs two matrices";
    if (c->in[2] && c->in[2]->dim.n > 2)
        return "the third input of gemm must have at most two axes";
    Dims a = turned(c->in[0]->dim, enum_value(c, TRANS_A)),
         b = turned(c->in[1]->dim, enum_value(c, TRANS_B)), y = {2, {a.v[0], b.v[1]}};
    need_eq(c, a.v[1], b.v[0]);
    if (c->in[2]) dims_join(c, y, c->in[2]->dim);
    c->out[0] = *c->in[0];
    c->out[0].dim = y;
    return NULL;
}

static Ex scaled(Call *c, Ex by, Ex e) { return by == num(c, 1, 1) ? e : mul(c, by, e); }

static Ex define(Call *c, Dims i) {
    Dims a = turned(c->in[0]->dim, enum_value(c, TRANS_A)), k = bound(c, dims_tail(a, 1));
    Ex left = at(c, 0, turned((Dims){2, {i.v[0], k.v[0]}}, enum_value(c, TRANS_A)));
    Ex right = at(c, 1, turned((Dims){2, {k.v[0], i.v[1]}}, enum_value(c, TRANS_B)));
    Ex y = scaled(c, real(c, ALPHA), sum(c, k, (Cond){0}, mul(c, left, right)));
    return c->in[2] ? add(c, y, scaled(c, real(c, BETA), at(c, 2, dims_tail(i, c->in[2]->dim.n))))
                    : y;
}

static View turned_view(const View *v, int yes) {
    return yes ? view_axes(v, 2, (const int[]){1, 0}) : *v;
}

/* Both functions append an instruction to an element-wise program and return the number of its
   value. */
static uint8_t put(Scalar code[], uint8_t *n, Scalar s) {
    code[*n] = s;
    return (*n)++;
}
static uint8_t put_scaled(Scalar code[], uint8_t *n, uint8_t value, double by) {
    if (by == 1) return value;
    uint8_t k = put(code, n, (Scalar){.op = C_CONST, .k = by});
    return put(code, n, (Scalar){.op = C_MUL, .a = value, .b = k});
}
/* One matrix product, whose epilogue multiplies by alpha and adds beta * c. */
static int write_steps(Call *c, const View in[], const View out[], StepBuf *b) {
    View v[4] = {out[0], turned_view(&in[0], enum_value(c, TRANS_A)),
                 turned_view(&in[1], enum_value(c, TRANS_B))};
    double alpha, beta;
    if (!is_float(c->in[0]) || !ex_number(c->w, real(c, ALPHA), &alpha) ||
        !ex_number(c->w, real(c, BETA), &beta))
        return 0;
    if (c->in[2]) v[3] = view_spread(&in[2], 2, out[0].dim);
    Step *s = step_add(b, S_GEMM, c->in[2] ? 4 : 3, v);
    Scalar code[8];
    uint8_t n = 0, y = put_scaled(code, &n, put(code, &n, (Scalar){.op = C_ACC}), alpha);
    if (c->in[2]) {
        uint8_t added = put_scaled(code, &n, put(code, &n, (Scalar){.op = C_VIEW, .a = 3}), beta);
        put(code, &n, (Scalar){.op = C_ADD, .a = y, .b = added});
    }
    if (n > 1) step_code(b, s, n, code);
    return 1;
}

static const OnnxMap onnx[] = {
    {"", "Gemm", 7, 0, "alpha beta transA transB c:stretch"},
    {"", "Gemm", 1, 6, "alpha beta transA transB broadcast:ignore c:stretch"},
    {0},
};
const Op op_gemm = {"gemm",      "a b c?", "y", attrs, shape, define, .steps = write_steps,
                    .onnx = onnx};

enum { ACTIVATION = TRANS_B + 1, ACTIVATION_ALPHA, ACTIVATION_BETA };
static const AttrDef fused_attrs[] = {
    [ALPHA] = {"alpha", A_REAL, "1", .draw = "1 1/2 -2"},
    [BETA] = {"beta", A_REAL, "1", .draw = "1 1/4 -1"},
    [TRANS_A] = {"transA", A_ENUM, "no", "no yes", .draw = "no yes"},
    [TRANS_B] = {"transB", A_ENUM, "no", "no yes", .draw = "no yes"},
    [ACTIVATION] = {"activation", A_ENUM, "none",
                    "none relu leakyrelu tanh sigmoid clip hardsigmoid",
                    .draw = "none relu leakyrelu tanh sigmoid hardsigmoid"},
    [ACTIVATION_ALPHA] = {"activation_alpha", A_REAL, "0", .draw = "0 1/4 -1/2"},
    [ACTIVATION_BETA] = {"activation_beta", A_REAL, "0", .draw = "1/2 1"},
    {0},
};
static const char expand_fused[] =
    "%g = gemm %a %b %c alpha=alpha beta=beta transA=transA transB=transB\n"
    "%y = activate %g kind=activation alpha=activation_alpha beta=activation_beta\n"
    "out %y\n";
#define FUSED(NAME, WORD, PARAMETERS)                                                    \
    {                                                                                    \
        "com.microsoft", "FusedGemm", 1, 0,                                              \
            "alpha beta transA transB c:stretch activation=" NAME "! +activation==" WORD \
            " activation_gamma:ignore " PARAMETERS                                       \
    }
#define NONE "activation_alpha:ignore activation_beta:ignore"
static const OnnxMap onnx_fused[] = {
    FUSED("relu", "Relu", NONE),
    FUSED("tanh", "Tanh", NONE),
    FUSED("sigmoid", "Sigmoid", NONE),
    FUSED("leakyrelu", "LeakyRelu", "activation_alpha activation_beta:ignore"),
    FUSED("hardsigmoid", "HardSigmoid", "activation_alpha activation_beta"),
    {0}};
const Op op_fusedgemm = {
    "fusedgemm", "a b c?", "y", fused_attrs, shape, .expand = expand_fused, .onnx = onnx_fused};
