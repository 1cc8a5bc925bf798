/* quantize: y = round(x / scale) + zero, to even and saturating, as integers (floats of few bits: x
   / scale itself); dequantize: y = (x - zero) * scale. scale and zero are one number, one for each
   place of an axis, or one for each `block` of places of it. dynamicquantize: to 0..255 with the
   scale that the range of x, 0 in it, asks for. */
#include "op.h"
#include <math.h>
enum { AXIS, BLOCK, TO, SATURATE };
static const AttrDef quantize_attrs[] = {
    [AXIS] = {"axis", A_INT, "1", .axes = true, .draw = "0 1 -1"},
    [BLOCK] = {.name = "block", .kind = A_INT, .init = "0", .draw = "0"},
    [TO] = {.name = "to", .kind = A_DTYPE, .init = "U8"},
    [SATURATE] = {"saturate", A_WORD, "yes", "no yes", .draw = "yes"},
    {0},
};
static const AttrDef dequantize_attrs[] = {
    [AXIS] = {"axis", A_INT, "1", .axes = true, .draw = "0 1 -1"},
    [BLOCK] = {.name = "block", .kind = A_INT, .init = "0", .draw = "0"},
    [TO] = {.name = "to", .kind = A_DTYPE, .init = "F"},
    {0},
};
enum { X, SCALE, ZERO };

static const char *shape_of(Call *c) {
    Dims x = c->in[X]->dim, scale = c->in[SCALE]->dim;
    int a = axis(c, AXIS, x.n);
    int64_t block;
    if (!is_const(c, intof(c, BLOCK), &block) || block < 0) return "block is a number";
    Dims zero = c->nin > ZERO && c->in[ZERO] ? c->in[ZERO]->dim : scale;
    bool single = dims_single(c, scale) && dims_single(c, zero);
    if (!single && zero.n != scale.n) return "scale and zero of different ranks";
    for (int k = 0; k < scale.n && !single; k++) need_eq(c, scale.v[k], zero.v[k]);
    c->out[0] = (Type){.dtype = (DType)word(c, TO), .dim = x};
    if (dims_single(c, scale)) return NULL;
    if (a < 0) return "axis out of range";
    if (block ? scale.n != x.n : scale.n != 1) return "a scale of another rank";
    if (!block) need_eq(c, scale.v[0], x.v[a]);
    for (int k = 0; block && k < x.n; k++)
        need_eq(c, scale.v[k],
                k == a ? quot(c, poly(c, "n + b - 1", x.v[k], intof(c, BLOCK)), intof(c, BLOCK))
                       : x.v[k]);
    return NULL;
}
static int params(Call *c, int64_t *out, int room) {
    if (room < 3 || !is_const(c, intof(c, BLOCK), &out[1])) return -1;
    out[0] = axis(c, AXIS, c->in[X]->dim.n);
    out[2] = c->op->attrs == quantize_attrs ? word(c, SATURATE) : 0;
    return 3;
}
/* The number of scale or zero (left out: `none`) that belongs to index i of x. */
static double belonging(const Step *s, void *const slot[], int view, const int64_t i[],
                        double none) {
    const View *v = &s->view[view];
    int64_t j[STEP_RANK] = {0};
    if (view >= s->nview || v->rank < 0) return none;
    if (s->param[2])
        for (int k = 0; k < v->rank; k++) j[k] = k == s->param[1] ? i[k] / s->param[2] : i[k];
    else if (v->rank && v->dim[0] > 1) j[0] = i[s->param[1]];
    return kernel_real(v, slot, kernel_at(v, j));
}

