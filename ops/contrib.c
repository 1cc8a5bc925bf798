/* contrib: operators of ONNX Runtime's domain com.microsoft on real numbers, which its optimizer
   makes of several nodes and which saved results of it hold. Each is what it was made of. */
#include "ops/operator/op.h"

/* biasgelu, fastgelu: gelu, or its approximation by tanh, of a sum; b may lack leading axes of a.
 */
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
   over the last axis. Further results: as of layernorm, and the sum. */
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

/* multihead..: attention of q, k and v [b, places, heads * n] with as many heads each; bias holds
   what is added to q, k and v, one behind the other; padding [b, places] is 0 where a place of k is
   not seen; mask is added to the scores. Further results: keys and values by heads. */
enum { HEADS, HEAD_SCALE, CAUSAL };
enum { Q, K, V, BIAS, PADDING, MASK };
static const AttrDef multihead_attrs[] = {
    [HEADS] = {.name = "heads", .kind = A_INT, .draw = "1 2"},
    [HEAD_SCALE] = {"scale", A_REAL, "0", .draw = "0 1/3"}, /* 0: 1 / sqrt(n) */
    [CAUSAL] = {"causal", A_ENUM, "no", "no yes", .draw = "no yes"},
    {0}};
static bool has(Call *c, int input) { return input < c->nin && c->in[input]; }
static const char *shape_multihead(Call *c) {
    const Type *const *in = c->in;
    int64_t heads;
    for (int k = Q; k <= V; k++)
        if (in[k]->dim.n != 3) return "query, key and value must have three axes";
    if (!is_float(in[Q])) return "not supported for these element types";
    if (!is_const(c, intof(c, HEADS), &heads) || heads < 1) return "the heads must be a number";
    const Dims q = in[Q]->dim, k = in[K]->dim, v = in[V]->dim;
    const Poly h = intof(c, HEADS), d = quot(c, q.v[2], h), e = quot(c, v.v[2], h);
    need_eq(c, q.v[2], poly(c, "h*d", h, d)), need_eq(c, v.v[2], poly(c, "h*e", h, e));
    need_eq(c, k.v[2], q.v[2]), need_eq(c, k.v[1], v.v[1]);
    need_eq(c, k.v[0], q.v[0]), need_eq(c, v.v[0], q.v[0]);
    if (has(c, BIAS)) {
        if (in[BIAS]->dim.n != 1) return "the bias must have one axis";
        need_eq(c, in[BIAS]->dim.v[0], poly(c, "q + q + v", q.v[2], v.v[2]));
    }
    if (has(c, PADDING)) {
        if (in[PADDING]->dim.n != 2) return "only a padding mask of two axes is supported";
        need_eq(c, in[PADDING]->dim.v[0], q.v[0]), need_eq(c, in[PADDING]->dim.v[1], k.v[1]);
    }
    for (int j = 0; j < c->nout; j++) c->out[j] = *in[Q];
    c->out[0].dim.v[2] = v.v[2];
    for (int j = 1; j < c->nout; j++)
        c->out[j].dim = (Dims){4, {q.v[0], h, k.v[1], j == 1 ? d : e}};
    return NULL;
}
static const char *without(Call *c, int one, int other) {
    return has(c, one) || has(c, other) ? "an input is not supported beside the others"
                                        : shape_multihead(c);
}
static const char *shape_plain(Call *c) { return without(c, BIAS, PADDING); }
static const char *shape_biased(Call *c) { return without(c, PADDING, PADDING); }
static const char *shape_padded(Call *c) { return without(c, BIAS, MASK); }
static const char *shape_both(Call *c) { return without(c, MASK, MASK); }
#define ADD_BIAS                                        \
    "%bq %bk %bv = split %bias sizes=[q.2, k.2, v.2]\n" \
    "%cq = broadcast %bq shape=[q.0, q.1, q.2]\n"       \
    "%ck = broadcast %bk shape=[k.0, k.1, k.2]\n"       \
    "%cv = broadcast %bv shape=[v.0, v.1, v.2]\n"       \
    "%sq = add %q %cq\n"                                \
    "%sk = add %k %ck\n"                                \
    "%sv = add %v %cv\n"
#define PADDING_MASK               \
    "%seen = cast %padding to=B\n" \
    "%hide = reshape %seen shape=[padding.0, 1, 1, padding.1]\n"
#define ATTENTION(inputs)                                                                        \
    "%y %key %value = attention " inputs " heads=heads groups=heads scale=scale causal=causal\n" \
    "out %y %key %value\n"
static const char expand_plain[] = ATTENTION("%q %k %v %mask"),
                  expand_biased[] = ADD_BIAS ATTENTION("%sq %sk %sv %mask"),
                  expand_padded[] = PADDING_MASK ATTENTION("%q %k %v %hide"),
                  expand_both[] = ADD_BIAS PADDING_MASK ATTENTION("%sq %sk %sv %hide");
static const OnnxMap onnx_multihead[] = {
    {"com.microsoft", "MultiHeadAttention", 1, 0,
     "heads=num_heads scale causal=unidirectional mask_filter_value:ignore"},
    {0}};
#define MULTIHEAD(NAME, INPUTS, KIND)                    \
    const Op op_##NAME = {#NAME,                         \
                          INPUTS,                        \
                          "y present_key present_value", \
                          multihead_attrs,               \
                          shape_##KIND,                  \
                          .expand = expand_##KIND,       \
                          .onnx = onnx_multihead};
MULTIHEAD(multihead, "q k v bias? padding? mask?", plain)
MULTIHEAD(multiheadbias, "q k v bias padding? mask?", biased)
MULTIHEAD(multiheadpadded, "q k v bias? padding mask?", padded)
MULTIHEAD(multiheadboth, "q k v bias padding mask?", both)
