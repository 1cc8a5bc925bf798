/* quantize: y = round(x / scale) + zero as an integer, where round takes ties to even and the
   result saturates; a float of few bits takes x / scale itself. dequantize: y = (x - zero) * scale.
   scale and zero are single numbers, or have one number for each place of an axis, or for each
   `block` of places of that axis. dynamicquantize: quantizes to 0..255 with the scale that the
   range of x, extended to include 0, requires. */
#include "ops/operator/op.h"
#include <math.h>
enum { AXIS, BLOCK, TO, SATURATE };
static const AttrDef quantize_attrs[] = {
    [AXIS] = {"axis", A_INT, "1", .axes = true, .draw = "0 1 -1"},
    [BLOCK] = {.name = "block", .kind = A_INT, .init = "0", .draw = "0"},
    [TO] = {.name = "to", .kind = A_DTYPE, .init = "U8"},
    [SATURATE] = {"saturate", A_ENUM, "yes", "no yes", .draw = "yes"},
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
    if (!is_const(c, intof(c, BLOCK), &block) || block < 0)
        return "the block size must be a number";
    Dims zero = has(c, ZERO) ? c->in[ZERO]->dim : scale;
    bool single = dims_single(c, scale) && dims_single(c, zero);
    if (!single && zero.n != scale.n) return "scale and zero point have different ranks";
    for (int k = 0; k < scale.n && !single; k++) need_eq(c, scale.v[k], zero.v[k]);
    c->out[0] = (Type){.dtype = (DType)enum_value(c, TO), .dim = x};
    if (dims_single(c, scale)) return NULL;
    if (a < 0) return "axis out of range";
    if (block ? scale.n != x.n : scale.n != 1) return "the scale has the wrong rank";
    if (!block) need_eq(c, scale.v[0], x.v[a]);
    for (int k = 0; block && k < x.n; k++)
        need_eq(c, scale.v[k],
                k == a ? quot(c, poly(c, "n + b - 1", x.v[k], intof(c, BLOCK)), intof(c, BLOCK))
                       : x.v[k]);
    return NULL;
}
static bool wide_float(DType t) { return dtype_class(t) == 'F' && dtype_bits(t) >= 16; }
static bool wide_whole(DType t) { return dtype_is_integer(t) && dtype_bits(t) >= 8; }
/* Whether the quantized numbers are integers of at least 8 bits, and the zero point one of them. */
static bool zero_fits(Call *c, DType quantized) {
    return wide_whole(quantized) && (!has(c, ZERO) || c->in[ZERO]->dtype == quantized);
}
/* Stores the place in scale and zero that belongs to an index. Returns false if they are in blocks:
   the place would be a quotient of the index, and there is no definition. */
static bool place_of(Call *c, Dims i, Poly *place) {
    int64_t block;
    const bool single = dims_single(c, c->in[SCALE]->dim);
    if (!single && (!is_const(c, intof(c, BLOCK), &block) || block)) return false;
    *place = single ? poly(c, "0") : i.v[axis(c, AXIS, i.n)];
    return true;
}
/* The definition is over real numbers. ONNX Runtime rounds the quotient to a float before it rounds
   it to an integer, which decides ties; the kernel does the same (hence OP_DECIDES). */
static Ex define_quantize(Call *c, Dims i) {
    Poly place;
    if (!place_of(c, i, &place)) return 0;
    if (!wide_float(c->in[X]->dtype) || !zero_fits(c, c->out[0].dtype)) return 0;
    return round_saturate(c, divide(c, at(c, X, i), at_per_axis(c, SCALE, place)),
                          at_per_axis(c, ZERO, place));
}
static Ex define_dequantize(Call *c, Dims i) {
    Poly place;
    if (!place_of(c, i, &place)) return 0;
    if (!zero_fits(c, c->in[X]->dtype) || !wide_float(c->out[0].dtype)) return 0;
    return mul(c, minus_zero(c, at(c, X, i), at_per_axis(c, ZERO, place)),
               at_per_axis(c, SCALE, place));
}
enum { P_AXIS = 1, P_BLOCK, P_SATURATE };
static int params(Call *c, int64_t param[]) {
    if (!is_const(c, intof(c, BLOCK), &param[P_BLOCK])) return -1;
    param[P_AXIS] = axis(c, AXIS, c->in[X]->dim.n);
    param[P_SATURATE] = c->op->attrs == quantize_attrs ? enum_value(c, SATURATE) : 0;
    return 3;
}
/* The element of scale or zero that belongs to index i of x, or `none` if that input is left
   out. */
