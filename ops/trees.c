/* trees: ensembles of decision trees (L. Breiman, 2001; J. Friedman, 2001) of ai.onnx.ml. A row of
   x [n, f] goes from each root to a leaf, whose weights are added to the outputs. */
#include "ops/operator/op.h"
#include <math.h>

/* nodes [k, TREE_FIELDS] holds for each node a feature, a mode, the nodes to go to for yes and for
   no, and whether NaN means yes; for a leaf, yes and no are the range of its weights. leaves
   [weights] says to which output each weight is added. */
enum { X, ROOTS, NODES, VALUES, LEAVES, WEIGHTS, BASE, LABELS };

static const char *trees_fit(Call *c) {
    static const DType types[] = {DT_INT64, DT_INT64, DT_FLOAT, DT_INT64, DT_FLOAT};
    const char *why = matrix_of_numbers(c, X);
    if (why) return why;
    for (int k = ROOTS; k <= WEIGHTS; k++)
        if (c->in[k]->dtype != types[k - ROOTS] || rank_of(c, k) != 1 + (k == NODES))
            return "a list of the trees has the wrong element type or rank";
    need_eq(c, c->in[NODES]->dim.v[1], poly_int(c->w, TREE_FIELDS));
    need_eq(c, c->in[NODES]->dim.v[0], c->in[VALUES]->dim.v[0]);
    need_eq(c, c->in[LEAVES]->dim.v[0], c->in[WEIGHTS]->dim.v[0]);
    return NULL;
}

/* trees: the outputs, to which the numbers of base are added. */
enum { OUTPUTS, AVERAGE };
static const AttrDef attrs[] = {
    [OUTPUTS] = {.name = "outputs", .kind = A_INT, .init = "1"},
    [AVERAGE] = {.name = "average", .kind = A_ENUM, .init = "sum", .words = "sum average"},
    {0}};
static const char *shape(Call *c) {
    const char *why = trees_fit(c);
    if (why) return why;
    if (rank_of(c, BASE)) need_eq(c, c->in[BASE]->dim.v[0], intof(c, OUTPUTS));
    need_ge(c, intof(c, OUTPUTS), poly(c, "1"));
    c->out[0] = (Type){.dtype = DT_FLOAT, .dim = {2, {c->in[X]->dim.v[0], intof(c, OUTPUTS)}}};
    return NULL;
}
static int params(Call *c, int64_t param[]) {
    param[TREES_AVERAGE] = enum_value(c, AVERAGE);
    return 1;
}

static int64_t integer_at(const Step *s, void *const slot[], int input, int64_t i, int64_t j) {
    const View *v = &s->view[1 + input];
    return kernel_integer(v, slot, kernel_at(v, (const int64_t[]){i, j}));
}
static double real_at(const Step *s, void *const slot[], int input, int64_t i, int64_t j) {
    const View *v = &s->view[1 + input];
    return kernel_real(v, slot, kernel_at(v, (const int64_t[]){i, j}));
}
/* The leaf that a row reaches from a node; -1 if the lists do not form a tree or name a feature
   that x does not have. */
static int64_t leaf_of(const Step *s, void *const slot[], int64_t row, int64_t node) {
    const int64_t nodes = s->view[1 + NODES].dim[0], features = s->view[1 + X].dim[1];
    for (int64_t steps = 0; steps <= nodes; steps++) {
        if (node < 0 || node >= nodes) return -1;
        const int64_t mode = integer_at(s, slot, NODES, node, TREE_MODE);
        if (mode == TREE_LEAF) return node;
        const int64_t feature = integer_at(s, slot, NODES, node, TREE_FEATURE);
        if (feature < 0 || feature >= features) return -1;
        const double x = real_at(s, slot, X, row, feature);
        const bool yes = isnan(x) && integer_at(s, slot, NODES, node, TREE_MISSING) != 0;
        const bool to = yes || tree_holds(mode, x, real_at(s, slot, VALUES, node, 0));
        node = integer_at(s, slot, NODES, node, to ? TREE_YES : TREE_NO);
    }
    return -1;
}
/* Stores output k of a row in *y; returns false if the lists do not form a tree. */
static bool row_output(const Step *s, void *const slot[], int64_t row, int64_t k, double *y) {
    const int64_t roots = s->view[1 + ROOTS].dim[0], weights = s->view[1 + WEIGHTS].dim[0];
    double sum = 0;
    for (int64_t r = 0; r < roots; r++) {
        const int64_t leaf = leaf_of(s, slot, row, integer_at(s, slot, ROOTS, r, 0));
        if (leaf < 0) return false;
        const int64_t last = integer_at(s, slot, NODES, leaf, TREE_NO);
        for (int64_t w = integer_at(s, slot, NODES, leaf, TREE_YES); w < last; w++) {
            if (w < 0 || w >= weights) return false;
            if (integer_at(s, slot, LEAVES, w, 0) == k) sum += real_at(s, slot, WEIGHTS, w, 0);
        }
    }
    if (s->param[TREES_AVERAGE] && roots) sum /= (double)roots;
    const bool based = s->nview > 1 + BASE && s->view[1 + BASE].rank >= 0;
    *y = sum + (based ? real_at(s, slot, BASE, k, 0) : 0);
    return true;
}
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0];
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        double sum;
        if (!row_output(s, slot, i[0], i[1], &sum)) return -1;
        kernel_set_real(y, slot, kernel_at(y, i), sum);
    }
    return 0;
}
static const OnnxMap onnx[] = {
    {"ai.onnx.ml", "TreeEnsembleRegressor", 1, 0,
     "trees:regressor base=list:base_values outputs=n_targets average=aggregate_function^ "
     "post_transform==NONE"},
    {0}};
