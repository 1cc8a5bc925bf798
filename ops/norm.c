/* norm: normalizations by means over some axes: layernorm, rmsnorm, groupnorm, instancenorm, lpnorm
   and meanvariance. Most compute (x - mean) / sqrt(mean of (x - mean)^2 + epsilon), then scale and
   shift the result. */
#include "ops/operator/op.h"
enum { AXIS, EPSILON };
enum { X, SCALE, BIAS };
static const AttrDef attrs[] = {
    [AXIS] = {"axis", A_INT, "-1", .axes = true, .draw = "-1 1 2"},
    [EPSILON] = {"epsilon", A_REAL, "1/100000", .draw = "1/100000 1/1000 1/10"},
    {0},
};

static Ex square(Call *c, Ex x) { return mul(c, x, x); }
static Ex inverse_root(Call *c, Ex x) { return fn(c, FN_RECIP, fn(c, FN_SQRT, x)); }

/* layernorm: normalizes over the axes from `axis` on. The sizes of scale and bias are those of some
   last axes of x. Further results are the mean and 1 / sqrt(..), with size 1 on the normalized
   axes. */
static const char *scale_refused(Call *c, int input) {
    if (!c->in[input]) return NULL;
    if (c->in[input]->dim.n > c->in[X]->dim.n) return "the scale or bias has more axes than x";
    dims_join(c, c->in[X]->dim, c->in[input]->dim);
    return NULL;
}
static const char *shape_from_axis(Call *c) {
    int a = axis(c, AXIS, c->in[X]->dim.n);
    if (a < 0) return "axis out of range";
    for (int k = SCALE; k < c->nin; k++) {
        const char *why = scale_refused(c, k);
        if (why) return why;
    }
    return same_type(c, "F");
}
static const char *shape_layernorm(Call *c) {
    const char *why = shape_from_axis(c);
    if (why) return why;
    for (int j = 1; j < 3; j++) {
        c->out[j] = *c->in[X];
        if (dtype_bits(c->in[X]->dtype) < 32) c->out[j].dtype = DT_FLOAT;
        for (int k = axis(c, AXIS, c->in[X]->dim.n); k < c->in[X]->dim.n; k++)
            c->out[j].dim.v[k] = poly(c, "1");
    }
    return NULL;
}
/* The mean over the axes from a on, of x or of x - from if `from` is given, squared if
   `squares`. */
static Ex mean_from(Call *c, Dims i, int a, bool squares, Ex from) {
    Dims x = c->in[X]->dim, k = bound(c, dims_tail(x, x.n - a));
    for (int j = a; j < x.n; j++) i.v[j] = k.v[j - a];
    Ex e = from ? sub(c, at(c, X, i), from) : at(c, X, i);
    return divide(c, sum(c, k, (Cond){0}, squares ? square(c, e) : e),
                  size(c, product(c, x, a, x.n)));
}
static Ex scaled(Call *c, Dims i, Ex y) {
    if (has(c, SCALE)) y = mul(c, y, at(c, SCALE, dims_tail(i, c->in[SCALE]->dim.n)));
    if (has(c, BIAS)) y = add(c, y, at(c, BIAS, dims_tail(i, c->in[BIAS]->dim.n)));
    return y;
}
static Ex define_layernorm(Call *c, Dims i) {
    int a = axis(c, AXIS, i.n);
    Ex mean = mean_from(c, i, a, false, 0);
    if (c->port == 1) return mean;
    Ex factor = inverse_root(c, add(c, mean_from(c, i, a, true, mean), real(c, EPSILON)));
    return c->port == 2 ? factor : scaled(c, i, mul(c, sub(c, at(c, X, i), mean), factor));
}

/* ---- Steps of normalizations with a mean: the mean, then in y the squares of x - mean, then the
   factor from their mean, then y. 16 bits would be too few for the squares, so that these steps are
   for float32 only. */
/* What has one number for each of the first axes of `like`, as a view of all its axes. */
static View along_rows(const View *v, const View *like) {
    View all = *v;
    for (int a = v->rank; a < like->rank; a++) all.dim[a] = like->dim[a], all.stride[a] = 0;
    all.rank = like->rank;
    return all;
}
/* y = (x - operand[0]) * operand[1] * operand[2] + operand[3], all of y's sizes. The last two may
   have the rank -1: they are left out. */
