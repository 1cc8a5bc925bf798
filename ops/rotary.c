/* rotary: rotary position embedding (Su et al., 2021) of x [b, n, s, e]. The first 2*h numbers of
   each head form h pairs, which are turned by angles given as cosines and sines [b, s, h]. Pair k
   is (k, k + h) or, with `interleaved`, (2*k, 2*k + 1). The other numbers stay. */
#include "ops/operator/op.h"
enum { INTERLEAVED };
static const AttrDef attrs[] = {
    [INTERLEAVED] = {"interleaved", A_ENUM, "no", "no yes", .draw = "no yes"}, {0}};

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim, cosine = c->in[1]->dim, sine = c->in[2]->dim;
    if (x.n != 4 || cosine.n != 3 || sine.n != 3)
        return "rotary needs x [b, n, s, e], and cosines and sines [b, s, h]";
    for (int k = 0; k < 3; k++) need_eq(c, cosine.v[k], sine.v[k]);
    need_eq(c, x.v[0], cosine.v[0]);
    need_eq(c, x.v[2], cosine.v[1]);
    need_ge(c, x.v[3], poly(c, "h + h", cosine.v[2]));
    return same_type(c, "F");
}
static Ex turned(Call *c, Dims i, Poly pair, Poly one, Poly two, bool second) {
    Dims angle = {3, {i.v[0], i.v[2], pair}};
    Ex a = at(c, 0, dims_with(i, 3, one)), b = at(c, 0, dims_with(i, 3, two)),
       cosine = at(c, 1, angle), sine = at(c, 2, angle);
    return second ? add(c, mul(c, sine, a), mul(c, cosine, b))
                  : sub(c, mul(c, cosine, a), mul(c, sine, b));
}
static Ex define(Call *c, Dims i) {
    Poly h = c->in[1]->dim.v[2], e = i.v[3];
    Ex first, second;
    Cond is_second;
    if (enum_value(c, INTERLEAVED)) {
        Dims d = digits(
            c, e,
            (Dims){2, {quot(c, poly(c, "n + 1", c->in[0]->dim.v[3]), poly(c, "2")), poly(c, "2")}});
        first = turned(c, i, d.v[0], e, poly(c, "e + 1", e), false);
        second = turned(c, i, d.v[0], poly(c, "e - 1", e), e, true);
        is_second = when_ge(c, d.v[1], poly(c, "1"));
    } else {
        first = turned(c, i, e, e, poly(c, "e + h", e, h), false);
        second = turned(c, i, poly(c, "e - h", e, h), poly(c, "e - h", e, h), e, true);
        is_second = when_ge(c, e, h);
    }
    Cond stays = when_ge(c, e, poly(c, "h + h", h));
    return when(c, stays, at(c, 0, i), when(c, is_second, second, first));
}

/* The numbers from..from+n-1 of each head. */
static View numbers_of(View v, int64_t from, int64_t n) {
    v.offset += from * v.stride[3], v.dim[3] = n;
    return v;
}
/* The halves of the pairs, then what stays. */
static int write_steps(Call *c, const View in[], const View out[], StepBuf *b) {
    const int64_t h = in[1].dim[2], e = in[0].dim[3];
    View half[2][2]; /* of the result and of x */
    for (int j = 0; j < 2; j++)
        for (int k = 0; k < 2; k++) {
            View v = numbers_of(j ? in[0] : out[0], enum_value(c, INTERLEAVED) ? k : k * h, h);
            if (enum_value(c, INTERLEAVED)) v.stride[3] *= 2;
            half[j][k] = v;
        }
    View angle[2];
    for (int k = 0; k < 2; k++) {
        const View *v = &in[1 + k];
        angle[k] = *v, angle[k].rank = 4;
        for (int a = 0; a < 4; a++) angle[k].dim[a] = half[0][0].dim[a];
        angle[k].stride[0] = v->stride[0], angle[k].stride[1] = 0;
        angle[k].stride[2] = v->stride[1], angle[k].stride[3] = v->stride[2];
    }
    for (int k = 0; k < 2 && h > 0; k++) /* p*c - q*d, q*c + p*d */
        step_code(b,
                  step_add(b, S_EWISE, 5,
                           (const View[]){half[0][k], half[1][k], angle[0], half[1][!k], angle[1]}),
                  7,
                  (const Scalar[]){{.op = C_VIEW, .a = 1},
                                   {.op = C_VIEW, .a = 2},
                                   {.op = C_MUL, .a = 0, .b = 1},
                                   {.op = C_VIEW, .a = 3},
                                   {.op = C_VIEW, .a = 4},
                                   {.op = C_MUL, .a = 3, .b = 4},
                                   {.op = k ? C_ADD : C_SUB, .a = 2, .b = 5}});
    if (e > 2 * h) {
        const View y = numbers_of(out[0], 2 * h, e - 2 * h),
                   x = numbers_of(in[0], 2 * h, e - 2 * h);
        step_copy(b, &y, &x);
    }
    return 1;
}

