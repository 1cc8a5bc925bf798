/* heads: the attention operators of ONNX Runtime's domain com.microsoft, into which its optimizer
   fuses several nodes. Each operator is defined as the graph that it was fused from; its masks
   become what `attention` takes, either booleans (true: the key is seen) or numbers to add.

   The expansions name their values alike: %q4, %k4 and %v4 have heads as an axis of their own,
   %past_key and %past_value are the past, %hide is the boolean mask, %seen4 the mask that
   `attention` gets. */
#include "ops/operator/op.h"

#define REFUSED "not supported for these element types"

/* ---- multihead: attention of q, k and v [b, places, heads * n], which have equally many heads; k
   and v may also be [b, heads, places, n]. bias holds what is added to q, k and v, one after
   another. padding is a mask of the places of k (0: not seen), or the number of places that are
   seen, [b]. `scores` is added to the scores of attention. Further results: keys and values by
   heads, with the past in front. */
enum { HEADS, HEAD_SCALE, CAUSAL };
enum { Q, K, V, BIAS, PADDING, SCORES, PAST_KEY, PAST_VALUE };
static const AttrDef multihead_attrs[] = {
    [HEADS] = {.name = "heads", .kind = A_INT, .draw = "1 2"},
    [HEAD_SCALE] = {"scale", A_REAL, "0", .draw = "0 1/3"}, /* 0: 1 / sqrt(n) */
    [CAUSAL] = {"causal", A_ENUM, "no", "no yes", .draw = "no yes"},
    {0}};
/* The sizes [b, heads, places, n] of q, k or v. */
static Dims by_heads(Call *c, int input) {
    const Dims d = c->in[input]->dim;
    if (d.n == 4) return d;
    const Poly h = intof(c, HEADS), n = quot(c, d.v[2], h);
    need_eq(c, d.v[2], poly(c, "h*n", h, n));
    return (Dims){4, {d.v[0], h, d.v[1], n}};
}
static void equal_sizes(Call *c, Dims a, Dims b, const char *axes) {
    for (; *axes; axes++) need_eq(c, a.v[*axes - '0'], b.v[*axes - '0']);
}
/* NULL if a mask fits: [b] (how many places are seen), [b, places] or [b, queries, places]; else
   why it does not. */
static const char *mask_fits(Call *c, int input, Poly batch, Poly queries, Poly places) {
    if (!has(c, input)) return NULL;
    const Dims d = c->in[input]->dim;
    if (d.n < 1 || d.n > 3 || !is_integer(c->in[input]))
        return "the mask must be integers with one to three axes";
    need_eq(c, d.v[0], batch);
    if (d.n > 1) need_eq(c, d.v[d.n - 1], places);
    if (d.n == 3) need_eq(c, d.v[1], queries);
    return NULL;
}
static const char *masks_fit(Call *c, Dims q, Poly total) {
    const char *why = mask_fits(c, PADDING, q.v[0], q.v[2], total);
    if (why || !has(c, SCORES)) return why;
    if (rank_of(c, SCORES) > 4 || c->in[SCORES]->dtype != c->in[Q]->dtype)
        return "the bias of the scores has more than four axes, or another element type than q";
    return rank_of(c, SCORES) != 4 && has(c, PADDING)
               ? "a bias of the scores without four axes is not supported together with a mask"
               : NULL;
}
static const char *shape_multihead(Call *c) {
    int64_t heads;
    if (rank_of(c, Q) != 3 || rank_of(c, K) < 3 || rank_of(c, K) > 4 ||
        rank_of(c, V) != rank_of(c, K))
        return "the query needs three axes, key and value three or four, both the same number";
    if (!is_float(c->in[Q])) return REFUSED;
    if (!is_const(c, intof(c, HEADS), &heads) || heads < 1)
        return "the number of heads is not a known number";
    const Dims q = by_heads(c, Q), k = by_heads(c, K), v = by_heads(c, V);
    Poly total = k.v[2];
    equal_sizes(c, q, k, "013"), equal_sizes(c, k, v, "012");
    if (has(c, BIAS)) {
        if (rank_of(c, BIAS) != 1 || rank_of(c, K) != 3)
            return "a bias must have one axis, and the key three";
        need_eq(c, c->in[BIAS]->dim.v[0],
                poly(c, "h*d + h*d + h*e", intof(c, HEADS), q.v[3], v.v[3]));
    }
    if (has(c, PAST_KEY) != has(c, PAST_VALUE)) return "past keys need past values";
    if (has(c, PAST_KEY)) {
        if (rank_of(c, PAST_KEY) != 4 || rank_of(c, PAST_VALUE) != 4)
            return "past keys and values need four axes";
        equal_sizes(c, c->in[PAST_KEY]->dim, k, "013");
        equal_sizes(c, c->in[PAST_VALUE]->dim, v, "013");
        need_eq(c, c->in[PAST_KEY]->dim.v[2], c->in[PAST_VALUE]->dim.v[2]);
        total = poly(c, "p + t", c->in[PAST_KEY]->dim.v[2], total);
    }
    for (int j = 0; j < c->nout; j++) c->out[j] = *c->in[Q];
    c->out[0].dim = (Dims){3, {q.v[0], q.v[2], poly(c, "h*e", intof(c, HEADS), v.v[3])}};
    c->out[1].dim = dims_with(k, 2, total), c->out[2].dim = dims_with(v, 2, total);
    return masks_fit(c, q, total);
}
#define BY_HEADS(x, y, d)                                                        \
    "%r" y " = reshape %" x " shape=[q.0, " y ".1, heads, floor(" d "/heads)]\n" \
    "%" y "4 = transpose %r" y " perm=[0, 2, 1, 3]\n"
