/* signal: operators on signals. dft: the discrete Fourier transform of x [.., 1 or 2] along an
   axis, the last axis being real and imaginary part; x is cut or filled with zeros to `length`;
   `onesided`: only the first half of the result, or with `inverse` of the input, whose transform is
   then real. hann, hamming, blackman: windows of n numbers, sums of cosines; `periodic`: as if of n
   + 1 numbers, the last left out. */
#include "ops/operator/op.h"
#include <math.h>
enum { AXIS, LENGTH, INVERSE, ONESIDED };
static const AttrDef dft_attrs[] = {
    [AXIS] = {"axis", A_INT, "1", .axes = true, .draw = "0 1 -2"},
    [LENGTH] = {"length", A_INT, "0", .draw = "0 3 5"}, /* 0: as long as x */
    [INVERSE] = {"inverse", A_ENUM, "no", "no yes", .draw = "no yes"},
    [ONESIDED] = {"onesided", A_ENUM, "no", "no yes", .draw = "no"},
    {0},
};
static const double turn = 6.283185307179586;

static const char *shape_dft(Call *c) {
    Dims x = c->in[0]->dim;
    int a = axis(c, AXIS, x.n);
    int64_t parts, length;
    const char *why = same_type(c, "F");
    if (x.n < 2 || a < 0 || a == x.n - 1 || !is_const(c, x.v[x.n - 1], &parts) || parts < 1 ||
        parts > 2)
        return "dft needs an axis before the last one, and a last axis of size 1 or 2";
    bool inverse = word(c, INVERSE), half = word(c, ONESIDED);
    if (!is_const(c, intof(c, LENGTH), &length)) return "the length is not a known number";
    Poly n = length > 0        ? intof(c, LENGTH)
             : inverse && half ? poly(c, "n + n - 2", x.v[a])
                               : x.v[a];
    need_ge(c, n, poly(c, "1"));
    c->out[0].dim.v[a] = half && !inverse ? poly(c, "h + 1", quot(c, n, poly(c, "2"))) : n;
    c->out[0].dim.v[x.n - 1] = poly_int(c->w, half && inverse ? 1 : 2);
    return why;
}
static int params_dft(Call *c, int64_t *out, int room) {
    if (room < 4 || !is_const(c, intof(c, LENGTH), &out[1])) return -1;
    out[0] = axis(c, AXIS, c->in[0]->dim.n), out[2] = word(c, INVERSE), out[3] = word(c, ONESIDED);
    return 4;
}
typedef struct Signal {
    const View *x; /* its last axis: real and imaginary part, or the real one alone */
    int axis;
    int64_t n; /* its places, also where x holds half of them only */
    bool half; /* of a spectrum whose other half is the mirror image of it, conjugate */
} Signal;
/* Place k along the axis, at the index i of a line. */
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
    const int a = (int)s->param[1], last = y->rank - 1;
    const bool inverse = s->param[3], half = s->param[4];
    const int64_t n = s->param[2] > 0   ? s->param[2]
                      : inverse && half ? 2 * x->dim[a] - 2
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
            double angle = (inverse ? turn : -turn) * (double)(i[a] * k % n) / (double)n;
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
const Op op_dft = {
    "dft",           "x", "y", dft_attrs, shape_dft, .kernel = kernel_dft, .params = params_dft,
    .onnx = onnx_dft};

enum { SIZE, PERIODIC, DTYPE };
static const AttrDef window_attrs[] = {
    [SIZE] = {.name = "size", .kind = A_INT, .draw = "1 5 8"},
    [PERIODIC] = {"periodic", A_ENUM, "yes", "no yes", .draw = "no yes"},
    [DTYPE] = {.name = "dtype", .kind = A_DTYPE, .init = "F"},
    {0},
};
static const char *shape_window(Call *c) {
    need_ge(c, intof(c, SIZE), 0);
    c->out[0] = (Type){.dtype = (DType)word(c, DTYPE), .dim = {1, {intof(c, SIZE)}}};
    return NULL;
}
static int params_window(Call *c, int64_t *out, int room) {
    return room < 1 ? -1 : (out[0] = word(c, PERIODIC), 1);
}
static int window(const Step *s, void *const slot[], double a0, double a1, double a2) {
    const View *y = &s->view[0];
    const double n = (double)(s->param[1] ? y->dim[0] : y->dim[0] - 1);
    for (int64_t k = 0; k < y->dim[0]; k++) {
        double angle = n > 0 ? turn * (double)k / n : 0,
               value = a0 - a1 * cos(angle) + a2 * cos(2 * angle);
        if (kernel_is_integer(y)) kernel_set_integer(y, slot, kernel_at(y, &k), (int64_t)value);
        else kernel_set_real(y, slot, kernel_at(y, &k), value);
    }
    return 0;
}
#define WINDOW(NAME, TYPE, A0, A1, A2)                                          \
    static int kernel_##NAME(const Step *s, void *const slot[]) {               \
        return window(s, slot, A0, A1, A2);                                     \
    }                                                                           \
    static const OnnxMap onnx_##NAME[] = {                                      \
        {"", TYPE, 17, 0, "size=input:0 periodic dtype=output_datatype"}, {0}}; \
    const Op op_##NAME = {#NAME,                                                \
                          "",                                                   \
                          "y",                                                  \
                          window_attrs,                                         \
                          shape_window,                                         \
                          .kernel = kernel_##NAME,                              \
                          .params = params_window,                              \
                          .onnx = onnx_##NAME};
WINDOW(hann, "HannWindow", 0.5, 0.5, 0)
WINDOW(hamming, "HammingWindow", 25.0 / 46, 21.0 / 46, 0)
WINDOW(blackman, "BlackmanWindow", 0.42, 0.5, 0.08)
