/* linearmodel: the linear models of ai.onnx.ml: rows of x [n, f] times coefficients, plus
   intercepts, which are constants. */
#include "ops/operator/op.h"

enum { X, COEFFICIENTS, INTERCEPTS, LABELS };

/* Checks the inputs and sets result `out` to scores [n, outputs]; returns why the inputs do not
   fit. */
static const char *scores_shape(Call *c, int out, Poly outputs) {
    const Dims x = c->in[X]->dim, list = c->in[COEFFICIENTS]->dim;
    const char *why = matrix_of_numbers(c, X);
    if (why) return why;
    if (c->in[COEFFICIENTS]->dtype != DT_FLOAT) return "coefficients are floats";
    need_eq(c, product(c, list, 0, list.n), poly(c, "n*f", outputs, x.v[1]));
    if (rank_of(c, INTERCEPTS)) need_eq(c, c->in[INTERCEPTS]->dim.v[0], outputs);
    c->out[out] = (Type){.dtype = DT_FLOAT, .dim = {2, {x.v[0], outputs}}};
    return NULL;
}
#define SCORES(outputs)                                     \
    "%f = cast %x to=F\n"                                   \
    "%w = reshape %coefficients shape=[" outputs ", x.1]\n" \
    "%t = transpose %w perm=[1, 0]\n"                       \
    "%p = matmul %f %t\n"                                   \
    "[!intercepts] %s = %p\n"                               \
    "[intercepts] %s = add %p %intercepts\n"

/* linearregressor: the scores. */
enum { TARGETS };
static const AttrDef regressor_attrs[] = {[TARGETS] = {"targets", A_INT, "1", .draw = "1 2 3"},
                                          {0}};
static const char *regressor_shape(Call *c) { return scores_shape(c, 0, intof(c, TARGETS)); }
static const char expand_regressor[] = SCORES("targets") "out %s\n";
static const OnnxMap onnx_regressor[] = {
    {"ai.onnx.ml", "LinearRegressor", 1, 0,
     "coefficients=list:coefficients intercepts=list:intercepts targets post_transform==NONE"},
    {0}};
const Op op_linearregressor = {
    "linearregressor",          "x coefficients intercepts?", "y", regressor_attrs, regressor_shape,
    .expand = expand_regressor, .onnx = onnx_regressor};

/* linearclassifier: for each row the label with the greatest score, and the scores, unchanged or as
   probabilities. */
static const char *classifier_shape(Call *c) {
    const char *why = labels_fit(c, LABELS);
    if (!why) why = scores_shape(c, 1, c->in[LABELS]->dim.v[0]);
    if (!why) c->out[0] = (Type){.dtype = DT_INT64, .dim = {1, {c->in[X]->dim.v[0]}}};
    return why;
}
static const char expand_classifier[] = SCORES("labels.0") EXPAND_CLASSIFIER;
static const OnnxMap onnx_classifier[] = {
    {"ai.onnx.ml", "LinearClassifier", 1, 0,
     "coefficients=list:coefficients intercepts=list:intercepts labels=list:classlabels_ints "
     "post=post_transform^ multi_class:ignore"},
    {0}};
const Op op_linearclassifier = {"linearclassifier",
                                "x coefficients intercepts? labels",
                                "y scores",
                                classifier_attrs,
                                classifier_shape,
                                .expand = expand_classifier,
                                .onnx = onnx_classifier};
