/* fourier: discrete Fourier transforms. A last axis of size 2 holds the real and the imaginary part
   of a number, one of size 1 a real number.

   dft transforms x along an axis, which is first cut or filled with zeros to `length`. With
   `onesided` only the first half of the spectrum is stored: of the result, or with `inverse` of the
   input, and then the result is real. stft transforms frames of x [b, l, 1 or 2] or [b, l], each
   multiplied by the window w; frame f begins at place f * hop and is as long as w or, without w,
   `length`. */
#include "ops/operator/op.h"
#include <math.h>

#define TURN 6.283185307179586 /* 2 pi */

/* ---- What dft and stft share. */

static Poly first_half(Call *c, Poly n) { return poly(c, "h + 1", quot(c, n, poly(c, "2"))); }
static bool are_parts(Call *c, Poly n, int64_t *parts) {
    return is_const(c, n, parts) && *parts >= 1 && *parts <= 2;
}

typedef struct Complex {
    Ex re, im; /* im is 0 if the number is real */
} Complex;
/* The number of input 0 at an index. `last` is the axis of its two parts; last < 0: the input is
   real and has no such axis. */
static Complex number_at(Call *c, Dims i, int last) {
    if (last < 0) return (Complex){.re = at(c, 0, i)};
    int64_t parts;
    Complex x = {.re = at(c, 0, dims_with(i, last, poly(c, "0")))};
    if (is_const(c, c->in[0]->dim.v[last], &parts) && parts == 2)
        x.im = at(c, 0, dims_with(i, last, poly(c, "1")));
    return x;
}
/* The sum over k in 0..n-1, where condition `there` holds, of x * exp(-i * 2 pi * k * place / n),
   or with the other sign of the exponent if `backwards`. */
typedef struct Transform {
    Dims k;
    Poly n, place;
    Cond there;
    Complex x;
    bool backwards;
} Transform;
static Ex sum_part(Call *c, const Transform *t, bool imaginary) {
    const Ex turn = num(c, 7074237752028440, (int64_t)1 << 50); /* TURN */
    const Ex turns = divide(c, size(c, poly(c, "k*i", t->k.v[0], t->place)), size(c, t->n));
    const Ex angle = mul(c, turn, turns), cosine = fn(c, FN_COS, angle);
    const Ex sine = fn(c, FN_SIN, angle), im = t->backwards ? sine : mul(c, num(c, -1, 1), sine);
    Ex y = mul(c, t->x.re, imaginary ? im : cosine);
    if (t->x.im && imaginary) y = add(c, y, mul(c, t->x.im, cosine));
    if (t->x.im && !imaginary) y = sub(c, y, mul(c, t->x.im, im));
    return sum(c, t->k, t->there, y);
}
/* The real part of a transform where `part` is 0, else the imaginary part. */
static Ex transformed(Call *c, const Transform *t, Poly part) {
    return when(c, when_eq(c, part, poly(c, "0")), sum_part(c, t, false), sum_part(c, t, true));
}

/* ---- dft */

enum { AXIS, LENGTH, INVERSE, ONESIDED };
static const AttrDef dft_attrs[] = {
    [AXIS] = {"axis", A_INT, "1", .axes = true, .draw = "0 1 -2"},
    [LENGTH] = {"length", A_INT, "0", .draw = "0 3 5"}, /* 0: all of the signal */
    [INVERSE] = {"inverse", A_ENUM, "no", "no yes", .draw = "no yes"},
    [ONESIDED] = {"onesided", A_ENUM, "no", "no yes", .draw = "no yes"},
    {0},
};

/* The number of places that are transformed. */
static Poly places_of(Call *c) {
    const Poly length = intof(c, LENGTH);
    const Dims x = c->in[0]->dim;
    const Poly n = x.v[axis(c, AXIS, x.n)];
    int64_t given;
    if (!is_const(c, length, &given) || given > 0) return length;
    return enum_value(c, INVERSE) && enum_value(c, ONESIDED) ? poly(c, "n + n - 2", n) : n;
}
static const char *shape_dft(Call *c) {
    Dims x = c->in[0]->dim;
    int a = axis(c, AXIS, x.n);
    int64_t parts;
    const char *why = same_type(c, "F");
    if (x.n < 2 || a < 0 || a == x.n - 1 || !are_parts(c, x.v[x.n - 1], &parts))
        return "dft needs an axis before the last one, and a last axis of size 1 or 2";
    const bool inverse = enum_value(c, INVERSE), half = enum_value(c, ONESIDED);
    const Poly n = places_of(c);
    need_ge(c, n, poly(c, "1"));
    c->out[0].dim.v[a] = half && !inverse ? first_half(c, n) : n;
    c->out[0].dim.v[x.n - 1] = poly_int(c->w, half && inverse ? 1 : 2);
    return why;
}
/* The inverse of half a spectrum, whose second half is the mirrored conjugate of the first: those
   places k of the first half that the second half mirrors, 1 <= k and 2 k < n, count twice. */