/* dim:rotary: the attribute rotary_embedding_dim must be twice the last size of the cosines. */
static bool read_dim(Call *c, OnnxRead *r, int attr) {
    const Type *x = c->nin > 1 ? c->in[1] : NULL;
    (void)attr;
    if (!x || x->dim.n < 2 || x->dim.n > 3) return r->refuse(r, "the cosines have the wrong rank");
    int64_t stated = r->integer(r, "rotary_embedding_dim", 0);
    return stated <= 0 || poly(c, "h + h", x->dim.v[x->dim.n - 1]) == poly_int(c->w, stated) ||
           r->refuse(r, "rotary_embedding_dim does not match the sizes");
}
static bool write_dim(Call *c, OnnxWrite *w, int attr) {
    Dims x = c->in[0]->dim, cosine = c->in[1]->dim;
    Poly n = cosine.v[cosine.n - 1];
    int64_t h;
    (void)attr;
    if (x.n == 4 && poly(c, "h + h", n) == x.v[3]) return true;
    return is_const(c, n, &h) ? w->integer(w, "rotary_embedding_dim", 2 * h)
                              : w->refuse(w, "a size that is not a known number");
}
static const OnnxItem items[] = {{"dim", "rotary", read_dim, write_dim}, {0}};

static const OnnxMap onnx[] = {
    {"", "RotaryEmbedding", 23, 0, "interleaved num_heads:ignore dim:rotary"}, {0}};
const Op op_rotary = {"rotary",         "x cos sin",          "y",          attrs,         shape,
                      .define = define, .steps = write_steps, .onnx = onnx, .items = items};

/* rotaryat: the same for more forms of inputs. With `heads`, x may be [b, s, n*e]; with positions
   [b, s], the cosines and sines are tables [p, h] whose rows are taken at these positions. */
enum { AT_INTERLEAVED, AT_HEADS };
static const AttrDef at_attrs[] = {
    [AT_INTERLEAVED] = {"interleaved", A_ENUM, "no", "no yes", .draw = "no yes"},
    [AT_HEADS] = {"heads", A_INT, "0", .draw = "0"},
    {0}};
