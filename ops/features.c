/* features: operators of ai.onnx.ml that prepare features, the last axis of x, for a model. Their
   lists are constants with a number for each feature, or with one number for all. */
#include "ops/operator/op.h"

/* The result has the sizes and type of x, which must have features. Each list must be a single
   number or have one number per feature. */
static const char *features_shape(Call *c) {
    const Dims x = c->in[0]->dim;
    if (!x.n) return "x has no features";
    for (int k = 1; k < c->nin; k++) {
        if (!has(c, k) || !rank_of(c, k)) continue;
        if (rank_of(c, k) != 1) return "a list with more than one axis";
        need_eq(c, c->in[k]->dim.v[0], x.v[x.n - 1]);
    }
    c->out[0] = *c->in[0];
    return is_float(c->in[0]) || is_integer(c->in[0]) ? NULL
                                                      : "not supported for this element type";
}

/* scaler: (x - offset) * scale. */
static const char *scaler_shape(Call *c) {
    const char *why = features_shape(c);
    c->out[0].dtype = DT_FLOAT;
    return why;
}
static const char expand_scaler[] = "%f = cast %x to=F\n"
                                    "[!offset] %c = %f\n"
                                    "[offset] %c = sub %f %offset\n"
                                    "[!scale] %y = %c\n"
                                    "[scale] %y = mul %c %scale\n"
                                    "out %y\n";
static const OnnxMap onnx_scaler[] = {
    {"ai.onnx.ml", "Scaler", 1, 0, "offset=list:offset scale=list:scale"}, {0}};
const Op op_scaler = {
    "scaler",           "x offset? scale?", "y", .shape = scaler_shape, .expand = expand_scaler,
    .onnx = onnx_scaler};

/* imputer: x, with `imputed` in place of the elements equal to `missing`, which may be NaN. */
static const char *imputer_shape(Call *c) {
    const char *why = features_shape(c);
    return rank_of(c, 2) ? "one number is missing" : why ? why : dtypes_agree(c, "FI");
}
static const char expand_imputer[] = "%e = equal %x %missing\n"
                                     "[x:I64] %m = %e\n"
                                     "[x:F] %a = isnan %x\n"
                                     "[x:F] %b = isnan %missing\n"
                                     "[x:F] %n = and %a %b\n"
                                     "[x:F] %m = or %e %n\n"
                                     "%y = where %m %imputed %x\n"
                                     "out %y\n";
static const OnnxMap onnx_imputer[] = {
    {"ai.onnx.ml", "Imputer", 1, 0,
     "imputed=list:imputed_value_floats missing=number:replaced_value_float"},
    {"ai.onnx.ml", "Imputer", 1, 0,
     "imputed=list:imputed_value_int64s missing=number:replaced_value_int64"},
    {0}};
const Op op_imputer = {
    "imputer",           "x imputed missing", "y", .shape = imputer_shape, .expand = expand_imputer,
    .onnx = onnx_imputer};

/* binarizer: 1 where x is above a threshold, else 0. */
static const AttrDef binarizer_attrs[] = {{"threshold", A_REAL, "0", .draw = "0 1/4 -1/2"}, {0}};
static const char expand_binarizer[] = "%t = fill value=threshold shape=[] dtype=x\n"
                                       "%g = greater %x %t\n"
                                       "%y = cast %g to=x\n"
                                       "out %y\n";
static const OnnxMap onnx_binarizer[] = {{"ai.onnx.ml", "Binarizer", 1, 0, "threshold"}, {0}};
const Op op_binarizer = {
    "binarizer",           "x", "y", binarizer_attrs, features_shape, .expand = expand_binarizer,
    .onnx = onnx_binarizer};

/* normalizer: each row of x divided by its norm, which is its greatest element (max), the sum of
   its absolute values (l1) or the root of the sum of its squares (l2). A row whose norm is 0 stays
   as it is. */
static const AttrDef normalizer_attrs[] = {
    {"norm", A_ENUM, "max", "max l1 l2", .draw = "max l1 l2"}, {0}};
static const char *normalizer_shape(Call *c) {
    const char *why = scaler_shape(c);
    return rank_of(c, 0) != 2 ? "only rows of a matrix are supported" : why;
}
static const char expand_normalizer[] = "%f = cast %x to=F\n"
                                        "[norm=max] %n = reduce_max %f axes=[1]\n"
                                        "[norm=l1] %n = reduce_l1 %f axes=[1]\n"
                                        "[norm=l2] %n = reduce_l2 %f axes=[1]\n"
                                        "%zero = fill value=0 shape=[] dtype=F\n"
                                        "%one = fill value=1 shape=[x.0] dtype=F\n"
                                        "%e = equal %n %zero\n"
                                        "%d = where %e %one %n\n"
                                        "%r = reshape %d shape=[x.0, 1]\n"
                                        "%b = broadcast %r shape=[x.0, x.1]\n"
                                        "%y = div %f %b\n"
                                        "out %y\n";
static const OnnxMap onnx_normalizer[] = {{"ai.onnx.ml", "Normalizer", 1, 0, "norm=norm^"}, {0}};
const Op op_normalizer = {"normalizer",
                          "x",
                          "y",
                          normalizer_attrs,
                          normalizer_shape,
                          .expand = expand_normalizer,
                          .onnx = onnx_normalizer};

/* pickfeatures: the features of x at the places that a list of indices names. */
static const char *pick_shape(Call *c) {
    Dims x = c->in[0]->dim, places = c->in[1]->dim, y = x;
    if (x.n < 1 || x.n > 3 || places.n > 2)
        return "x needs one to three axes, the places at most two";
    if (x.n == 1) y = dims_cons(poly(c, "1"), x);
    c->out[0] = *c->in[0];
    c->out[0].dim = dims_with(y, -1, product(c, places, 0, places.n));
    return c->in[1]->dtype == DT_INT64 ? NULL : "places are int64";
}
static bool pick_domain(Call *c, int input, Poly *low, Poly *high) {
    const Dims x = c->in[0]->dim;
    if (input != 1) return false;
    *low = poly(c, "0"), *high = poly(c, "n - 1", x.v[x.n - 1]);
    return true;
}
static const char expand_pick[] = "[places:0] %p = reshape %places shape=[1]\n"
                                  "[places:1] %p = %places\n"
                                  "[places:2] %p = reshape %places shape=[places.0*places.1]\n"
                                  "[x:1] %r = reshape %x shape=[1, x.0]\n"
                                  "[x:1] %y = gather %r %p axis=1\n"
                                  "[x:2] %y = gather %x %p axis=1\n"
                                  "[x:3] %y = gather %x %p axis=2\n"
                                  "out %y\n";
static const OnnxMap onnx_pick[] = {{"ai.onnx.ml", "ArrayFeatureExtractor", 1, 0, ""}, {0}};
const Op op_pickfeatures = {
    "pickfeatures",        "x places",       "y", .shape = pick_shape, .domain = pick_domain,
    .expand = expand_pick, .onnx = onnx_pick};