static double parameter_at(const Step *s, void *const slot[], int view, const int64_t i[],
                           double none) {
    const View *v = &s->view[view];
    int64_t j[STEP_RANK] = {0};
    if (view >= s->nview || v->rank < 0) return none;
    if (s->param[P_BLOCK])
        for (int k = 0; k < v->rank; k++)
            j[k] = k == s->param[P_AXIS] ? i[k] / s->param[P_BLOCK] : i[k];
    else if (v->rank && v->dim[0] > 1) j[0] = i[s->param[P_AXIS]];
    return kernel_real(v, slot, kernel_at(v, j));
}

static double limited(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}
/* ---- Steps: element-wise programs in floats, as in ONNX Runtime. Types of fewer than 8 bits are
   left to the kernels. If scales are in blocks, views split the axis into two: blocks and
   places. */
/* A view of scale or zero with the sizes of x. each_block: x has the blocks as axis a and their
   places as axis a + 1. */
static View spread(const View *in, const View *x, int a, bool each_block) {
    View y = *x;
    y.slot = in->slot, y.dtype = in->dtype, y.offset = in->offset, y.format = in->format;
    for (int k = 0, from = 0; k < x->rank; k++) {
        y.stride[k] = 0;
        if (each_block && k != a + 1) y.stride[k] = in->stride[from++];
        if (!each_block && k == a && in->rank && in->dim[0] > 1) y.stride[k] = in->stride[0];
    }
    return y;
}
typedef struct Quantized { /* a step that is to be added, in whole or in parts along an axis */
    int n;
    View v[4];     /* y, x, scale and, if n is 4, zero */
    int axis;      /* the axis along which scale and zero vary; -1: they are single numbers */
    int64_t block; /* places of the axis that share a scale; 0: no blocks */
    const Scalar *code;
    int ncode;
} Quantized;
/* Adds a step for the places from .. from + size - 1 of the axis. */
static void add_program(StepBuf *b, const Quantized *q, int64_t from, int64_t size) {
    const int a = q->axis;
    const int64_t block = q->block;
    View part[4];
    for (int k = 0; k < 2; k++) {
        part[k] = a < 0 ? q->v[k] : view_part(&q->v[k], a, from, size);
        if (block) part[k] = view_split(&part[k], a, block < size ? block : size);
    }
    for (int k = 2; k < q->n; k++) {
        View one = block ? view_part(&q->v[k], a, from / block, part[0].dim[a]) : q->v[k];
        part[k] = spread(&one, &part[0], a, block > 0);
    }
    step_code(b, step_add(b, S_EWISE, q->n, part), q->ncode, q->code);
}
static int add_programs(Call *c, const View in[], const View *y, StepBuf *b, const Scalar code[],
                        int ncode) {
    const int a = axis(c, AXIS, y->rank);
    const int64_t size = a < 0 ? 0 : y->dim[a];
    Quantized q = {.n = has(c, ZERO) ? 4 : 3,
                   .v = {*y, in[X], in[SCALE]},
                   .axis = a,
                   .block = step_size(b, intof(c, BLOCK)),
                   .code = code,
                   .ncode = ncode};
    if (q.n == 4) q.v[3] = in[ZERO];
    if (dims_single(c, c->in[SCALE]->dim)) q.block = 0;
    if (q.block && y->rank == STEP_RANK) return 0;
    const int64_t whole = q.block ? size / q.block * q.block : size;
    if (whole || !q.block) add_program(b, &q, 0, whole);
    if (whole < size) add_program(b, &q, whole, size - whole);
    return 1;
}

