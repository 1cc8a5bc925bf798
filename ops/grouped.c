/* grouped: GroupQueryAttention and RotaryEmbedding of ONNX Runtime's domain com.microsoft, each
   defined as the graph that it was fused from. */
#include "ops/operator/op.h"

/* groupquery: attention whose keys and values are appended to a cache, with fewer heads of k and v
   (`groups`) than of q.

   q is [b, s, heads*n], k and v are [b, s, groups*n]; without k and v, q holds all three one after
   another. seqlens [b] is the number of places that the last query sees, minus 1. k and v are
   written into the past keys and values [b, groups, places, n], behind the places seen before;
   these are first enlarged to `total` places if they have fewer. Query i sees the places up to its
   own, or only the last `window` of them (-1: no limit). With `rotary`, q and k are first turned by
   the rows of cos and sin [places, n/2] for their place or for `positions`. */
enum { HEADS, GROUPS, SCALE, CAP, WINDOW, ROTARY, INTERLEAVED, TOTAL };
enum { Q, K, V, PAST_KEY, PAST_VALUE, SEQLENS, COS, SIN, POSITIONS, BIAS };
static const AttrDef attrs[] = {
    [HEADS] = {.name = "heads", .kind = A_INT, .draw = "4"},
    [GROUPS] = {.name = "groups", .kind = A_INT, .draw = "1 2 4"},
    [SCALE] = {"scale", A_REAL, "0", .draw = "0 1/3"}, /* 0: 1 / sqrt(n) */
    [CAP] = {"cap", A_REAL, "0", .draw = "0 2"},       /* 0: none */
    [WINDOW] = {"window", A_INT, "-1", .draw = "-1 2"},
    [ROTARY] = {"rotary", A_ENUM, "no", "no yes", .draw = "no yes"},
    [INTERLEAVED] = {"interleaved", A_ENUM, "no", "no yes", .draw = "no yes"},
    [TOTAL] = {.name = "total", .kind = A_INT},
    {0}};
