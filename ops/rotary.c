/* rotary: rotary position embedding (Su et al., 2021). The first 2*h numbers of each head are h pairs turned by angles
   given as cosines and sines [b, s, h]; pair k is (k, k + h), or (2*k, 2*k + 1) with `interleaved`; the others stay. x
   is [b, n, s, e]. */
#include "op.h"
enum { INTERLEAVED };
static const AttrDef attrs[] = {[INTERLEAVED] = {"interleaved", A_WORD, "no", "no yes", .draw = "no yes"}, {0}};

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim, cosine = c->in[1]->dim, sine = c->in[2]->dim;
    if (x.n != 4 || cosine.n != 3 || sine.n != 3) return "rotary needs x [b, n, s, e], cosines and sines [b, s, h]";
    for (int k = 0; k < 3; k++) need_eq(c, cosine.v[k], sine.v[k]);
    need_eq(c, x.v[0], cosine.v[0]);
    need_eq(c, x.v[2], cosine.v[1]);
    need_ge(c, x.v[3], poly(c, "h + h", cosine.v[2]));
    return same_type(c, "F");
}
static Ex turned(Call *c, Dims i, Poly pair, Poly one, Poly two, bool second) {
    Dims angle = {3, {i.v[0], i.v[2], pair}};
    Ex a = at(c, 0, dims_with(i, 3, one)), b = at(c, 0, dims_with(i, 3, two)), cosine = at(c, 1, angle), sine = at(c, 2, angle);
    return second ? add(c, mul(c, sine, a), mul(c, cosine, b)) : sub(c, mul(c, cosine, a), mul(c, sine, b));
}
static Ex define(Call *c, Dims i) {
    Poly h = c->in[1]->dim.v[2], e = i.v[3];
    Ex first, second;
    Cond is_second;
    if (word(c, INTERLEAVED)) {
        Dims d = digits(c, e, (Dims){2, {quot(c, poly(c, "n + 1", c->in[0]->dim.v[3]), poly(c, "2")), poly(c, "2")}});
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

static const OnnxMap onnx[] = {{"", "RotaryEmbedding", 23, 0, "interleaved num_heads:ignore dim:rotary"}, {0}};
const Op op_rotary = {"rotary", "x cos sin", "y", attrs, shape, .define = define, .onnx = onnx};