static double whole_limit(DType t, bool high) {
    int bits = dtype_bits(t);
    return dtype_class(t) == 'U' ? (high ? ldexp(1, bits) - 1 : 0)
           : high                ? ldexp(1, bits - 1) - 1
                                 : -ldexp(1, bits - 1);
}
static double limited(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}
static int kernel_quantize(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    DType to = (DType)y->dtype;
    double most = kernel_greatest(y->dtype);
    bool single = x->dtype == DT_FLOAT && s->view[2].dtype == DT_FLOAT;
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        double scaled = kernel_real(x, slot, kernel_at(x, i)) / belonging(s, slot, 2, i, 1),
               zero = belonging(s, slot, 3, i, 0);
        if (single) scaled = (double)(float)scaled;
        if (dtype_class(to) == 'F')
            kernel_set_real(y, slot, kernel_at(y, i),
                            s->param[3] ? limited(scaled, -most, most) : scaled);
        else
            kernel_set_real(
                y, slot, kernel_at(y, i),
                limited(rint(scaled) + zero, whole_limit(to, false), whole_limit(to, true)));
    }
    return 0;
}
static int kernel_dequantize(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        double value = kernel_real(x, slot, kernel_at(x, i)) - belonging(s, slot, 3, i, 0);
        kernel_set_real(y, slot, kernel_at(y, i), value * belonging(s, slot, 2, i, 1));
    }
    return 0;
}
static const OnnxMap onnx_quantize[] = {
    {"", "QuantizeLinear", 23, 0, "axis block=block_size to:quantized saturate precision==0"},
    {"", "QuantizeLinear", 21, 22, "axis block=block_size to:quantized saturate"},
    {"", "QuantizeLinear", 19, 20, "axis block=0! to:quantized saturate"},
    {"", "QuantizeLinear", 13, 18, "axis block=0! to:quantized"},
    {"", "QuantizeLinear", 10, 12, "axis=1! block=0! to:quantized"},
    {0},
};
static const OnnxMap onnx_dequantize[] = {
    {"", "DequantizeLinear", 21, 0, "axis block=block_size to:scale"},
    {"", "DequantizeLinear", 13, 20, "axis block=0! to:scale"},
    {"", "DequantizeLinear", 10, 12, "axis=1! block=0! to:scale"},
    {0},
};
const Op op_quantize = {"quantize",
                        "x scale zero?",
                        "y",
                        quantize_attrs,
                        shape_of,
                        .kernel = kernel_quantize,
                        .params = params,
                        .onnx = onnx_quantize};
const Op op_dequantize = {"dequantize",
                          "x scale zero?",
                          "y",
                          dequantize_attrs,
                          shape_of,
                          .kernel = kernel_dequantize,
                          .params = params,
                          .onnx = onnx_dequantize};

static const char *shape_dynamic(Call *c) {
    c->out[0] = (Type) { .dtype = DT_UINT8, .dim = c->in[X]->dim };
    c->out[1] = (Type){.dtype = DT_FLOAT};
    c->out[2] = (Type){.dtype = DT_UINT8};
    return c->in[X]->dtype == DT_FLOAT ? NULL : "dynamicquantize needs floats";
}
static int kernel_dynamic(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[3];
    float low = 0, high = 0;
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(x, i); more; more = kernel_next(x, i)) {
        float v = (float)kernel_real(x, slot, kernel_at(x, i));
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    float scale = (high - low) / 255;
    double zero = scale > 0 ? rint(limited((double)(-low / scale), 0, 255)) : 0;
    kernel_set_real(&s->view[1], slot, s->view[1].offset, (double)scale);
    kernel_set_real(&s->view[2], slot, s->view[2].offset, zero);
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        float v = scale > 0 ? (float)kernel_real(x, slot, kernel_at(x, i)) / scale : 0;
        kernel_set_real(y, slot, kernel_at(y, i), limited(rint((double)v) + zero, 0, 255));
    }
    return 0;
}
static const OnnxMap onnx_dynamic[] = {{"", "DynamicQuantizeLinear", 11, 0, ""}, {0}};
const Op op_dynamicquantize = {"dynamicquantize",        "x",
                               "y scale zero",           .shape = shape_dynamic,
                               .kernel = kernel_dynamic, .onnx = onnx_dynamic};