static bool known_number(Call *c, int attr, int64_t least) {
    int64_t n;
    return is_const(c, intof(c, attr), &n) && n >= least;
}
static const char *shape_tables(Call *c, Dims q, Poly n) {
    if (!enum_value(c, ROTARY)) return NULL;
    if (rank_of(c, COS) != 2 || rank_of(c, SIN) != 2) return "rotation needs cosines and sines";
    const Dims cosine = c->in[COS]->dim, sine = c->in[SIN]->dim;
    need_eq(c, cosine.v[0], sine.v[0]), need_eq(c, cosine.v[1], sine.v[1]);
    need_ge(c, n, poly(c, "h + h", cosine.v[1]));
    need_ge(c, cosine.v[0], intof(c, TOTAL));
    if (!has(c, POSITIONS)) return NULL;
    if (rank_of(c, POSITIONS) != 2) return "the positions have the wrong rank";
    need_eq(c, c->in[POSITIONS]->dim.v[0], q.v[0]), need_eq(c, c->in[POSITIONS]->dim.v[1], q.v[1]);
    return NULL;
}
/* Checks q, k and v. *n becomes the size of a head. */
static const char *shape_parts(Call *c, Poly *n) {
    const Dims q = c->in[Q]->dim;
    const Poly h = intof(c, HEADS), g = intof(c, GROUPS);
    if (rank_of(c, Q) != 3) return "query, key and value must have three axes";
    if (has(c, K) != has(c, V)) return "keys need values";
    const Poly parts = has(c, K) ? h : poly(c, "h + g + g", h, g);
    *n = quot(c, q.v[2], parts);
    need_eq(c, q.v[2], poly(c, "p*n", parts, *n));
    for (int k = K; k <= V && has(c, k); k++) {
        const Dims d = c->in[k]->dim;
        if (d.n != 3) return "query, key and value must have three axes";
        need_eq(c, d.v[0], q.v[0]), need_eq(c, d.v[1], q.v[1]);
        need_eq(c, d.v[2], poly(c, "g*n", g, *n));
    }
    need_eq(c, h, poly(c, "g*r", g, quot(c, h, g)));
    return NULL;
}
static const char *shape_group(Call *c) {
    Poly n, places = intof(c, TOTAL);
    if (!is_float(c->in[Q])) return "not supported for these element types";
    if (!known_number(c, HEADS, 1) || !known_number(c, GROUPS, 1) || !known_number(c, WINDOW, -1))
        return "heads, groups and window must be known numbers";
    const char *why = shape_parts(c, &n);
    if (why) return why;
    const Dims q = c->in[Q]->dim;
    if (rank_of(c, SEQLENS) != 1 || c->in[SEQLENS]->dtype != DT_INT32)
        return "the lengths must be integers of 32 bits in one axis";
    need_eq(c, c->in[SEQLENS]->dim.v[0], q.v[0]);
    if (has(c, PAST_KEY) != has(c, PAST_VALUE)) return "past keys need past values";
    if (has(c, PAST_KEY)) {
        if (rank_of(c, PAST_KEY) != 4 || rank_of(c, PAST_VALUE) != 4)
            return "past keys and values need four axes";
        const Dims p = c->in[PAST_KEY]->dim;
        for (int k = 0; k < 4; k++) need_eq(c, c->in[PAST_VALUE]->dim.v[k], p.v[k]);
        need_eq(c, p.v[0], q.v[0]), need_eq(c, p.v[1], intof(c, GROUPS)), need_eq(c, p.v[3], n);
        places = poly(c, "t + p - m", places, p.v[2], least(c, places, p.v[2]));
    }
    need_ge(c, places, q.v[1]);
    if (has(c, BIAS)) {
        const Dims d = c->in[BIAS]->dim;
        if (d.n != 4) return "the bias of the scores needs four axes";
        need_eq(c, d.v[2], q.v[1]), need_eq(c, d.v[3], places);
    }
    for (int j = 0; j < c->nout; j++) c->out[j] = *c->in[Q];
    c->out[0].dim = dims_with(q, 2, poly(c, "h*n", intof(c, HEADS), n));
    c->out[1].dim = c->out[2].dim = (Dims){4, {q.v[0], intof(c, GROUPS), places, n}};
    return shape_tables(c, q, n);
}
/* Random data let every place be seen. */
static bool domain_group(Call *c, int input, Poly *low, Poly *high) {
    const Poly last = poly(c, "t - 1", intof(c, TOTAL));
    if (input == SEQLENS) return *low = last, *high = last, true;
    return input == POSITIONS && all_places(c, c->in[COS]->dim.v[0], low, high);
}
#define NUMBERS "floor(q.2/heads)"
#define PACKED_NUMBERS "floor(q.2/(heads + 2*groups))"
#define PARTS                                                                                    \
    "[k] %q3 = %q\n"                                                                             \
    "[k] %k3 = %k\n"                                                                             \
    "[k] %v3 = %v\n"                                                                             \
    "[!k] %q3 %k3 %v3 = split %q axis=2 sizes=[heads*" PACKED_NUMBERS ", groups*" PACKED_NUMBERS \
    ", groups*" PACKED_NUMBERS "]\n"
/* %place: the place of each query among the keys, [b, s]. */
#define PLACES                                       \
    "%first = range start=1 - q.1 n=1 dtype=I32\n"   \
    "%firsts = broadcast %first shape=[q.0]\n"       \
    "%before = add %seqlens %firsts\n"               \
    "%zero = fill value=0 shape=[q.0] dtype=I32\n"   \
    "%start = max %before %zero\n"                   \
    "%column = reshape %start shape=[q.0, 1]\n"      \
    "%starts = broadcast %column shape=[q.0, q.1]\n" \
    "%count = range n=q.1 dtype=I32\n"               \
    "%place = add %starts %count\n"
#define TURNED                                                                            \
    "[positions] %p = %positions\n"                                                       \
    "[!positions] %p = %place\n"                                                          \
    "[rotary=yes] %tq = rotaryat %q3 %cos %sin %p interleaved=interleaved heads=heads\n"  \
    "[rotary=yes] %tk = rotaryat %k3 %cos %sin %p interleaved=interleaved heads=groups\n" \
    "[rotary=no] %tq = %q3\n"                                                             \
    "[rotary=no] %tk = %k3\n"
#define BY_HEADS(x, y, heads)                                                         \
    "[k] %r" y " = reshape %" x " shape=[q.0, q.1, " heads ", " NUMBERS "]\n"         \
    "[!k] %r" y " = reshape %" x " shape=[q.0, q.1, " heads ", " PACKED_NUMBERS "]\n" \
    "%" y "4 = transpose %r" y " perm=[0, 2, 1, 3]\n"