static void shift_and_scale(StepBuf *b, const View *y, const View *x, const View operand[4]) {
    View v[6] = {*y, *x};
    Scalar code[10] = {{.op = C_VIEW, .a = 1}};
    uint8_t n = 1, nview = 2;
    for (int k = 0; k < 4; k++) {
        if (operand[k].rank < 0) continue;
        v[nview] = operand[k];
        code[n] = (Scalar){.op = C_VIEW, .a = nview++};
        code[n + 1] = (Scalar){.op = k == 0   ? C_SUB
                                     : k == 3 ? C_ADD
                                              : C_MUL,
                               .a = (uint8_t)(n - 1),
                               .b = n};
        n = (uint8_t)(n + 2);
    }
    step_code(b, step_add(b, S_EWISE, nview, v), n, code);
}
/* Normalizes over the axes that `mean` and `factor` lack, which receive these numbers. scale, bias:
   of y's sizes, or of rank -1 for none. */
static void write_normal(StepBuf *b, const View *y, const View *x, const View *mean,
                         const View *factor, double epsilon, const View *scale, const View *bias) {
    const View operand[] = {along_rows(mean, x), along_rows(factor, x), *scale, *bias};
    Step *s = step_add(b, S_REDUCE, 2, (const View[]){*mean, *x});
    step_param(b, s, 1, &(int64_t){REDUCE_MEAN});
    s = step_add(b, S_EWISE, 3, (const View[]){*y, *x, operand[0]});
    step_code(b, s, 4,
              (const Scalar[]){{.op = C_VIEW, .a = 1},
                               {.op = C_VIEW, .a = 2},
                               {.op = C_SUB, .a = 0, .b = 1},
                               {.op = C_MUL, .a = 2, .b = 2}});
    s = step_add(b, S_REDUCE, 2, (const View[]){*factor, *y});
    step_param(b, s, 1, &(int64_t){REDUCE_MEAN});
    step_code(b, s, 5,
              (const Scalar[]){{.op = C_ACC},
                               {.op = C_CONST, .k = epsilon},
                               {.op = C_ADD, .a = 0, .b = 1},
                               {.op = C_SQRT, .a = 2},
                               {.op = C_RECIP, .a = 3}});
    shift_and_scale(b, y, x, operand);
}
static int steps_layernorm(Call *c, const View in[], const View out[], StepBuf *b) {
    double epsilon;
    int a = axis(c, AXIS, in[X].rank);
    if (!ex_number(c->w, real(c, EPSILON), &epsilon) || in[X].dtype != DT_FLOAT) return 0;
    View mean = out[1], factor = out[2], of[2] = {{.rank = -1}, {.rank = -1}};
    mean.rank = factor.rank = a;
    for (int k = SCALE; k < c->nin; k++)
        if (c->in[k]) of[k - SCALE] = view_spread(&in[k], out[0].rank, out[0].dim);
    write_normal(b, &out[0], &in[X], &mean, &factor, epsilon, &of[0], &of[1]);
    return 1;
}
static const OnnxMap onnx_layernorm[] = {
    {"", "LayerNormalization", 17, 0, "axis epsilon stash_type:ignore others:stretch"},
    {"", "LayerNormalization", 1, 16,
     "axis epsilon stash_type:ignore import:only others:stretch"}, /* ONNX Runtime's own */
    {0}};
const Op op_layernorm = {
    "layernorm",     "x scale? bias?", "y mean factor",          attrs,
    shape_layernorm, define_layernorm, .steps = steps_layernorm, .onnx = onnx_layernorm,
};

/* rmsnorm: like layernorm without subtracting the mean. */
static Ex define_rmsnorm(Call *c, Dims i) {
    Ex factor =
        inverse_root(c, add(c, mean_from(c, i, axis(c, AXIS, i.n), true, 0), real(c, EPSILON)));
    return scaled(c, i, mul(c, at(c, X, i), factor));
}
static const OnnxMap onnx_rmsnorm[] = {
    {"", "RMSNormalization", 23, 0, "axis epsilon stash_type:ignore others:stretch"},
    {"", "SimplifiedLayerNormalization", 1, 0,
     "axis epsilon stash_type:ignore import:only others:stretch"},
    {0}};
const Op op_rmsnorm = {"rmsnorm",      "x scale?",          "y", attrs, shape_from_axis,
                       define_rmsnorm, .onnx = onnx_rmsnorm};

/* groupnorm: normalizes over the spatial axes and the channels (axis 1) of a group; scale and bias
   have one number per channel. instancenorm: every channel is a group. */
