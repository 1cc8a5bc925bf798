/* mel: the matrix [length / 2 + 1, bands] by which the spectrum of `length` samples, taken at
   `rate` per second, is summed into bands. The bands are triangles between `low` and `high` hertz
   whose corners are equally far apart on the mel scale (S. Stevens, J. Volkmann, E. Newman, 1937).
   As ONNX defines it, the distance is 1 / (bands + 2) of the range, so that the last corner lies
   below `high`. */
#include "ops/operator/op.h"
#include <math.h>

enum { BANDS, LENGTH, RATE, LOW, HIGH, DTYPE };
static const AttrDef attrs[] = {
    [BANDS] = {.name = "bands", .kind = A_INT, .draw = "1 4 9"},
    [LENGTH] = {.name = "length", .kind = A_INT, .draw = "16 30 64"},
    [RATE] = {.name = "rate", .kind = A_INT, .draw = "8000 16000"},
    [LOW] = {.name = "low", .kind = A_REAL, .draw = "0 20 500"},
    [HIGH] = {.name = "high", .kind = A_REAL, .draw = "2000 4000"},
    [DTYPE] = {.name = "dtype", .kind = A_DTYPE, .init = "F"},
    {0},
};
static const char *shape(Call *c) {
    const Poly length = intof(c, LENGTH);
    need_ge(c, intof(c, BANDS), 0);
    need_ge(c, length, 0);
    need_ge(c, intof(c, RATE), poly(c, "1"));
    c->out[0] =
        (Type){.dtype = (DType)enum_value(c, DTYPE),
               .dim = {2, {poly(c, "h + 1", quot(c, length, poly(c, "2"))), intof(c, BANDS)}}};
    return NULL;
}
enum { P_LENGTH = 1, P_RATE, P_LOW, P_HIGH };
static int params(Call *c, int64_t param[]) {
    return is_const(c, intof(c, LENGTH), &param[P_LENGTH]) &&
                   is_const(c, intof(c, RATE), &param[P_RATE]) && bits_of(c, LOW, &param[P_LOW]) &&
                   bits_of(c, HIGH, &param[P_HIGH])
               ? 4
               : -1;
}

static double mel_of(double hertz) { return 2595 * log10(1 + hertz / 700); }
static double hertz_of(double mel) { return 700 * (pow(10, mel / 2595) - 1); }
static double place_of(const Step *s, double hertz) {
    return floor((double)(s->param[P_LENGTH] + 1) * hertz / (double)s->param[P_RATE]);
}
/* Corner k of the bands, which have `bands` + 2 corners, as a place in the spectrum. */
static double corner(const Step *s, int64_t k) {
    const double low = mel_of(param_real(s->param[P_LOW])),
                 high = mel_of(param_real(s->param[P_HIGH]));
    return place_of(s, hertz_of(low + (high - low) / (double)(s->view[0].dim[1] + 2) * (double)k));
}
static bool in_spectrum(const Step *s, double hertz) {
    const double place = place_of(s, hertz);
    return place >= 0 && place < (double)s->view[0].dim[0];
}
static double weight(double place, double from, double top, double to) {
    if (place == top) return 1;
    if (place < from || place >= to) return 0;
    return place < top ? (place - from) / (top - from) : (to - place) / (to - top);
}
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0];
    if (!in_spectrum(s, param_real(s->param[P_LOW])) ||
        !in_spectrum(s, param_real(s->param[P_HIGH])))
        return -1;
    for (int64_t band = 0; band < y->dim[1]; band++) {
        const double from = corner(s, band), top = corner(s, band + 1), to = corner(s, band + 2);
        for (int64_t k = 0; k < y->dim[0]; k++) {
            const int64_t at = kernel_at(y, (const int64_t[]){k, band});
            const double value = weight((double)k, from, top, to);
            if (kernel_is_integer(y)) kernel_set_integer(y, slot, at, (int64_t)value);
            else kernel_set_real(y, slot, at, value);
        }
    }
    return 0;
}
static const OnnxMap onnx[] = {{"", "MelWeightMatrix", 17, 0,
                                "bands=input:0 length=input:1 rate=input:2 low=input:3 "
                                "high=input:4 dtype=output_datatype"},
                               {0}};
const Op op_mel = {"mel", "", "y", attrs, shape, .kernel = kernel, .params = params, .onnx = onnx};