/* NaN becomes the least integer, as in ONNX Runtime. Storing the result saturates. */
static int steps_quantize(Call *c, const View in[], const View out[], StepBuf *b) {
    const DType to = c->out[0].dtype, from = c->in[X]->dtype;
    Scalar code[10] = {{.op = C_VIEW, .a = 1},
                       {.op = C_VIEW, .a = 2},
                       {.op = C_DIV, .a = 0, .b = 1},
                       {.op = C_ROUND, .a = 2}};
    uint8_t n = 4;
    if (!wide_whole(to) || !wide_float(c->in[SCALE]->dtype) ||
        !(wide_float(from) || wide_whole(from)))
        return 0;
    if (has(c, ZERO)) {
        code[n++] = (Scalar){.op = C_VIEW, .a = 3};
        code[n++] = (Scalar){.op = C_ADD, .a = 3, .b = 4};
    }
    if (dtype_class(to) == 'I') {
        const uint8_t y = (uint8_t)(n - 1);
        code[n++] = (Scalar){.op = C_ISNAN, .a = y};
        code[n++] = (Scalar){.op = C_CONST, .k = (double)dtype_range(to).low};
        code[n] = (Scalar){.op = C_WHERE, .a = (uint8_t)(y + 1), .b = (uint8_t)(y + 2), .c = y};
        n++;
    }
    return add_programs(c, in, &out[0], b, code, n);
}
static int steps_dequantize(Call *c, const View in[], const View out[], StepBuf *b) {
    const bool shifted = has(c, ZERO);
    static const Scalar plain[] = {{.op = C_VIEW, .a = 1},
                                   {.op = C_VIEW, .a = 2},
                                   {.op = C_MUL, .a = 0, .b = 1}},
                        shift[] = {{.op = C_VIEW, .a = 1},
                                   {.op = C_VIEW, .a = 3},
                                   {.op = C_SUB, .a = 0, .b = 1},
                                   {.op = C_VIEW, .a = 2},
                                   {.op = C_MUL, .a = 2, .b = 3}};
    if (!wide_whole(c->in[X]->dtype) || !wide_float(c->in[SCALE]->dtype) ||
        !wide_float(c->out[0].dtype) || (shifted && !wide_whole(c->in[ZERO]->dtype)))
        return 0;
    return add_programs(c, in, &out[0], b, shifted ? shift : plain, shifted ? 5 : 3);
}
static int kernel_quantize(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    DType to = (DType)y->dtype;
    const IntegerRange all = dtype_range(to);
    const double most = kernel_greatest(y->dtype), low = (double)all.low, high = (double)all.high;
    bool single = x->dtype == DT_FLOAT && s->view[2].dtype == DT_FLOAT;
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        double scaled = kernel_real(x, slot, kernel_at(x, i)) / parameter_at(s, slot, 2, i, 1),
               zero = parameter_at(s, slot, 3, i, 0);
        if (single) scaled = (double)(float)scaled;
        if (dtype_class(to) == 'F')
            kernel_set_real(y, slot, kernel_at(y, i),
                            s->param[P_SATURATE] ? limited(scaled, -most, most) : scaled);
        else
            kernel_set_real(y, slot, kernel_at(y, i),
                            isnan(scaled) ? low : limited(rint(scaled) + zero, low, high));
    }
    return 0;
}
static int kernel_dequantize(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        double value = kernel_real(x, slot, kernel_at(x, i)) - parameter_at(s, slot, 3, i, 0);
        if (s->view[2].dtype == DT_FLOAT) value = (double)(float)value;
        kernel_set_real(y, slot, kernel_at(y, i), value * parameter_at(s, slot, 2, i, 1));
    }
    return 0;
}
static const OnnxMap onnx_quantize[] = {
    {"", "QuantizeLinear", 23, 0, "axis block=block_size to:quantized saturate precision==0"},
    {"", "QuantizeLinear", 21, 22, "axis block=block_size to:quantized saturate"},
    {"", "QuantizeLinear", 19, 20, "axis block=0! to:quantized saturate"},
    {"", "QuantizeLinear", 13, 18, "axis block=0! to:quantized"},
    {"", "QuantizeLinear", 10, 12, "axis=1! block=0! to:quantized"},
    {"com.microsoft", "QuantizeLinear", 1, 0, "axis block=0! to:quantized import:only"},
    {0},
};
static const OnnxMap onnx_dequantize[] = {
    {"", "DequantizeLinear", 21, 0, "axis block=block_size to:scale"},
    {"", "DequantizeLinear", 13, 20, "axis block=0! to:scale"},
    {"", "DequantizeLinear", 10, 12, "axis=1! block=0! to:scale"},
    {"com.microsoft", "DequantizeLinear", 1, 0, "axis block=0! to:scale import:only"},
    {0},
};
const Op op_quantize = {"quantize",
                        "x scale zero?",
                        "y",
                        quantize_attrs,
                        shape_of,
                        define_quantize,
                        .steps = steps_quantize,
                        .kernel = kernel_quantize,
                        .params = params,
                        .onnx = onnx_quantize,
                        .flags = OP_BY_DATA | OP_DECIDES};
