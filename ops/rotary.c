/* rotary: rotary position embedding (Su et al., 2021). The first 2*h numbers of each head are h
   pairs turned by angles given as cosines and sines [b, s, h]; pair k is (k, k + h), or (2*k, 2*k +
   1) with `interleaved`; the others stay. x is [b, n, s, e]. */
#include "ops/operator/op.h"
enum { INTERLEAVED };
static const AttrDef attrs[] = {
    [INTERLEAVED] = {"interleaved", A_ENUM, "no", "no yes", .draw = "no yes"}, {0}};

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim, cosine = c->in[1]->dim, sine = c->in[2]->dim;
    if (x.n != 4 || cosine.n != 3 || sine.n != 3)
        return "rotary needs x [b, n, s, e], cosines and sines [b, s, h]";
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
    if (word(c, INTERLEAVED)) {
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

/* dim:rotary: how much of a head is turned is twice what the cosines are for. */
static bool read_dim(Call *c, OnnxRead *r, int attr) {
    const Type *x = c->nin > 1 ? c->in[1] : NULL;
    (void)attr;
    if (!x || x->dim.n < 2 || x->dim.n > 3) return r->refuse(r, "cosines of another rank");
    int64_t stated = r->integer(r, "rotary_embedding_dim", 0);
    return stated <= 0 || poly(c, "h + h", x->dim.v[x->dim.n - 1]) == poly_int(c->w, stated) ||
           r->refuse(r, "rotary_embedding_dim does not fit");
}
static bool write_dim(Call *c, OnnxWrite *w, int attr) {
    Dims x = c->in[0]->dim, cosine = c->in[1]->dim;
    Poly n = cosine.v[cosine.n - 1];
    int64_t h;
    (void)attr;
    if (x.n == 4 && poly(c, "h + h", n) == x.v[3]) return true;
    return is_const(c, n, &h) ? w->integer(w, "rotary_embedding_dim", 2 * h)
                              : w->refuse(w, "a size that is no number");
}
static const OnnxItem items[] = {{"dim", "rotary", read_dim, write_dim}, {0}};

static const OnnxMap onnx[] = {
    {"", "RotaryEmbedding", 23, 0, "interleaved num_heads:ignore dim:rotary"}, {0}};
const Op op_rotary = {"rotary", "x cos sin",      "y",          attrs,
                      shape,    .define = define, .onnx = onnx, .items = items};

/* rotaryat: likewise, known only: with `heads` x may be [b, s, n*e]; with positions [b, s] the
   cosines are a table [p, h] from which they are taken. */
enum { AT_INTERLEAVED, AT_HEADS };
static const AttrDef at_attrs[] = {
    [AT_INTERLEAVED] = {"interleaved", A_ENUM, "no", "no yes", .draw = "no yes"},
    [AT_HEADS] = {"heads", A_INT, "0", .draw = "0"},
    {0}};
static const char *shape_at(Call *c) {
    Dims x = c->in[0]->dim, cosine = c->in[1]->dim, sine = c->in[2]->dim;
    bool placed = c->nin > 3 && c->in[3];
    Poly e = x.v[3];
    int64_t heads;
    if ((x.n != 4 && x.n != 3) || cosine.n != (placed ? 2 : 3) || sine.n != cosine.n)
        return "rotary of other ranks";
    for (int k = 0; k < cosine.n; k++) need_eq(c, cosine.v[k], sine.v[k]);
    if (x.n == 3) {
        if (!is_const(c, intof(c, AT_HEADS), &heads) || heads < 1)
            return "three axes need the number of heads";
        e = quot(c, x.v[2], intof(c, AT_HEADS));
        need_eq(c, x.v[2], poly(c, "n*e", intof(c, AT_HEADS), e));
    }
    need_ge(c, e, poly(c, "h + h", cosine.v[cosine.n - 1]));
    c->out[0] = *c->in[0];
    return is_float(c->in[0]) ? NULL : "not for this element type";
}
static bool domain_at(Call *c, int input, Poly *low, Poly *high) {
    return input == 3 && all_places(c, c->in[1]->dim.v[0], low, high);
}
static int params_at(Call *c, int64_t *out, int room) {
    if (room < 2 || !is_const(c, intof(c, AT_HEADS), &out[1])) return -1;
    return out[0] = word(c, AT_INTERLEAVED), 2;
}
static double angle(const Step *s, void *const slot[], int input, int64_t b, int64_t place,
                    int64_t k) {
    const View *v = &s->view[1 + input], *at = &s->view[4];
    if (v->rank == 3) return kernel_real(v, slot, kernel_at(v, (int64_t[]){b, place, k}));
    int64_t row = kernel_integer(at, slot, kernel_at(at, (int64_t[]){b, place}));
    if (row < 0 || row >= v->dim[0]) return 0;
    return kernel_real(v, slot, kernel_at(v, (int64_t[]){row, k}));
}
static int kernel_places(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    int64_t i[STEP_RANK], h = s->view[2].dim[s->view[2].rank - 1], last = x->rank - 1,
                          n = x->rank == 3 ? s->param[2] : 1, e = x->dim[last] / n;
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        int64_t at = i[last], k = at % e, b = i[0], place = i[last - 1], to = kernel_at(y, i),
                other;
        if (k >= 2 * h) {
            kernel_move(y, slot, to, x, kernel_at(x, i));
            continue;
        }
        int64_t pair = s->param[1] ? k / 2 : k % h;
        bool second = s->param[1] ? k % 2 : k >= h;
        other = s->param[1] ? (second ? at - 1 : at + 1) : (second ? at - h : at + h);
        double one = kernel_real(x, slot, kernel_at(x, i)),
               cosine = angle(s, slot, 1, b, place, pair), sine = angle(s, slot, 2, b, place, pair);
        i[last] = other;
        double two = kernel_real(x, slot, kernel_at(x, i));
        i[last] = at;
        kernel_set_real(y, slot, to,
                        second ? sine * two + cosine * one : cosine * one - sine * two);
    }
    return 0;
}
static const OnnxMap onnx_at[] = {
    {"", "RotaryEmbedding", 23, 0, "interleaved heads=0! dim:rotary"},
    {"", "RotaryEmbedding", 23, 0, "interleaved heads=num_heads dim:rotary"},
    {0}};
const Op op_rotaryat = {"rotaryat",
                        "x cos sin positions?",
                        "y",
                        at_attrs,
                        shape_at,
                        .domain = domain_at,
                        .kernel = kernel_places,
                        .params = params_at,
                        .onnx = onnx_at,
                        .items = items};
