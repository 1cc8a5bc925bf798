/* optimizer: one training step of an optimizer, for any number of tensors at once: momentum
   (gradient descent with momentum, also Y. Nesterov's, 1983), adagrad (J. Duchi, E. Hazan, Y.
   Singer, 2011) and adam (D. Kingma, J. Ba, 2015).

   The inputs are the learning rate r, the number t of steps so far, all tensors x, all gradients g,
   and the state: all v and, for adam, all h. The results are all new x, then the new state. */
#include "ops/operator/op.h"
enum { R, T, TENSORS };
enum { X, G, V, H };

static const char *shape_of(Call *c, int kinds) {
    int n = (c->nin - TENSORS) / kinds;
    if (n < 1 || c->nin != TENSORS + n * kinds || c->nout > n * (kinds - 1))
        return "the number of tensors does not match";
    if (!dims_single(c, c->in[R]->dim) || !dims_single(c, c->in[T]->dim) || !is_float(c->in[R]) ||
        dtype_class(c->in[T]->dtype) != 'I')
        return "learning rate and step count must be single numbers";
    for (int k = TENSORS; k < c->nin; k++) {
        const Type *x = c->in[TENSORS + (k - TENSORS) % n], *own = c->in[k];
        if (own->dim.n != x->dim.n || own->dtype != x->dtype || !is_float(x))
            return "a tensor and its gradient or state differ in size or type";
        for (int a = 0; a < x->dim.n; a++) need_eq(c, own->dim.v[a], x->dim.v[a]);
    }
    for (int k = 0; k < c->nout; k++) c->out[k] = *c->in[TENSORS + k % n];
    return NULL;
}
static const char *shape_three(Call *c) { return shape_of(c, 3); }
static const char *shape_four(Call *c) { return shape_of(c, 4); }

/* Element i of the input of this kind (X, G, V or H) that belongs to the tensor of output
   c->port. */
static Ex element(Call *c, int kinds, int kind, Dims i) {
    int n = (c->nin - TENSORS) / kinds;
    return at(c, TENSORS + kind * n + c->port % n, i);
}
/* The kind of output c->port: X, V or H. */
static int result(Call *c, int kinds) {
    int k = c->port / ((c->nin - TENSORS) / kinds);
    return k ? k + 1 : X;
}
/* The gradient, plus that of the penalty norm/2 * (sum of x^2). */
static Ex gradient(Call *c, int kinds, int norm, Dims i) {
    return add(c, mul(c, real(c, norm), element(c, kinds, X, i)), element(c, kinds, G, i));
}
static Ex less(Call *c, Ex a) { return sub(c, num(c, 1, 1), a); }
static Ex ratio(Call *c, Ex a, Ex square, int epsilon) {
    return divide(c, a, add(c, fn(c, FN_SQRT, square), real(c, epsilon)));
}

enum { ALPHA, BETA, NORM, MODE };
static const AttrDef momentum_attrs[] = {
    [ALPHA] = {.name = "alpha", .kind = A_REAL, .draw = "19/20 1/2"},
    [BETA] = {.name = "beta", .kind = A_REAL, .draw = "1/10 1"},
    [NORM] = {.name = "norm", .kind = A_REAL, .draw = "1/1000 0"},
    [MODE] = {.name = "mode",
              .kind = A_ENUM,
              .words = "standard nesterov",
              .draw = "standard nesterov"},
    {0},
};
static Ex define_momentum(Call *c, Dims i) {
    Ex g = gradient(c, 3, NORM, i),
       now = mul(c, where(c, at_per_axis(c, T, 0), real(c, BETA), num(c, 1, 1)), g);
    Ex v = add(c, mul(c, real(c, ALPHA), element(c, 3, V, i)), now);
    if (result(c, 3) == V) return v;
    Ex by = enum_value(c, MODE) ? add(c, g, mul(c, real(c, ALPHA), v)) : v;
    return sub(c, element(c, 3, X, i), mul(c, at_per_axis(c, R, 0), by));
}
#define DOMAIN "ai.onnx.preview.training"
static const OnnxMap onnx_momentum[] = {
    {DOMAIN, "Momentum", 1, 0, "alpha beta norm=norm_coefficient mode"}, {0}};