const Op op_dequantize = {"dequantize",
                          "x scale zero?",
                          "y",
                          dequantize_attrs,
                          shape_of,
                          define_dequantize,
                          .steps = steps_dequantize,
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
    float scale = high > low ? (high - low) / 255 : 1;
    double zero = rint(limited((double)(-low / scale), 0, 255));
    kernel_set_real(&s->view[1], slot, s->view[1].offset, (double)scale);
    kernel_set_real(&s->view[2], slot, s->view[2].offset, zero);
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        float v = (float)kernel_real(x, slot, kernel_at(x, i)) / scale;
        kernel_set_real(y, slot, kernel_at(y, i), limited(rint((double)v) + zero, 0, 255));
    }
    return 0;
}
/* Adds a step that reduces x to its least or greatest element, or to 0 where 0 lies beyond it; *to
   is the buffer of the result. Returns false if there is no buffer. */
static bool reduce_all(StepBuf *b, ReduceKind kind, const View *x, View *to) {
    const Scalar beyond[] = {
        {.op = C_ACC}, {.op = C_CONST}, {.op = kind == REDUCE_MIN ? C_MIN : C_MAX, .a = 0, .b = 1}};
    if (!step_buffer(b, DT_FLOAT, 0, x->dim, to)) return false;
    Step *s = step_add(b, S_REDUCE, 2, (const View[]){*to, *x});
    step_param(b, s, 1, &(int64_t){kind});
    step_code(b, s, 3, beyond);
    return true;
}
/* Computes the least and the greatest element, from them the scale and zero point, then y. */
static int steps_dynamic(Call *c, const View in[], const View out[], StepBuf *b) {
    View v[4] = { out[0], in[X], out[1], out[2] };
    static const Scalar zero[] = {{.op = C_VIEW, .a = 1},
                                  {.op = C_VIEW, .a = 2},
                                  {.op = C_SUB, .a = 0, .b = 1},
                                  {.op = C_CONST, .k = 255},
                                  {.op = C_DIV, .a = 2, .b = 3},
                                  {.op = C_CONST, .k = 1},
                                  {.op = C_WHERE, .a = 2, .b = 4, .c = 5},
                                  {.op = C_DIV, .a = 1, .b = 6},
                                  {.op = C_NEG, .a = 7},
                                  {.op = C_ROUND, .a = 8}};
    enum { SCALED = 7 /* the first instructions, which compute the scale */ };
    View high, low;
    (void)c;
    if (!reduce_all(b, REDUCE_MIN, &in[X], &low) || !reduce_all(b, REDUCE_MAX, &in[X], &high))
        return 0;
    step_code(b, step_add(b, S_EWISE, 3, (const View[]){out[1], high, low}), SCALED, zero);
    step_code(b, step_add(b, S_EWISE, 3, (const View[]){out[2], high, low}), 10, zero);
    for (int k = 2; k < 4; k++) v[k] = view_spread(&v[k], out[0].rank, out[0].dim);
    step_code(b, step_add(b, S_EWISE, 4, v), 6,
              (const Scalar[]){{.op = C_VIEW, .a = 1},
                               {.op = C_VIEW, .a = 2},
                               {.op = C_DIV, .a = 0, .b = 1},
                               {.op = C_ROUND, .a = 2},
                               {.op = C_VIEW, .a = 3},
                               {.op = C_ADD, .a = 3, .b = 4}});
    return 1;
}
static const OnnxMap onnx_dynamic[] = {{"", "DynamicQuantizeLinear", 11, 0, ""}, {0}};
const Op op_dynamicquantize = {"dynamicquantize",      "x",
                               "y scale zero",         .shape = shape_dynamic,
                               .steps = steps_dynamic, .kernel = kernel_dynamic,
                               .onnx = onnx_dynamic};
