/* contrib: operators on floats of ONNX Runtime's domain com.microsoft. ONNX Runtime's optimizer
   fuses several nodes into each of them, so models that it saved contain them. Each is defined as
   the graph that it was fused from. Attention is in heads.c. */
#include "ops/operator/op.h"

/* biasgelu, fastgelu: gelu(a + b), and its approximation by tanh. b may lack leading axes of a. */
static const char *shape_sum(Call *c) {
    const Dims a = c->in[0]->dim, b = c->in[1]->dim;
    for (int k = 1; k <= a.n && k <= b.n; k++) need_eq(c, a.v[a.n - k], b.v[b.n - k]);
    return a.n < b.n ? "the bias has more axes than x" : same_type(c, "F");
}
#define OF_SUM(function) "%s = add %a %b\n%y = " function " %s\nout %y\n"
static const char expand_biasgelu[] = OF_SUM("gelu"), expand_fastgelu[] = OF_SUM("gelutanh");
static const OnnxMap onnx_biasgelu[] = {{"com.microsoft", "BiasGelu", 1, 0, "pair:stretch"}, {0}},
                     onnx_fastgelu[] = {{"com.microsoft", "FastGelu", 1, 0, "pair:stretch"}, {0}};
const Op op_biasgelu = {
    "biasgelu", "a b", "y", .shape = shape_sum, .expand = expand_biasgelu, .onnx = onnx_biasgelu};
const Op op_fastgelu = {
    "fastgelu", "a b", "y", .shape = shape_sum, .expand = expand_fastgelu, .onnx = onnx_fastgelu};

/* skiplayernorm, skiplayernormbias, skiprmsnorm, skiprmsnormbias: x + skip (+ bias), normalized
   over the last axis by layernorm or rmsnorm. Further results: the mean, 1 / deviation and the
   sum. */
enum { X, SKIP, SCALE };
static const AttrDef skip_attrs[] = {
    {"epsilon", A_REAL, "1/1000000000000", .draw = "1/100000 1/1000"}, {0}};
static const char *shape_skip(Call *c) {
    const Dims x = c->in[X]->dim, skip = c->in[SKIP]->dim;
    const char *why = same_type(c, "F");
    if (why) return why;
    if (x.n != 3 || skip.n != 3) return "only three axes are supported";
    for (int k = 0; k < 3; k++) need_eq(c, x.v[k], skip.v[k]);
    for (int k = SCALE; k < c->nin; k++) {
        if (!c->in[k]) continue;
        if (c->in[k]->dim.n != 1) return "scale and bias must have one axis";
        need_eq(c, c->in[k]->dim.v[0], x.v[2]);
    }
    for (int k = 1; k < c->nout; k++) {
        c->out[k] = *c->in[X];
        if (k < 3) c->out[k].dim.v[2] = poly(c, "1");
    }
    return NULL;
}
#define SUM "%s = add %x %skip\n"
#define SUM_AND_BIAS                               \
    "%t = add %x %skip\n"                          \
    "%b = broadcast %bias shape=[x.0, x.1, x.2]\n" \
    "%s = add %t %b\n"
#define LAYERNORM                                                     \
    "%y %mean %factor = layernorm %s %scale %shift epsilon=epsilon\n" \
    "out %y %mean %factor %s\n"
#define RMSNORM                                          \
    "%y = rmsnorm %s %scale epsilon=epsilon\n"           \
    "%q = mul %s %s\n"                                   \
    "%m = reduce_mean %q axes=[2]\n"                     \
    "%e = fill value=epsilon shape=[x.0, x.1] dtype=x\n" \
    "%v = add %m %e\n"                                   \
    "%r = sqrt %v\n"                                     \
    "%f = reciprocal %r\n"                               \
    "%factor = reshape %f shape=[x.0, x.1, 1]\n"         \
    "%n = reduce_mean %s axes=[2]\n"                     \
    "%mean = reshape %n shape=[x.0, x.1, 1]\n"           \
    "out %y %mean %factor %s\n"
static const char expand_layernorm[] = SUM LAYERNORM,
                  expand_layernorm_bias[] = SUM_AND_BIAS LAYERNORM, expand_rmsnorm[] = SUM RMSNORM,
                  expand_rmsnorm_bias[] = SUM_AND_BIAS RMSNORM;
static const OnnxMap onnx_layernorm[] = {
    {"com.microsoft", "SkipLayerNormalization", 1, 0, "epsilon"}, {0}};
const Op op_skiplayernorm = {
    "skiplayernorm", "x skip scale shift?",      "y mean factor sum",   skip_attrs,
    shape_skip,      .expand = expand_layernorm, .onnx = onnx_layernorm};
const Op op_skiplayernormbias = {
    "skiplayernormbias", "x skip scale shift? bias",      "y mean factor sum",   skip_attrs,
    shape_skip,          .expand = expand_layernorm_bias, .onnx = onnx_layernorm};