#define ADD_BIAS                                               \
    "[bias] %bq %bk %bv = split %bias sizes=[q.2, k.2, v.2]\n" \
    "[bias] %sq = add %q %bq\n"                                \
    "[bias] %sk = add %k %bk\n"                                \
    "[bias] %sv = add %v %bv\n"                                \
    "[!bias] %sq = %q\n"                                       \
    "[!bias] %sk = %k\n"                                       \
    "[!bias] %sv = %v\n"
/* Lines, under the condition `when`, that compute %hide [b, 1, s or 1, t] from a mask, for t
   places. */
#define HIDE(when, mask, b, s, t)                                          \
    "[" when mask ":1] %far = range n=" t " dtype=I32\n"                   \
    "[" when mask ":1] %far2 = broadcast %far shape=[" b ", " t "]\n"      \
    "[" when mask ":1] %end = reshape %" mask " shape=[" b ", 1]\n"        \
    "[" when mask ":1] %end2 = broadcast %end shape=[" b ", " t "]\n"      \
    "[" when mask ":1] %seen = less %far2 %end2\n"                         \
    "[" when mask ":1] %hide = reshape %seen shape=[" b ", 1, 1, " t "]\n" \
    "[" when mask ":2] %seen = cast %" mask " to=B\n"                      \
    "[" when mask ":2] %hide = reshape %seen shape=[" b ", 1, 1, " t "]\n" \
    "[" when mask ":3] %seen = cast %" mask " to=B\n"                      \
    "[" when mask ":3] %hide = reshape %seen shape=[" b ", 1, " s ", " t "]\n"
/* Lines that join %hide and the bias `scores` into %seen4: the least float stands where a place is
   not seen. */
#define JOIN(when, mask, b, s, t, type)                                                         \
    "[" when mask ", scores] %wide = broadcast %hide shape=[" b ", heads, " s ", " t "]\n"      \
    "[" when mask ", scores] %numbers = broadcast %scores shape=[" b ", heads, " s ", " t "]\n" \
    "[" when mask ", scores] %low = fill value=-3.4e38 shape=[" b ", heads, " s ", " t          \
    "] dtype=" type "\n"                                                                        \
    "[" when mask ", scores] %seen4 = where %wide %numbers %low\n"                              \
    "[" when mask ", !scores] %seen4 = %hide\n"
