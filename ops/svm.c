/* svm: support vector regression of ai.onnx.ml (C. Cortes and V. Vapnik, "Support-vector networks",
   1995): y = rho + the sum of coefficients times kernels between a row of x [n, f] and the support
   vectors [k, f]. */
#include "ops/operator/op.h"

enum { X, SUPPORTS, COEFFICIENTS, RHO };
enum { KERNEL, GAMMA, COEF0, DEGREE };
static const AttrDef attrs[] = {[KERNEL] = {"kernel", A_ENUM, "linear", "linear poly rbf sigmoid",
                                            .draw = "linear poly rbf sigmoid"},
                                [GAMMA] = {"gamma", A_REAL, "0", .draw = "1/4 1/8"},
                                [COEF0] = {"coef0", A_REAL, "0", .draw = "0 1/2"},
                                [DEGREE] = {"degree", A_REAL, "0", .draw = "2 3"},
                                {0}};

static const char *shape(Call *c) {
    const Dims x = c->in[X]->dim, list = c->in[SUPPORTS]->dim;
    const char *why = matrix_of_numbers(c, X);
    if (why) return why;
    for (int k = SUPPORTS; k <= RHO; k++)
        if (c->in[k]->dtype != DT_FLOAT) return "only lists of floats are supported";
    if (rank_of(c, COEFFICIENTS) != 1 || rank_of(c, RHO))
        return "only several support vectors with a single rho are supported";
    need_eq(c, product(c, list, 0, list.n), poly(c, "n*f", c->in[COEFFICIENTS]->dim.v[0], x.v[1]));
    c->out[0] = (Type){.dtype = DT_FLOAT, .dim = {2, {x.v[0], poly(c, "1")}}};
    return NULL;
}
/* The kernel rbf computes squared distances by products, as |a|^2 - 2ab + |b|^2. This loses no
   accuracy only if the support vectors lie around 0, so their mean is first subtracted on both
   sides. */
static const char expand[] = "%f = cast %x to=F\n"
                             "%v = reshape %supports shape=[coefficients.0, x.1]\n"
                             "[kernel=rbf] %m = reduce_mean %v axes=[0]\n"
                             "[kernel=rbf] %s = sub %v %m\n"
                             "[kernel=rbf] %r = sub %f %m\n"
                             "[kernel!=rbf] %s = %v\n"
                             "[kernel!=rbf] %r = %f\n"
                             "%t = transpose %s perm=[1, 0]\n"
                             "%p = matmul %r %t\n"
                             "%gamma = fill value=gamma shape=[] dtype=F\n"
                             "%coef = fill value=coef0 shape=[] dtype=F\n"
                             "%degree = fill value=degree shape=[] dtype=F\n"
                             "%two = fill value=-2 shape=[] dtype=F\n"
                             "%q = mul %p %gamma\n"
                             "%u = add %q %coef\n"
                             "[kernel=linear] %k = %p\n"
                             "[kernel=poly] %k = pow %u %degree\n"
                             "[kernel=sigmoid] %k = tanh %u\n"
                             "[kernel=rbf] %ss = mul %s %s\n"
                             "[kernel=rbf] %sn = reduce_sum %ss axes=[1]\n"
                             "[kernel=rbf] %rr = mul %r %r\n"
                             "[kernel=rbf] %rn = reduce_sum %rr axes=[1]\n"
                             "[kernel=rbf] %rc = reshape %rn shape=[x.0, 1]\n"
                             "[kernel=rbf] %rb = broadcast %rc shape=[x.0, coefficients.0]\n"
                             "[kernel=rbf] %p2 = mul %p %two\n"
                             "[kernel=rbf] %d1 = add %p2 %rb\n"
                             "[kernel=rbf] %d = add %d1 %sn\n"
                             "[kernel=rbf] %g = mul %d %gamma\n"
                             "[kernel=rbf] %e = neg %g\n"
                             "[kernel=rbf] %k = exp %e\n"
                             "%c = reshape %coefficients shape=[coefficients.0, 1]\n"
                             "%z = matmul %k %c\n"
                             "%y = add %z %rho\n"
                             "out %y\n";
static bool read_kernel(Call *c, OnnxRead *read, int attr) {
    static const int parameters[] = {GAMMA, COEF0, DEGREE};
    (void)c, (void)attr;
    return read->reals(read, "kernel_params", 3, parameters);
}
static bool write_kernel(Call *c, OnnxWrite *write, int attr) {
    static const int parameters[] = {GAMMA, COEF0, DEGREE};
    (void)c, (void)attr;
    return write->reals(write, "kernel_params", 3, parameters);
}
static const OnnxItem items[] = {{"gamma", "parameters", read_kernel, write_kernel}, {0}};
static const OnnxMap onnx[] = {
    {"ai.onnx.ml", "SVMRegressor", 1, 0,
     "supports=list:support_vectors coefficients=list:coefficients rho=list:rho "
     "kernel=kernel_type^ gamma:parameters n_supports:ignore one_class==0 post_transform==NONE"},
    {0}};
const Op op_svmregressor = {"svmregressor",
                            "x supports coefficients rho",
                            "y",
                            attrs,
                            shape,
                            .expand = expand,
                            .onnx = onnx,
                            .items = items};