static const OnnxMap onnx_rmsnorm[] = {
    {"com.microsoft", "SkipSimplifiedLayerNormalization", 1, 0, "epsilon"}, {0}};
const Op op_skiprmsnorm = {"skiprmsnorm", "x skip scale",           "y mean factor sum", skip_attrs,
                           shape_skip,    .expand = expand_rmsnorm, .onnx = onnx_rmsnorm};
const Op op_skiprmsnormbias = {
    "skiprmsnormbias", "x skip scale bias",           "y mean factor sum", skip_attrs,
    shape_skip,        .expand = expand_rmsnorm_bias, .onnx = onnx_rmsnorm};

/* embedlayernorm: the layernorm of a sum of embeddings: rows of the tables of words, of positions
   (those that position_ids names, or the first ones) and of segments. Further results: the number
   of 1s in each row of the mask, and the sum. */
enum { IDS, SEGMENTS, WORDS, POSITIONS, SEGMENT_ROWS, EMBED_SCALE, SHIFT, MASK, POSITION_IDS };
static const char *shape_embed(Call *c) {
    static const int ids[] = {SEGMENTS, MASK, POSITION_IDS},
                     rows[] = {WORDS, POSITIONS, SEGMENT_ROWS};
    const Dims i = c->in[IDS]->dim;
    const DType t = c->in[WORDS]->dtype;
    if (!is_float(c->in[WORDS]) || c->in[IDS]->dtype != DT_INT32)
        return "not supported for these element types";
    if (i.n != 2 || has(c, SEGMENTS) != has(c, SEGMENT_ROWS))
        return "the words do not have two axes, or segments and their table are not given together";
    for (int k = 0; k < 3; k++)
        if (has(c, ids[k])) {
            const Dims d = c->in[ids[k]]->dim;
            if (d.n != 2 || c->in[ids[k]]->dtype != DT_INT32)
                return "words, segments, positions and mask must be int32 with two axes";
            if (ids[k] != POSITION_IDS) need_eq(c, d.v[0], i.v[0]);
            need_eq(c, d.v[1], i.v[1]);
        }
    const Poly n = c->in[WORDS]->dim.v[1];
    for (int k = 0; k < 3; k++)
        if (has(c, rows[k])) {
            const Dims d = c->in[rows[k]]->dim;
            if (d.n != 2 || c->in[rows[k]]->dtype != t)
                return "the tables must be matrices of one element type";
            need_eq(c, d.v[1], n);
        }
    if (!has(c, POSITION_IDS)) need_ge(c, c->in[POSITIONS]->dim.v[0], i.v[1]);
    for (int k = EMBED_SCALE; k <= SHIFT; k++) {
        if (c->in[k]->dim.n != 1 || c->in[k]->dtype != t)
            return "scale and shift must have one axis and the tables' element type";
        need_eq(c, c->in[k]->dim.v[0], n);
    }
    c->out[0] = c->out[2] = (Type){.dtype = t, .dim = {3, {i.v[0], i.v[1], n}}};
    c->out[1] = (Type){.dtype = DT_INT32, .dim = {1, {i.v[0]}}};
    return NULL;
}
static bool domain_embed(Call *c, int input, Poly *low, Poly *high) {
    const int rows = input == IDS            ? WORDS
                     : input == SEGMENTS     ? SEGMENT_ROWS
                     : input == POSITION_IDS ? POSITIONS
                                             : -1;
    if (rows >= 0) return all_places(c, c->in[rows]->dim.v[0], low, high);
    return input == MASK && all_places(c, poly(c, "2"), low, high);
}
static const char expand_embed[] =
    "%w = gather %words %ids axis=0\n"
    "[position_ids] %i = broadcast %position_ids shape=[ids.0, ids.1]\n"
    "[position_ids] %p = gather %positions %i axis=0\n"
    "[!position_ids] %p = slice %positions starts=[0, 0] sizes=[ids.1, positions.1]\n"
    "%t = add %w %p\n"
    "[segments] %g = gather %segment_rows %segments axis=0\n"
    "[segments] %sum = add %t %g\n"
    "[!segments] %sum = %t\n"
    "[mask] %count = reduce_sum %mask axes=[1]\n"
    "[!mask] %count = fill value=0 shape=[ids.0] dtype=I32\n"
    "%y %mean %factor = layernorm %sum %scale %shift epsilon=epsilon\n"
    "out %y %count %sum\n";
static const OnnxMap onnx_embed[] = {
    {"com.microsoft", "EmbedLayerNormalization", 1, 0, "epsilon mask_index_type==1"},
    {"com.microsoft", "EmbedLayerNormalization", 1, 0, "epsilon +mask_index_type==0"},
    {0}};
const Op op_embedlayernorm = {
    "embedlayernorm",
    "ids segments? words positions segment_rows? scale shift mask? position_ids?",
    "y count sum",
    skip_attrs,
    shape_embed,
    .expand = expand_embed,
    .domain = domain_embed,
    .onnx = onnx_embed};