static const char expand_multihead[] = ADD_BIAS BY_HEADS(
    "sq", "q",
    "q.2") "[k:3] %rk = reshape %sk shape=[k.0, k.1, heads, floor(k.2/heads)]\n"
           "[k:3] %k4 = transpose %rk perm=[0, 2, 1, 3]\n"
           "[k:4] %k4 = %k\n"
           "[v:3] %rv = reshape %sv shape=[v.0, v.1, heads, floor(v.2/heads)]\n"
           "[v:3] %v4 = transpose %rv perm=[0, 2, 1, 3]\n"
           "[v:4] %v4 = %v\n" HIDE("k:3, past_key, ", "padding", "q.0", "q.1", "k.1 + past_key.2")
               JOIN("k:3, past_key, ", "padding", "q.0", "q.1", "k.1 + past_key.2", "q")
                   HIDE("k:3, !past_key, ", "padding", "q.0", "q.1", "k.1")
                       JOIN("k:3, !past_key, ", "padding", "q.0", "q.1", "k.1", "q")
                           HIDE("k:4, ", "padding", "q.0", "q.1", "k.2")
                               JOIN("k:4, ", "padding", "q.0", "q.1", "k.2",
                                    "q") "[!padding] %seen4 = %scores\n"
                                         "%y4 %key %value = attention %q4 %k4 %v4 %seen4 %past_key "
                                         "%past_value scale=scale "
                                         "causal=causal\n"
                                         "%yt = transpose %y4 perm=[0, 2, 1, 3]\n"
                                         "[v:3] %y = reshape %yt shape=[q.0, q.1, v.2]\n"
                                         "[v:4] %y = reshape %yt shape=[q.0, q.1, heads*v.3]\n"
                                         "out %y %key %value\n";
static const OnnxMap onnx_multihead[] = {
    {"com.microsoft", "MultiHeadAttention", 1, 0,
     "heads=num_heads scale causal=unidirectional mask_filter_value:ignore"},
    {0}};
const Op op_multihead = {"multihead",
                         "q k v bias? padding? scores? past_key? past_value?",
                         "y present_key present_value",
                         multihead_attrs,
                         shape_multihead,
                         .expand = expand_multihead,
                         .onnx = onnx_multihead};

/* ---- jointattention, jointattentionpast: x [b, s, n] times weights [n, q + k + v] plus a bias
   gives q, k and v, which have equally many heads; then attention. The mask is that of multihead.
   past and present are [2, b, heads, places, n], first the keys, then the values. quantattention,
   quantattentionpast: the same with x and weights of 8-bit integers; x has one scale and zero
   point, the weights have one or one for each column. */
enum { SIZES = CAUSAL + 1 };
enum { X, WEIGHTS, JOINT_BIAS, MASK, PAST, JOINT_SCORES };
enum { X_SCALE = 3, W_SCALE, Q_MASK, X_ZERO, W_ZERO, Q_PAST, Q_SCORES };
static const AttrDef joint_attrs[] = {
    [HEADS] = {.name = "heads", .kind = A_INT, .draw = "1 2"},
    [HEAD_SCALE] = {"scale", A_REAL, "0", .draw = "0 1/3"},
    [CAUSAL] = {"causal", A_ENUM, "no", "no yes", .draw = "no yes"},
    [SIZES] = {.name = "sizes", .kind = A_INTS},
    {0}};