/* The past keys or values, enlarged to `total` places, with the new ones written into them. */
#define PRESENT(past, now, y)                                                                    \
    "[" past "] %room" y " = pad %" past " pads=[0, 0, 0, 0, 0, 0, total - min(total, " past     \
    ".2), 0]\n"                                                                                  \
    "[!" past ", k] %room" y " = fill value=0 shape=[q.0, groups, total, " NUMBERS "] dtype=q\n" \
    "[!" past ", !k] %room" y " = fill value=0 shape=[q.0, groups, total, " PACKED_NUMBERS       \
    "] dtype=q\n"                                                                                \
    "%" y " = cachewrite %room" y " %" now " %start axis=2\n"
#define SEEN(when, t)                                                                       \
    "[" when "] %line = reshape %place shape=[q.0, 1, q.1, 1]\n"                            \
    "[" when "] %row = broadcast %line shape=[q.0, 1, q.1, " t "]\n"                        \
    "[" when "] %one = range n=" t " dtype=I32\n"                                           \
    "[" when "] %all = broadcast %one shape=[q.0, 1, q.1, " t "]\n"                         \
    "[" when "] %upto = lessequal %all %row\n"                                              \
    "[" when ", window=-1] %seen = %upto\n"                                                 \
    "[" when ", window!=-1] %w = range start=window n=1 dtype=I32\n"                        \
    "[" when ", window!=-1] %wide = broadcast %w shape=[q.0, 1, q.1, " t "]\n"              \
    "[" when ", window!=-1] %low = sub %row %wide\n"                                        \
    "[" when ", window!=-1] %near = less %low %all\n"                                       \
    "[" when ", window!=-1] %seen = and %upto %near\n"                                      \
    "[" when ", bias] %seen4 = broadcast %seen shape=[q.0, heads, q.1, " t "]\n"            \
    "[" when ", bias] %bias4 = broadcast %bias shape=[q.0, heads, q.1, " t "]\n"            \
    "[" when ", bias] %least = fill value=-3.4e38 shape=[q.0, heads, q.1, " t "] dtype=q\n" \
    "[" when ", bias] %mask = where %seen4 %bias4 %least\n"                                 \
    "[" when ", !bias] %mask = %seen\n"
static const char expand_group[] = PARTS PLACES TURNED BY_HEADS("tq", "q", "heads") BY_HEADS(
    "tk", "k", "groups") BY_HEADS("v3", "v", "groups") PRESENT("past_key", "k4",
                                                               "key") PRESENT("past_value", "v4",
                                                                              "value")
    SEEN("past_key", "total + past_key.2 - min(total, past_key.2)") SEEN(
        "!past_key",
        "total") "%y4 %same_key %same_value = attention %q4 %key %value %mask scale=scale cap=cap\n"
                 "%yt = transpose %y4 perm=[0, 2, 1, 3]\n"
                 "[k] %y = reshape %yt shape=[q.0, q.1, q.2]\n"
                 "[!k] %y = reshape %yt shape=[q.0, q.1, heads*" PACKED_NUMBERS "]\n"
                 "out %y %key %value\n";
static const OnnxMap onnx_group[] = {
    {"com.microsoft", "GroupQueryAttention", 1, 0,
     "heads=num_heads groups=kv_num_heads scale cap=softcap window=local_window_size "
     "rotary=do_rotary interleaved=rotary_interleaved total=input:6 smooth_softmax==0 "
     "qk_output==0 k_quant_type==NONE v_quant_type==NONE kv_cache_bit_width==0"},
    {0}};
const Op op_groupquery = {"groupquery",
                          "q k? v? past_key? past_value? seqlens cos? sin? positions? bias?",
                          "y present_key present_value",
                          attrs,
                          shape_group,
                          .expand = expand_group,
                          .domain = domain_group,
                          .onnx = onnx_group};

/* rotaryplaced: x [b, s, heads*e] or [b, heads, s, e] turned as rotaryat does, by the rows of cos
   and sin that positions [b, s] name. If positions is [1], it names the first row, and the
   following rows belong to the following places. */
enum { PLACED_INTERLEAVED, PLACED_HEADS };
enum { X, AT, PLACED_COS, PLACED_SIN };
static const AttrDef placed_attrs[] = {
    [PLACED_INTERLEAVED] = {"interleaved", A_ENUM, "no", "no yes", .draw = "no yes"},
    [PLACED_HEADS] = {"heads", A_INT, "0", .draw = "2"},
    {0}};