enum { GROUPS, GROUP_EPSILON };
static const AttrDef group_attrs[] = {
    [GROUPS] = {.name = "groups", .kind = A_INT, .draw = "1 2 4"},
    [GROUP_EPSILON] = {"epsilon", A_REAL, "1/100000", .draw = "1/100000 1/1000 1/10"},
    {0},
};
static const char *shape_channels(Call *c) {
    Dims x = c->in[X]->dim;
    if (x.n < 2) return "axis 1 must be the channels";
    for (int k = SCALE; k <= BIAS; k++) {
        if (c->in[k]->dim.n != 1) return "scale and bias must be one number per channel";
        need_eq(c, c->in[k]->dim.v[0], x.v[1]);
    }
    return same_type(c, "F");
}
static const char *shape_groupnorm(Call *c) {
    const char *why = shape_channels(c);
    Poly groups = intof(c, GROUPS);
    need_ge(c, groups, poly(c, "1"));
    if (!why)
        need_eq(c, c->in[X]->dim.v[1], poly(c, "g*q", groups, quot(c, c->in[X]->dim.v[1], groups)));
    return why;
}
static Ex mean_of_group(Call *c, Dims i, Poly first, Poly channels, bool squares, Ex from) {
    Dims x = c->in[X]->dim, n = dims_tail(x, x.n - 1);
    n.v[0] = channels;
    Dims k = bound(c, n);
    for (int j = 1; j < x.n; j++) i.v[j] = k.v[j - 1];
    i.v[1] = poly(c, "f + k", first, k.v[0]);
    Ex e = from ? sub(c, at(c, X, i), from) : at(c, X, i);
    return divide(c, sum(c, k, (Cond){0}, squares ? square(c, e) : e),
                  size(c, product(c, n, 0, n.n)));
}
static Ex normal_in_group(Call *c, Dims i, Poly first, Poly channels, Ex epsilon) {
    Dims channel = {1, {i.v[1]}};
    Ex mean = mean_of_group(c, i, first, channels, false, 0);
    Ex factor = inverse_root(c, add(c, mean_of_group(c, i, first, channels, true, mean), epsilon));
    Ex y = mul(c, sub(c, at(c, X, i), mean), factor);
    return add(c, mul(c, y, at(c, SCALE, channel)), at(c, BIAS, channel));
}
static Ex define_groupnorm(Call *c, Dims i) {
    Poly channels = quot(c, c->in[X]->dim.v[1], intof(c, GROUPS));
    Dims d = digits(c, i.v[1], (Dims){2, {intof(c, GROUPS), channels}});
    return normal_in_group(c, i, poly(c, "g*c", d.v[0], channels), channels,
                           real(c, GROUP_EPSILON));
}
/* For many axes, with which lowering has more indices than a step has axes. */
static int steps_groupnorm(Call *c, const View in[], const View out[], StepBuf *b) {
    enum { LOWERED = 4 };
    double epsilon;
    const int64_t groups = step_size(b, intof(c, GROUPS));
    if (in[X].rank <= LOWERED || in[X].rank == STEP_RANK || in[X].dtype != DT_FLOAT || groups < 1 ||
        in[X].dim[1] < groups || !ex_number(c->w, real(c, GROUP_EPSILON), &epsilon))
        return 0;
    const int64_t each = in[X].dim[1] / groups; /* channels */
    const View scales = per_axis_view(&in[SCALE], &out[0], 1),
               biases = per_axis_view(&in[BIAS], &out[0], 1);
    const View x = view_split(&in[X], 1, each), y = view_split(&out[0], 1, each),
               scale = view_split(&scales, 1, each), bias = view_split(&biases, 1, each);
    View mean, factor;
    if (!step_buffer(b, DT_FLOAT, 2, x.dim, &mean) || !step_buffer(b, DT_FLOAT, 2, x.dim, &factor))
        return 0;
    write_normal(b, &y, &x, &mean, &factor, epsilon, &scale, &bias);
    return 1;
}
static const OnnxMap onnx_groupnorm[] = {
    {"", "GroupNormalization", 21, 0, "groups=num_groups epsilon stash_type:ignore"}, {0}};
const Op op_groupnorm = {"groupnorm",
                         "x scale bias",
                         "y",
                         group_attrs,
                         shape_groupnorm,
                         define_groupnorm,
                         .steps = steps_groupnorm,
                         .onnx = onnx_groupnorm};

static const AttrDef instance_attrs[] = {
    {"epsilon", A_REAL, "1/100000", .draw = "1/100000 1/1000 1/10"}, {0}};