static Ex inverse_of_half(Call *c, Transform t) {
    const Poly k = t.k.v[0], doubled = poly(c, "k + k", k);
    const Cond mirrored =
        both(c, when_ge(c, k, poly(c, "1")), when_ge(c, t.n, poly(c, "k + 1", doubled)));
    t.there = both(c, t.there, when_ge(c, t.n, doubled));
    t.x.re = when(c, mirrored, add(c, t.x.re, t.x.re), t.x.re);
    if (t.x.im) t.x.im = when(c, mirrored, add(c, t.x.im, t.x.im), t.x.im);
    return sum_part(c, &t, false);
}
static Ex define_dft(Call *c, Dims i) {
    const int a = axis(c, AXIS, i.n), last = i.n - 1;
    const bool inverse = enum_value(c, INVERSE);
    const Poly n = places_of(c);
    const Dims k = bound(c, (Dims){1, {n}});
    const Transform t = {.k = k,
                         .n = n,
                         .place = i.v[a],
                         .there = when_ge(c, poly(c, "n - 1", c->in[0]->dim.v[a]), k.v[0]),
                         .x = number_at(c, dims_with(i, a, k.v[0]), last),
                         .backwards = inverse};
    const Ex y =
        inverse && enum_value(c, ONESIDED) ? inverse_of_half(c, t) : transformed(c, &t, i.v[last]);
    return inverse ? divide(c, y, size(c, n)) : y;
}
static int params_dft(Call *c, int64_t param[]) {
    if (!is_const(c, intof(c, LENGTH), &param[DFT_LENGTH])) return -1;
    param[OP_AXIS] = axis(c, AXIS, c->in[0]->dim.n), param[DFT_INVERSE] = enum_value(c, INVERSE),
    param[DFT_ONESIDED] = enum_value(c, ONESIDED);
    return 4;
}
typedef struct Signal {
    const View *x; /* its last axis holds the real and imaginary part, or the real part alone */
    int axis;
    int64_t n; /* the length, even if x holds only half of a spectrum */
    bool half; /* x is the first half of a spectrum; the second half is its mirrored conjugate */
} Signal;
/* Reads place k along the axis of the line at index i. */
static void signal_at(const Signal *s, void *const slot[], int64_t i[], int64_t k, double *re,
                      double *im) {
    const bool mirror = s->half && k >= s->n / 2 + 1;
    const int last = s->x->rank - 1;
    i[s->axis] = mirror ? s->n - k : k;
    *re = *im = 0;
    if (i[s->axis] >= s->x->dim[s->axis]) return;
    i[last] = 0, *re = kernel_real(s->x, slot, kernel_at(s->x, i));
    if (s->x->dim[last] > 1) i[last] = 1, *im = kernel_real(s->x, slot, kernel_at(s->x, i));
    if (mirror) *im = -*im;
}
static int kernel_dft(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    const int a = (int)s->param[OP_AXIS], last = y->rank - 1;
    const bool inverse = s->param[DFT_INVERSE], half = s->param[DFT_ONESIDED];
    const int64_t n = s->param[DFT_LENGTH] > 0 ? s->param[DFT_LENGTH]
                      : inverse && half        ? 2 * x->dim[a] - 2
                                               : x->dim[a];
    const Signal signal = {x, a, n, half && inverse};
    View places = *y;
    int64_t i[STEP_RANK], j[STEP_RANK];
    places.dim[last] = 1;
    for (bool more = kernel_first(&places, i); more; more = kernel_next(&places, i)) {
        double sum[2] = {0, 0}, re, im;
        for (int k = 0; k < y->rank; k++) j[k] = i[k];
        for (int64_t k = 0; k < n; k++) {
            signal_at(&signal, slot, j, k, &re, &im);
            double angle = (inverse ? TURN : -TURN) * (double)(i[a] * k % n) / (double)n;
            sum[0] += re * cos(angle) - im * sin(angle),
                sum[1] += re * sin(angle) + im * cos(angle);
        }
        for (i[last] = 0; i[last] < y->dim[last]; i[last]++)
            kernel_set_real(y, slot, kernel_at(y, i),
                            inverse ? sum[i[last]] / (double)n : sum[i[last]]);
        i[last] = 0;
    }
    return 0;
}
static const OnnxMap onnx_dft[] = {
    {"", "DFT", 20, 0, "axis:dft length:dft inverse onesided"},
    {"", "DFT", 17, 19, "axis length:dft inverse onesided"},
    {0},
};
const Op op_dft = {"dft",
                   "x",
                   "y",
                   dft_attrs,
                   shape_dft,
                   define_dft,
                   .kernel = kernel_dft,
                   .params = params_dft,
                   .onnx = onnx_dft,
                   .flags = OP_BY_DATA};