static const char *shape_placed(Call *c) {
    const Dims x = c->in[X]->dim, at = c->in[AT]->dim, cosine = c->in[PLACED_COS]->dim,
               sine = c->in[PLACED_SIN]->dim;
    int64_t heads;
    if ((x.n != 3 && x.n != 4) || cosine.n != 2 || sine.n != 2 || at.n < 1 || at.n > 2)
        return "the inputs have the wrong ranks";
    if (!is_float(c->in[X]) || !is_integer(c->in[AT]))
        return "not supported for these element types";
    need_eq(c, cosine.v[0], sine.v[0]), need_eq(c, cosine.v[1], sine.v[1]);
    const Poly s = x.v[x.n - 2];
    if (at.n == 2) need_eq(c, at.v[0], x.v[0]), need_eq(c, at.v[1], s);
    else need_eq(c, at.v[0], poly(c, "1"));
    Poly e = x.v[x.n - 1];
    if (x.n == 3) {
        if (!is_const(c, intof(c, PLACED_HEADS), &heads) || heads < 1)
            return "an input with three axes needs the number of heads";
        e = quot(c, x.v[2], intof(c, PLACED_HEADS));
        need_eq(c, x.v[2], poly(c, "n*e", intof(c, PLACED_HEADS), e));
    }
    need_ge(c, e, poly(c, "h + h", cosine.v[1]));
    need_ge(c, cosine.v[0], s);
    c->out[0] = *c->in[X];
    return NULL;
}
/* For a single position, the last row that is read must exist. */
static bool domain_placed(Call *c, int input, Poly *low, Poly *high) {
    const Dims x = c->in[X]->dim;
    const Poly rows = c->in[PLACED_COS]->dim.v[0];
    return input == AT &&
           all_places(c, c->in[AT]->dim.n == 2 ? rows : poly(c, "r - s + 1", rows, x.v[x.n - 2]),
                      low, high);
}
#define FOLLOWING(x, s)                                              \
    "[positions:1, " x "] %n = range n=" s " dtype=positions\n"      \
    "[positions:1, " x "] %f = broadcast %positions shape=[" s "]\n" \
    "[positions:1, " x "] %a = add %n %f\n"                          \
    "[positions:1, " x "] %p = broadcast %a shape=[x.0, " s "]\n"
static const char expand_placed[] = "[positions:2] %p = %positions\n" FOLLOWING("x:3", "x.1")
    FOLLOWING("x:4", "x.2") "%y = rotaryat %x %cos %sin %p interleaved=interleaved heads=heads\n"
                            "out %y\n";
/* heads:rotary: the attribute num_heads, or as many heads as the size of the cosines implies. */
static bool read_heads(Call *c, OnnxRead *r, int attr) {
    const Type *x = c->nin > PLACED_COS ? c->in[X] : NULL, *cosine = x ? c->in[PLACED_COS] : NULL;
    const int64_t stated = r->integer(r, "num_heads", 0),
                  turned = r->integer(r, "rotary_embedding_dim", 0);
    if (!cosine || cosine->dim.n != 2) return r->refuse(r, "the cosines have the wrong rank");
    if (turned > 0 && poly(c, "h + h", cosine->dim.v[1]) != poly_int(c->w, turned))
        return r->refuse(r, "rotary_embedding_dim does not match the sizes");
    if (x->dim.n == 4) return true;
    const Poly heads = turned > 0
                           ? poly_int(c->w, stated)
                           : quot(c, x->dim.v[x->dim.n - 1], poly(c, "h + h", cosine->dim.v[1]));
    return r->give(r, attr, 1, &heads), true;
}
static bool write_heads(Call *c, OnnxWrite *w, int attr) {
    int64_t heads, half;
    if (!is_const(c, intof(c, attr), &heads) || !is_const(c, c->in[PLACED_COS]->dim.v[1], &half))
        return w->refuse(w, "a size that is not a known number");
    const Dims x = c->in[X]->dim;
    if (x.n == 4 && poly_int(c->w, 2 * half) == x.v[3]) return true;
    return (x.n == 4 ? is_const(c, x.v[1], &heads) : true) && w->integer(w, "num_heads", heads) &&
           w->integer(w, "rotary_embedding_dim", 2 * half);
}
static const OnnxItem placed_items[] = {{"heads", "rotary", read_heads, write_heads}, {0}};
static const OnnxMap onnx_placed[] = {
    {"com.microsoft", "RotaryEmbedding", 1, 0,
     "interleaved heads:rotary scale:ignore is_packed_batching==0"},
    {0}};
const Op op_rotaryplaced = {"rotaryplaced",
                            "x positions cos sin",
                            "y",
                            placed_attrs,
                            shape_placed,
                            .expand = expand_placed,
                            .domain = domain_placed,
                            .onnx = onnx_placed,
                            .items = placed_items};