const Op op_momentum = {"momentum",      "r t tensors..",      "ys..", momentum_attrs, shape_three,
                        define_momentum, .onnx = onnx_momentum};

enum { DECAY, GRAD_EPSILON, GRAD_NORM };
static const AttrDef adagrad_attrs[] = {
    [DECAY] = {"decay", A_REAL, "0", .draw = "1/10 0"},
    [GRAD_EPSILON] = {"epsilon", A_REAL, "1/1000000", .draw = "1/100000 1/100"},
    [GRAD_NORM] = {"norm", A_REAL, "0", .draw = "1/1000 0"},
    {0},
};
static Ex define_adagrad(Call *c, Dims i) {
    Ex g = gradient(c, 3, GRAD_NORM, i), squares = add(c, element(c, 3, V, i), mul(c, g, g));
    if (result(c, 3) == V) return squares;
    Ex later = add(c, num(c, 1, 1), mul(c, at_per_axis(c, T, 0), real(c, DECAY)));
    Ex rate = divide(c, at_per_axis(c, R, 0), later);
    return sub(c, element(c, 3, X, i), mul(c, rate, ratio(c, g, squares, GRAD_EPSILON)));
}
static const OnnxMap onnx_adagrad[] = {
    {DOMAIN, "Adagrad", 1, 0, "decay=decay_factor epsilon norm=norm_coefficient"}, {0}};
const Op op_adagrad = {"adagrad",      "r t tensors..",     "ys..", adagrad_attrs, shape_three,
                       define_adagrad, .onnx = onnx_adagrad};

enum { ADAM_ALPHA, ADAM_BETA, ADAM_EPSILON, ADAM_NORM, POST };
static const AttrDef adam_attrs[] = {
    [ADAM_ALPHA] = {"alpha", A_REAL, "9/10", .draw = "9/10 19/20"},
    [ADAM_BETA] = {"beta", A_REAL, "999/1000", .draw = "999/1000 1/10"},
    [ADAM_EPSILON] = {"epsilon", A_REAL, "1/1000000", .draw = "1/1000000 1/100"},
    [ADAM_NORM] = {"norm", A_REAL, "0", .draw = "1/1000 0"},
    [POST] = {"post", A_REAL, "0", .draw = "0 1/100"},
    {0},
};
static Ex blend(Call *c, int share, Ex before, Ex now) {
    return add(c, mul(c, real(c, share), before), mul(c, less(c, real(c, share)), now));
}
/* The learning rate, corrected for the start: v and h begin at 0 and are therefore too small in the
   first steps. */
static Ex adam_rate(Call *c) {
    Ex t = at_per_axis(c, T, 0), r = at_per_axis(c, R, 0);
    Ex second = fn(c, FN_SQRT, less(c, power(c, real(c, ADAM_BETA), t)));
    Ex first = less(c, power(c, real(c, ADAM_ALPHA), t));
    return where(c, t, divide(c, mul(c, r, second), first), r);
}
static Ex define_adam(Call *c, Dims i) {
    Ex g = gradient(c, 4, ADAM_NORM, i), v = blend(c, ADAM_ALPHA, element(c, 4, V, i), g);
    Ex h = blend(c, ADAM_BETA, element(c, 4, H, i), mul(c, g, g));
    if (result(c, 4) != X) return result(c, 4) == V ? v : h;
    Ex step = mul(c, adam_rate(c), ratio(c, v, h, ADAM_EPSILON));
    return mul(c, less(c, real(c, POST)), sub(c, element(c, 4, X, i), step));
}
static const OnnxMap onnx_adam[] = {
    {DOMAIN, "Adam", 1, 0, "alpha beta epsilon norm=norm_coefficient post=norm_coefficient_post"},
    {0}};
const Op op_adam = {"adam",     "r t tensors..", "ys..",           adam_attrs,
                    shape_four, define_adam,     .onnx = onnx_adam};