static Ex define_instancenorm(Call *c, Dims i) {
    return normal_in_group(c, i, i.v[1], poly(c, "1"), real(c, 0));
}
static const OnnxMap onnx_instancenorm[] = {
    {"", "InstanceNormalization", 6, 0, "epsilon"},
    {"", "InstanceNormalization", 1, 5, "epsilon consumed_inputs:ignore"},
    {0}};
const Op op_instancenorm = {"instancenorm",           "x scale bias", "y",
                            instance_attrs,           shape_channels, define_instancenorm,
                            .onnx = onnx_instancenorm};

/* lpnorm: x divided by the sum of absolute values (p = 1) or by the root of the sum of squares (p =
   2) along an axis. */
enum { LP_AXIS, LP_P };
static const AttrDef lp_attrs[] = {
    [LP_AXIS] = {"axis", A_INT, "-1", .axes = true, .draw = "0 1 -1"},
    [LP_P] = {"p", A_INT, "2", .draw = "1 2"},
    {0},
};
static const char *shape_lpnorm(Call *c) {
    int64_t p;
    if (axis(c, LP_AXIS, c->in[X]->dim.n) < 0) return "axis out of range";
    return is_const(c, intof(c, LP_P), &p) && (p == 1 || p == 2) ? same_type(c, "F")
                                                                 : "p must be 1 or 2";
}
static Ex define_lpnorm(Call *c, Dims i) {
    int a = axis(c, LP_AXIS, i.n);
    int64_t p = 2;
    is_const(c, intof(c, LP_P), &p);
    Dims k = bound(c, (Dims){1, {c->in[X]->dim.v[a]}});
    Ex e = at(c, X, dims_with(i, a, k.v[0])),
       total = sum(c, k, (Cond){0}, p == 1 ? fn(c, FN_ABS, e) : square(c, e));
    Ex norm = p == 1 ? total : fn(c, FN_SQRT, total); /* the quotient of zeros is 0 rather than
                                                         0/0 */
    return divide(c, at(c, X, i), add(c, norm, fn(c, FN_DELTA, norm)));
}
static const OnnxMap onnx_lpnorm[] = {{"", "LpNormalization", 1, 0, "axis p"}, {0}};
const Op op_lpnorm = {"lpnorm",           "x", "y", lp_attrs, shape_lpnorm, define_lpnorm,
                      .onnx = onnx_lpnorm};

/* meanvariance: (x - mean) / (sqrt(variance) + 10^-9) over some axes, as ONNX's function says. */
static const AttrDef axes_attrs[] = {{"axes", A_INTS, "[0, 2, 3]", .axes = true}, {0}};
static bool reduced(Call *c, int k) {
    for (int j = 0; j < ints(c, 0).n; j++)
        if (axis_at(c, 0, j, c->in[X]->dim.n) == k) return true;
    return false;
}
static const char *shape_meanvariance(Call *c) {
    for (int j = 0; j < ints(c, 0).n; j++)
        if (axis_at(c, 0, j, c->in[X]->dim.n) < 0) return "axis out of range";
    return same_type(c, "F");
}
/* The mean of x over the reduced axes or, if `from` is given, that of (x - from)^2. */
static Ex mean_over(Call *c, Dims i, Ex from) {
    Dims n = {0};
    for (int k = 0; k < i.n; k++)
        if (reduced(c, k)) n.v[n.n++] = c->in[X]->dim.v[k];
    Dims k = bound(c, n);
    for (int a = 0, j = 0; a < i.n; a++)
        if (reduced(c, a)) i.v[a] = k.v[j++];
    Ex e = at(c, X, i);
    return divide(c, sum(c, k, (Cond){0}, from ? square(c, sub(c, e, from)) : e),
                  size(c, product(c, n, 0, n.n)));
}
/* ONNX's function computes the variance as the mean of the squares minus the square of the mean.
   That is the same real number, but with floats it may be negative. */
static Ex define_meanvariance(Call *c, Dims i) {
    Ex mean = mean_over(c, i, 0), variance = mean_over(c, i, mean);
    return divide(c, sub(c, at(c, X, i), mean),
                  add(c, fn(c, FN_SQRT, variance), num(c, 1, 1000000000)));
}
static const OnnxMap onnx_meanvariance[] = {{"", "MeanVarianceNormalization", 9, 0, "axes"}, {0}};
const Op op_meanvariance = {
    "meanvariance",           "x", "y", axes_attrs, shape_meanvariance, define_meanvariance,
    .onnx = onnx_meanvariance};