/* ---- stft */

enum { HOP, FRAME, HALF };
static const AttrDef stft_attrs[] = {
    [HOP] = {.name = "hop", .kind = A_INT, .draw = "1 2 5"},
    [FRAME] = {"length", A_INT, "0", .draw = "0"}, /* used only without a window */
    [HALF] = {"onesided", A_ENUM, "yes", "no yes", .draw = "no yes"},
    {0},
};
/* The number of places of a frame. */
static Poly frame_of(Call *c) { return has(c, 1) ? c->in[1]->dim.v[0] : intof(c, FRAME); }
static const char *shape_stft(Call *c) {
    const Dims x = c->in[0]->dim;
    const char *why = dtypes_agree(c, "F");
    int64_t parts = 1;
    if (x.n < 2 || x.n > 3 || (x.n == 3 && !are_parts(c, x.v[2], &parts)))
        return "stft needs signals [b, l], [b, l, 1] or [b, l, 2]";
    if (has(c, 1) && rank_of(c, 1) != 1) return "the window is not a list of numbers";
    if (parts == 2 && enum_value(c, HALF)) return "half of the transform of complex numbers";
    const Poly n = frame_of(c), hop = intof(c, HOP);
    need_ge(c, n, poly(c, "1"));
    need_ge(c, hop, poly(c, "1"));
    need_ge(c, x.v[1], n);
    c->out[0] = (Type){.dtype = c->in[0]->dtype,
                       .dim = {4,
                               {x.v[0], poly(c, "f + 1", quot(c, poly(c, "l - n", x.v[1], n), hop)),
                                enum_value(c, HALF) ? first_half(c, n) : n, poly(c, "2")}}};
    return why;
}
static Ex define_stft(Call *c, Dims i) {
    const Poly n = frame_of(c);
    const Dims k = bound(c, (Dims){1, {n}});
    const int rank = rank_of(c, 0);
    const Poly at_k = poly(c, "h*f + k", intof(c, HOP), i.v[1], k.v[0]);
    Complex x = number_at(c, (Dims){rank, {i.v[0], at_k}}, rank == 3 ? 2 : -1);
    if (has(c, 1)) {
        const Ex w = at(c, 1, k);
        x.re = mul(c, x.re, w);
        if (x.im) x.im = mul(c, x.im, w);
    }
    return transformed(c, &(Transform){.k = k, .n = n, .place = i.v[2], .x = x}, i.v[3]);
}
static int params_stft(Call *c, int64_t param[]) {
    if (!is_const(c, intof(c, HOP), &param[STFT_HOP]) ||
        !is_const(c, intof(c, FRAME), &param[STFT_FRAME]))
        return -1;
    return 2;
}
static int kernel_stft(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1], *w = s->nview > 2 ? &s->view[2] : NULL;
    const int64_t hop = s->param[STFT_HOP], n = w ? w->dim[0] : s->param[STFT_FRAME];
    View places = *y;
    int64_t i[STEP_RANK], j[3] = {0};
    places.dim[3] = 1;
    for (bool more = kernel_first(&places, i); more; more = kernel_next(&places, i)) {
        double sum[2] = {0, 0};
        j[0] = i[0];
        for (int64_t k = 0; k < n; k++) {
            const double angle = -TURN * (double)(i[2] * k % n) / (double)n,
                         by = w ? kernel_real(w, slot, kernel_at(w, &k)) : 1;
            j[1] = hop * i[1] + k, j[2] = 0;
            const double re = by * kernel_real(x, slot, kernel_at(x, j));
            j[2] = 1;
            const double im =
                x->rank > 2 && x->dim[2] > 1 ? by * kernel_real(x, slot, kernel_at(x, j)) : 0;
            sum[0] += re * cos(angle) - im * sin(angle);
            sum[1] += re * sin(angle) + im * cos(angle);
        }
        for (i[3] = 0; i[3] < 2; i[3]++) kernel_set_real(y, slot, kernel_at(y, i), sum[i[3]]);
        i[3] = 0;
    }
    return 0;
}
static const OnnxMap onnx_stft[] = {{"", "STFT", 17, 0, "hop=input:1 length:stft onesided"}, {0}};
const Op op_stft = {"stft",
                    "x w?",
                    "y",
                    stft_attrs,
                    shape_stft,
                    define_stft,
                    .kernel = kernel_stft,
                    .params = params_stft,
                    .onnx = onnx_stft,
                    .flags = OP_BY_DATA};
