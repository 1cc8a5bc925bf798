/* signal: windows of n numbers that are sums of cosines: hann, hamming, blackman. A periodic window
   is one of n + 1 numbers without the last. */
#include "ops/operator/op.h"
#include <math.h>

static const double turn = 6.283185307179586;

enum { SIZE, PERIODIC, DTYPE };
static const AttrDef window_attrs[] = {
    [SIZE] = {.name = "size", .kind = A_INT, .draw = "1 5 8"},
    [PERIODIC] = {"periodic", A_ENUM, "yes", "no yes", .draw = "no yes"},
    [DTYPE] = {.name = "dtype", .kind = A_DTYPE, .init = "F"},
    {0},
};
static const char *shape_window(Call *c) {
    need_ge(c, intof(c, SIZE), 0);
    c->out[0] = (Type){.dtype = (DType)enum_value(c, DTYPE), .dim = {1, {intof(c, SIZE)}}};
    return NULL;
}
static int params_window(Call *c, int64_t param[]) {
    param[1] = enum_value(c, PERIODIC);
    return 1;
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
