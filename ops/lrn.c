/* lrn: local response normalization (Krizhevsky, Sutskever, Hinton, 2012): y[n, c, ..] = x[n, c,
   ..] / (bias + alpha/size * (sum over k of x[n, k, ..]^2)) ^ beta, where k goes over `size`
   channels around c: floor((size - 1)/2) of them before c, the others from c on. */
#include "ops/operator/op.h"
enum { ALPHA, BETA, BIAS, SIZE };
/* The largest windows that have steps of their own, whose programs grow with the window. */
enum { WIDEST = 11 };
static const AttrDef attrs[] = {
    [ALPHA] = {"alpha", A_REAL, "1/10000", .draw = "1/10000 1/2"},
    [BETA] = {"beta", A_REAL, "3/4", .draw = "3/4 1/2 1"},
    [BIAS] = {"bias", A_REAL, "1", .draw = "1 2"},
    [SIZE] = {.name = "size", .kind = A_INT, .draw = "1 2 3 5"},
    {0},
};

static const char *shape(Call *c) {
    if (c->in[0]->dim.n < 2) return "lrn needs channels on axis 1";
    need_ge(c, intof(c, SIZE), poly(c, "1"));
    return same_type(c, "F");
}

static Ex define(Call *c, Dims i) {
    Poly n = intof(c, SIZE), before = quot(c, poly(c, "n - 1", n), poly(c, "2"));
    Dims k = bound(c, (Dims){1, {n}}),
         near = dims_with(i, 1, poly(c, "c + k - b", i.v[1], k.v[0], before));
    Cond within = inside(c, (Dims){1, {near.v[1]}}, (Dims){1, {c->in[0]->dim.v[1]}}, 0);
    Ex squares = sum(c, k, within, mul(c, at(c, 0, near), at(c, 0, near)));
    Ex base = add(c, real(c, BIAS), mul(c, divide(c, real(c, ALPHA), size(c, n)), squares));
    return divide(c, at(c, 0, i), power(c, base, real(c, BETA)));
}

/* Sets the program of a step for channels that see the squares of views 1..n; view 1 + self is x
   itself. */
static void program(Call *c, StepBuf *b, Step *s, int n, int self) {
    enum { LONGEST = 3 * WIDEST + 12 };
    double alpha = 0, beta = 0, bias = 0;
    Scalar code[LONGEST];
    int k = 0, sum = -1;
    ex_number(c->w, real(c, ALPHA), &alpha), ex_number(c->w, real(c, BETA), &beta),
        ex_number(c->w, real(c, BIAS), &bias);
#define EMIT(...) (code[k] = (Scalar){__VA_ARGS__}, k++)
    for (int j = 0; j < n; j++) {
        const int x = EMIT(.op = C_VIEW, .a = (uint8_t)(1 + j)),
                  square = EMIT(.op = C_MUL, .a = (uint8_t)x, .b = (uint8_t)x);
        sum = j ? EMIT(.op = C_ADD, .a = (uint8_t)sum, .b = (uint8_t)square) : square;
    }
    const int scale = EMIT(.op = C_CONST, .k = alpha / (double)step_size(b, intof(c, SIZE)));
    const int part = EMIT(.op = C_MUL, .a = (uint8_t)sum, .b = (uint8_t)scale),
              start = EMIT(.op = C_CONST, .k = bias);
    const int base = EMIT(.op = C_ADD, .a = (uint8_t)part, .b = (uint8_t)start);
    int power;
    if (beta == 0.75) { /* the usual exponent: base^(1/2) * base^(1/4) */
        const int root = EMIT(.op = C_SQRT, .a = (uint8_t)base),
                  fourth = EMIT(.op = C_SQRT, .a = (uint8_t)root);
        power = EMIT(.op = C_MUL, .a = (uint8_t)root, .b = (uint8_t)fourth);
    } else {
        const int exponent = EMIT(.op = C_CONST, .k = beta);
        power = EMIT(.op = C_POW, .a = (uint8_t)base, .b = (uint8_t)exponent);
    }
    const int x = EMIT(.op = C_VIEW, .a = (uint8_t)(1 + self));
    EMIT(.op = C_DIV, .a = (uint8_t)x, .b = (uint8_t)power);
#undef EMIT
    step_code(b, s, k, code);
}
/* Element-wise steps, one for each run of channels that see equally many channels on each side: one
   run of inner channels, and each channel near the ends. */
static int write_steps(Call *c, const View in[], const View out[], StepBuf *b) {
    const int64_t size = step_size(b, intof(c, SIZE)), channels = out[0].dim[1],
                  before = (size - 1) / 2, after = size - 1 - before;
    if (size > WIDEST || dtype_class(c->in[0]->dtype) != 'F' || dtype_bits(c->in[0]->dtype) < 16)
        return 0;
    for (int64_t from = 0, to; from < channels; from = to) {
        const int64_t low = from < before ? from : before,
                      high = channels - 1 - from < after ? channels - 1 - from : after;
        const bool inner = low == before && high == after;
        to = inner ? channels - after : from + 1;
        View v[1 + WIDEST] = {view_part(&out[0], 1, from, to - from)};
        for (int64_t j = -low; j <= high; j++)
            v[1 + low + j] = view_part(&in[0], 1, from + j, to - from);
        const int n = (int)(low + high + 1);
        program(c, b, step_add(b, S_EWISE, 1 + n, v), n, (int)low);
    }
    return 1;
}

static const OnnxMap onnx[] = {{"", "LRN", 1, 0, "alpha beta bias size"}, {0}};
const Op op_lrn = {"lrn", "x", "y", attrs, shape, define, .steps = write_steps, .onnx = onnx};