static const char *shape_joint(Call *c, int mask, int past, int scores) {
    const Dims x = c->in[X]->dim, w = c->in[WEIGHTS]->dim;
    const PolyList n = ints(c, SIZES);
    int64_t heads;
    if (x.n != 3 || w.n != 2 || n.n != 3)
        return "x needs three axes, the weights two, and sizes three numbers";
    if (!is_const(c, intof(c, HEADS), &heads) || heads < 1)
        return "the number of heads is not a known number";
    const Poly h = intof(c, HEADS), d = quot(c, n.v[0], h), e = quot(c, n.v[2], h);
    Poly total = x.v[1];
    need_eq(c, x.v[2], w.v[0]), need_eq(c, w.v[1], poly(c, "q + k + v", n.v[0], n.v[1], n.v[2]));
    need_eq(c, n.v[0], n.v[1]);
    need_eq(c, n.v[0], poly(c, "h*d", h, d)), need_eq(c, n.v[2], poly(c, "h*e", h, e));
    if (has(c, JOINT_BIAS)) {
        if (rank_of(c, JOINT_BIAS) != 1) return "the bias must have one axis";
        need_eq(c, c->in[JOINT_BIAS]->dim.v[0], w.v[1]);
    }
    if (c->nout > 1) need_eq(c, n.v[0], n.v[2]);
    if (has(c, past)) {
        const Dims p = c->in[past]->dim;
        if (p.n != 5 || c->nout < 2) return "past keys and values have five axes";
        need_eq(c, p.v[0], poly(c, "2")), need_eq(c, p.v[1], x.v[0]), need_eq(c, p.v[2], h);
        need_eq(c, p.v[4], d);
        total = poly(c, "p + t", p.v[3], total);
    }
    const char *why = mask_fits(c, mask, x.v[0], x.v[1], total);
    if (why) return why;
    if (has(c, scores) && (rank_of(c, scores) != 4 || c->in[scores]->dtype != c->in[X]->dtype))
        return "the bias of the scores needs four axes and x's element type";
    c->out[0] = (Type) {
        .dtype = is_float(c->in[X]) ? c->in[X]->dtype : DT_FLOAT, .dim = {
            3,
            {x.v[0], x.v[1], n.v[2]}
        }
    };
    if (c->nout > 1)
        c->out[1] =
            (Type){.dtype = c->out[0].dtype, .dim = {5, {poly(c, "2"), x.v[0], h, total, d}}};
    return NULL;
}
static const char *shape_real(Call *c) {
    if (!is_float(c->in[X]) || c->in[WEIGHTS]->dtype != c->in[X]->dtype) return REFUSED;
    return shape_joint(c, MASK, PAST, JOINT_SCORES);
}
static const char *shape_quantized(Call *c) {
    static const int single[] = {X_SCALE, X_ZERO};
    if (!is_byte(c->in[X]) || !is_byte(c->in[WEIGHTS])) return REFUSED;
    for (int k = 0; k < 2; k++)
        if (has(c, single[k]) && !dims_single(c, c->in[single[k]]->dim))
            return "scale and zero point of x must be single numbers";
    const char *why = per_axis_fits(c, W_SCALE, c->in[WEIGHTS]->dim.v[1]);
    if (!why) why = per_axis_fits(c, W_ZERO, c->in[WEIGHTS]->dim.v[1]);
    return why ? why : shape_joint(c, Q_MASK, Q_PAST, Q_SCORES);
}
#define PRODUCT                  \
    "%m = matmul %x %w\n"        \
    "[bias] %p = add %m %bias\n" \
    "[!bias] %p = %m\n"
#define QUANTIZED_PRODUCT                        \
    "%i = matmulinteger %x %w %x_zero %w_zero\n" \
    "%f = cast %i to=F\n"                        \
    "%c = broadcast %w_scale shape=[w.1]\n"      \
    "%e = broadcast %x_scale shape=[w.1]\n"      \
    "%g = mul %c %e\n"                           \
    "%m = mul %f %g\n"                           \
    "%p = add %m %bias\n"
#define PART(y)                                                                \
    "%r" y " = reshape %" y " shape=[x.0, x.1, heads, floor(w.1/(3*heads))]\n" \
    "%" y "4 = transpose %r" y " perm=[0, 2, 1, 3]\n"
/* Without a past, `attention` itself splits the heads, so that q and k may have another size than
   v. */
#define ALONE                                                                                      \
    "%q %k %v = split %p axis=2 sizes=sizes\n" HIDE("", "mask", "x.0", "x.1", "x.1") JOIN(         \
        "", "mask", "x.0", "x.1", "x.1",                                                           \
        "x") "[!mask] %seen4 = %scores\n"                                                          \
             "%y = attention %q %k %v %seen4 heads=heads groups=heads scale=scale causal=causal\n" \
             "out %y\n"