const Op op_trees = {"trees",
                     "x roots nodes values leaves weights base?",
                     "y",
                     attrs,
                     shape,
                     .kernel = kernel,
                     .params = params,
                     .onnx = onnx};

/* treeclassifier: for each row the label with the greatest output, and the outputs, unchanged or as
   probabilities. */
static const char *classifier_shape(Call *c) {
    const char *why = trees_fit(c);
    if (!why) why = labels_fit(c, LABELS);
    if (why) return why;
    const Poly n = c->in[X]->dim.v[0];
    c->out[0] = (Type){.dtype = DT_INT64, .dim = {1, {n}}};
    c->out[1] = (Type){.dtype = DT_FLOAT, .dim = {2, {n, c->in[LABELS]->dim.v[0]}}};
    return NULL;
}
#define TREES(outputs) \
    "%s = trees %x %roots %nodes %values %leaves %weights %base outputs=" outputs "\n"
static const char expand_classifier[] = TREES("labels.0") EXPAND_CLASSIFIER;
static const OnnxMap onnx_classifier[] = {
    {"ai.onnx.ml", "TreeEnsembleClassifier", 1, 0,
     "trees:classifier base=list:base_values labels=list:classlabels_int64s post=post_transform^"},
    {0}};
const Op op_treeclassifier = {"treeclassifier",
                              "x roots nodes values leaves weights base? labels",
                              "y scores",
                              classifier_attrs,
                              classifier_shape,
                              .expand = expand_classifier,
                              .onnx = onnx_classifier};

/* treebinary: a classifier of two classes, of which only the second has weights. If no weight is
   negative (`positive`), the output is a probability and means the second class above 1/2;
   otherwise above 0. */
static const AttrDef binary_attrs[] = {{"positive", A_ENUM, "no", "no yes", .draw = "no yes"},
                                       {"post", A_ENUM, "none", "none logistic", .draw = "none"},
                                       {0}};
static const char *binary_shape(Call *c) {
    const char *why = classifier_shape(c);
    if (!why) need_eq(c, c->in[LABELS]->dim.v[0], poly(c, "2"));
    return why;
}
static const char expand_binary[] =
    TREES("1") "[positive=yes] %h = fill value=1/2 shape=[] dtype=F\n"
               "[positive=no] %h = fill value=0 shape=[] dtype=F\n"
               "%r = reshape %s shape=[x.0]\n"
               "%g = greater %r %h\n"
               "%a = cast %g to=I64\n"
               "%y = gather %labels %a axis=0\n"
               "%one = fill value=1 shape=[x.0, 1] dtype=F\n"
               "[post=none,positive=yes] %t = sub %one %s\n"
               "[post=none,positive=no] %t = neg %s\n"
               "[post=logistic] %t = neg %s\n"
               "%b = concat %t %s axis=1\n"
               "[post=none] %z = %b\n"
               "[post=logistic] %z = sigmoid %b\n"
               "out %y %z\n";
static const OnnxMap onnx_binary[] = {
    {"ai.onnx.ml", "TreeEnsembleClassifier", 1, 0,
     "positive:binary base=list:base_values labels=list:classlabels_int64s post=post_transform^"},
    {0}};
const Op op_treebinary = {"treebinary",       "x roots nodes values leaves weights base? labels",
                          "y scores",         binary_attrs,
                          binary_shape,       .expand = expand_binary,
                          .onnx = onnx_binary};