static const char *shape_at(Call *c) {
    Dims x = c->in[0]->dim, cosine = c->in[1]->dim, sine = c->in[2]->dim;
    bool placed = has(c, 3);
    Poly e = x.v[3];
    int64_t heads;
    if ((x.n != 4 && x.n != 3) || cosine.n != (placed ? 2 : 3) || sine.n != cosine.n)
        return "the inputs of rotary have the wrong ranks";
    for (int k = 0; k < cosine.n; k++) need_eq(c, cosine.v[k], sine.v[k]);
    if (x.n == 3) {
        if (!is_const(c, intof(c, AT_HEADS), &heads) || heads < 1)
            return "an input with three axes needs the attribute num_heads";
        e = quot(c, x.v[2], intof(c, AT_HEADS));
        need_eq(c, x.v[2], poly(c, "n*e", intof(c, AT_HEADS), e));
    }
    need_ge(c, e, poly(c, "h + h", cosine.v[cosine.n - 1]));
    c->out[0] = *c->in[0];
    return is_float(c->in[0]) ? NULL : "not supported for this element type";
}
static bool domain_at(Call *c, int input, Poly *low, Poly *high) {
    return input == 3 && all_places(c, c->in[1]->dim.v[0], low, high);
}
/* Lines that turn the first 2*h numbers of %r [A, B, C, e] by the angles %c and %d. */
#define TURNED(when, A, B, C, one, h, e)                                                          \
    "[" when "] %cr = reshape %c shape=[" one ", " h "]\n"                                        \
    "[" when "] %dr = reshape %d shape=[" one ", " h "]\n"                                        \
    "[" when "] %cb = broadcast %cr shape=[" A ", " B ", " C ", " h "]\n"                         \
    "[" when "] %db = broadcast %dr shape=[" A ", " B ", " C ", " h "]\n"                         \
    "[" when ", interleaved=no] %p %q %rest = split %r axis=3 sizes=[" h ", " h ", " e " - 2*" h  \
    "]\n"                                                                                         \
    "[" when ", interleaved=yes] %all %rest = split %r axis=3 sizes=[2*" h ", " e " - 2*" h "]\n" \
    "[" when ", interleaved=yes] %pairs = reshape %all shape=[" A ", " B ", " C ", " h ", 2]\n"   \
    "[" when ", interleaved=yes] %p5 %q5 = split %pairs axis=4 sizes=[1, 1]\n"                    \
    "[" when ", interleaved=yes] %p = reshape %p5 shape=[" A ", " B ", " C ", " h "]\n"           \
    "[" when ", interleaved=yes] %q = reshape %q5 shape=[" A ", " B ", " C ", " h "]\n"           \
    "[" when "] %pc = mul %p %cb\n"                                                               \
    "[" when "] %qd = mul %q %db\n"                                                               \
    "[" when "] %qc = mul %q %cb\n"                                                               \
    "[" when "] %pd = mul %p %db\n"                                                               \
    "[" when "] %f = sub %pc %qd\n"                                                               \
    "[" when "] %s = add %qc %pd\n"                                                               \
    "[" when ", interleaved=no] %z = concat %f %s %rest axis=3\n"                                 \
    "[" when ", interleaved=yes] %f5 = reshape %f shape=[" A ", " B ", " C ", " h ", 1]\n"        \
    "[" when ", interleaved=yes] %s5 = reshape %s shape=[" A ", " B ", " C ", " h ", 1]\n"        \
    "[" when ", interleaved=yes] %both = concat %f5 %s5 axis=4\n"                                 \
    "[" when ", interleaved=yes] %flat = reshape %both shape=[" A ", " B ", " C ", 2*" h "]\n"    \
    "[" when ", interleaved=yes] %z = concat %flat %rest axis=3\n"
#define EITHER_FORM(when, h)                                           \
    TURNED("x:4, " when, "x.0", "x.1", "x.2", "x.0, 1, x.2", h, "x.3") \
    TURNED("x:3, " when, "x.0", "x.1", "heads", "x.0, x.1, 1", h, "floor(x.2/heads)")
static const char expand_at[] =
    "[positions] %c = gather %cos %positions axis=0\n"
    "[positions] %d = gather %sin %positions axis=0\n"
    "[!positions] %c = %cos\n"
    "[!positions] %d = %sin\n"
    "[x:4] %r = %x\n"
    "[x:3] %r = reshape %x shape=[x.0, x.1, heads, floor(x.2/heads)]\n" EITHER_FORM("positions",
                                                                                    "cos.1")
        EITHER_FORM("!positions", "cos.2") "[x:4] %y = %z\n"
                                           "[x:3] %y = reshape %z shape=[x.0, x.1, x.2]\n"
                                           "out %y\n";
static const OnnxMap onnx_at[] = {
    {"", "RotaryEmbedding", 23, 0, "interleaved heads=0! dim:rotary"},
    {"", "RotaryEmbedding", 23, 0, "interleaved heads=num_heads dim:rotary"},
    {0}};
const Op op_rotaryat = {"rotaryat",
                        "x cos sin positions?",
                        "y",
                        at_attrs,
                        shape_at,
                        .expand = expand_at,
                        .domain = domain_at,
                        .onnx = onnx_at,
                        .items = items};