#define WITH_PAST                                                                                  \
    "%q %k %v = split %p axis=2 sizes=sizes\n" PART("q") PART("k")                                 \
        PART("v") "[past] %a %b = split %past axis=0 sizes=[1, 1]\n"                               \
                  "[past] %past_key = reshape %a shape=[past.1, past.2, past.3, past.4]\n"         \
                  "[past] %past_value = reshape %b shape=[past.1, past.2, past.3, past.4]\n" HIDE( \
                      "past, ", "mask", "x.0", "x.1", "x.1 + past.3")                              \
                      JOIN("past, ", "mask", "x.0", "x.1", "x.1 + past.3", "x")                    \
                          HIDE("!past, ", "mask", "x.0", "x.1", "x.1")                             \
                              JOIN("!past, ", "mask", "x.0", "x.1", "x.1",                         \
                                   "x") "[!mask] %seen4 = %scores\n"                               \
                                        "[past] %y4 %key %value = attention %q4 %k4 %v4 %seen4 "   \
                                        "%past_key %past_value scale=scale "                       \
                                        "causal=causal\n"                                          \
                                        "[!past] %y4 %key %value = attention %q4 %k4 %v4 %seen4 "  \
                                        "scale=scale causal=causal\n"                              \
                                        "%yt = transpose %y4 perm=[0, 2, 1, 3]\n"                  \
                                        "%y = reshape %yt shape=[x.0, x.1, floor(w.1/3)]\n"        \
                                        "[past] %k5 = reshape %key shape=[1, x.0, heads, x.1 + "   \
                                        "past.3, past.4]\n"                                        \
                                        "[past] %v5 = reshape %value shape=[1, x.0, heads, x.1 + " \
                                        "past.3, past.4]\n"                                        \
                                        "[!past] %k5 = reshape %key shape=[1, x.0, heads, x.1, "   \
                                        "floor(w.1/(3*heads))]\n"                                  \
                                        "[!past] %v5 = reshape %value shape=[1, x.0, heads, x.1, " \
                                        "floor(w.1/(3*heads))]\n"                                  \
                                        "%present = concat %k5 %v5 axis=0\n"                       \
                                        "out %y %present\n"
static const char expand_joint[] = PRODUCT ALONE, expand_joint_past[] = PRODUCT WITH_PAST;

/* sizes:thirds: the attribute qkv_hidden_sizes or, without it, three equal parts of the weights. */
static bool read_sizes(Call *c, OnnxRead *r, int attr) {
    const Type *w = c->nin > WEIGHTS ? c->in[WEIGHTS] : NULL;
    PolyList list;
    if (r->list(r, "qkv_hidden_sizes", -1, &list) && list.n)
        return r->give(r, attr, list.n, list.v), true;
    if (!w || w->dim.n != 2) return r->refuse(r, "the weights are not a matrix");
    const Poly third = quot(c, w->dim.v[1], poly(c, "3"));
    return r->give(r, attr, 3, (const Poly[]){third, third, third}), true;
}
static bool write_sizes(Call *c, OnnxWrite *w, int attr) {
    const PolyList n = ints(c, attr);
    return (n.v[0] == n.v[1] && n.v[0] == n.v[2]) || w->list(w, "qkv_hidden_sizes", n);
}
static const OnnxItem joint_items[] = {{"sizes", "thirds", read_sizes, write_sizes}, {0}};
#define JOINT                                                                            \
    "heads=num_heads scale causal=unidirectional sizes:thirds mask_filter_value:ignore " \
    "do_rotary==0 past_present_share_buffer==0 rotary_embedding_dim:ignore"
static const OnnxMap onnx_joint[] = {{"com.microsoft", "Attention", 1, 0, JOINT}, {0}};
const Op op_jointattention = {"jointattention",
                              "x w bias? mask? past? scores?",
                              "y",
                              joint_attrs,
                              shape_real,
                              .expand = expand_joint,
                              .onnx = onnx_joint,
                              .items = joint_items};
const Op op_jointattentionpast = {"jointattentionpast", "x w bias? mask? past? scores?",
                                  "y present",          joint_attrs,
                                  shape_real,           .expand = expand_joint_past,
                                  .onnx = onnx_joint,   .items = joint_items};
static const char expand_quant[] = QUANTIZED_PRODUCT ALONE,
                  expand_quant_past[] = QUANTIZED_PRODUCT WITH_PAST;
static const OnnxMap onnx_quant[] = {{"com.microsoft", "QAttention", 1, 0, JOINT}, {0}};
#define QUANTIZED "x w bias x_scale w_scale mask? x_zero? w_zero? past? scores?"
const Op op_quantattention = {"quantattention",   QUANTIZED,           "y",
                              joint_attrs,        shape_quantized,     .expand = expand_quant,
                              .onnx = onnx_quant, .items = joint_items};
const Op op_quantattentionpast = {"quantattentionpast", QUANTIZED,
                                  "y present",          joint_attrs,
                                  shape_quantized,      .expand = expand_quant_past,
                                  .onnx = onnx_quant,   .items = joint_items};
