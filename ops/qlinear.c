/* qlinear..: operators on quantized numbers of ONNX Runtime's domain com.microsoft, which
   quantizing tools put next to QLinearConv and QLinearMatMul. Each dequantizes its inputs, applies
   an operator on real numbers and quantizes the result, with one scale and one zero point per
   tensor. */
#include "ops/operator/op.h"
#include <math.h>
#include <string.h>

/* Sets the result to sizes d and the type of input x, which must have 8 bits. All other inputs must
   be scales (floats) or have the same type; else returns why not. */
static const char *shape_bytes(Call *c, int x, Dims d) {
    const DType t = c->in[x]->dtype;
    if (t != DT_UINT8 && t != DT_INT8) return "not supported for these element types";
    for (int k = 0; k < c->nin; k++)
        if (c->in[k] && c->in[k]->dtype != DT_FLOAT && c->in[k]->dtype != t)
            return "the element types differ";
    c->out[0] = (Type){.dtype = t, .dim = d};
    return NULL;
}
/* ---- Operators of one tensor. Inputs: x, its scale and zero point, those of the result. */
static const char *single_one(Call *c) {
    static const int needed[] = {0, 1, 3}, scales[] = {1, 2, 3, 4};
    const char *why = inputs_present(c, 3, needed);
    return why ? why : inputs_single(c, 4, scales);
}
static const char *shape_one(Call *c) {
    const char *why = single_one(c);
    return why ? why : shape_bytes(c, 0, c->in[0]->dim);
}
#define OF_ONE(function)                       \
    "%p = dequantize %x %x_scale %x_zero\n"    \
    "%r = " function "\n"                      \
    "%y = quantize %r %y_scale %y_zero to=x\n" \
    "out %y\n"
static const char expand_sigmoid[] = OF_ONE("sigmoid %p");
static const char expand_leakyrelu[] = OF_ONE("leakyrelu %p alpha=alpha");
static const AttrDef leakyrelu_attrs[] = {{"alpha", A_REAL, "1/100", .draw = "0 1/10 1/2 -1/2"},
                                          {0}};
static const OnnxMap onnx_sigmoid[] = {{"com.microsoft", "QLinearSigmoid", 1, 0, ""}, {0}};
static const OnnxMap onnx_leakyrelu[] = {{"com.microsoft", "QLinearLeakyRelu", 1, 0, "alpha"}, {0}};
#define ONE "x x_scale x_zero? y_scale y_zero?"
const Op op_qlinearsigmoid = {
    "qlinearsigmoid", ONE, "y", .shape = shape_one, .expand = expand_sigmoid, .onnx = onnx_sigmoid};
const Op op_qlinearleakyrelu = {"qlinearleakyrelu",    ONE,       "y",
                                leakyrelu_attrs,       shape_one, .expand = expand_leakyrelu,
                                .onnx = onnx_leakyrelu};

/* opset:since13: the attribute opset says which version of Softmax the node was made from. Up to
   opset 12, Softmax joined all axes from `axis` on; this is the present meaning only if that is the
   last one. */
static bool read_opset(Call *c, OnnxRead *r, int attr) {
    (void)attr;
    const int64_t axis = r->integer(r, "axis", -1);
    return r->integer(r, "opset", 0) >= 13 || axis == -1 || axis == c->in[0]->dim.n - 1 ||
           r->refuse(r, "it stands for a Softmax of an opset before 13 along several axes");
}
static bool write_opset(Call *c, OnnxWrite *w, int attr) {
    (void)c, (void)attr;
    return w->integer(w, "opset", 13);
}
static const OnnxItem softmax_items[] = {{"opset", "since13", read_opset, write_opset}, {0}};
static const char expand_softmax[] = OF_ONE("softmax %p axis=axis");
static const AttrDef softmax_attrs[] = {{"axis", A_INT, "-1", .axes = true, .draw = "0 1 -1"}, {0}};
static const char *shape_softmax(Call *c) {
    return axis(c, 0, c->in[0]->dim.n) < 0 ? "axis out of range" : shape_one(c);
}
static const OnnxMap onnx_softmax[] = {
    {"com.microsoft", "QLinearSoftmax", 1, 0, "axis opset:since13"}, {0}};
const Op op_qlinearsoftmax = {"qlinearsoftmax",
                              ONE,
                              "y",
                              softmax_attrs,
                              shape_softmax,
                              .expand = expand_softmax,
                              .onnx = onnx_softmax,
                              .items = softmax_items};

/* qlinearglobalmean: the mean over all axes but the first two. */
static const char *shape_mean(Call *c) {
    const char *why = single_one(c);
    Dims d = c->in[0]->dim;
    if (d.n < 3) return "an image with too few axes";
    for (int k = 2; k < d.n; k++) d.v[k] = poly_int(c->w, 1);
    return why ? why : shape_bytes(c, 0, d);
}
static double parameter(const Step *s, void *const slot[], int view, double none) {
    if (view >= s->nview || s->view[view].rank < 0) return none;
    return kernel_real(&s->view[view], slot, s->view[view].offset);
}
/* Storing the result saturates. */
static int kernel_mean(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    const double scale = parameter(s, slot, 2, 1) / parameter(s, slot, 4, 1),
                 zero = parameter(s, slot, 3, 0), shift = parameter(s, slot, 5, 0);
    View inner = *x;
    int64_t i[STEP_RANK], j[STEP_RANK];
    inner.dim[0] = inner.dim[1] = 1;
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        double sum = 0, n = 0;
        for (bool in = kernel_first(&inner, j); in; in = kernel_next(&inner, j), n++) {
            int64_t at[STEP_RANK];
            memcpy(at, j, sizeof at);
            at[0] = i[0], at[1] = i[1];
            sum += kernel_real(x, slot, kernel_at(x, at)) - zero;
        }
        const double mean = n > 0 ? rint(sum / n * scale) + shift : shift;
        kernel_set_real(y, slot, kernel_at(y, i), mean);
    }
    return 0;
}
/* Sums the stored 8-bit integers, then divides, shifts, scales and quantizes in floats, which hold
   the sum exactly if the image has at most 256 by 256 places. */
static int steps_mean(Call *c, const View in[], const View out[], StepBuf *b) {
    enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO };
    const View *y = &out[0], *x = &in[X];
    View sum;
    int64_t places = 1;
    for (int k = 2; k < x->rank; k++) places *= x->dim[k];
    if (places > 1 << 16 || places < 1 || !step_buffer(b, DT_INT32, 2, x->dim, &sum)) return 0;
    step_param(b, step_add(b, S_REDUCE, 2, (const View[]){sum, *x}), 1,
               (const int64_t[]){REDUCE_SUM});
    View v[6] = {*y, sum, per_axis_view(&in[X_SCALE], y, -1), per_axis_view(&in[Y_SCALE], y, -1)};
    v[1] = *y, v[1].slot = sum.slot, v[1].dtype = DT_INT32, v[1].offset = 0;
    for (int k = 0; k < y->rank; k++) v[1].stride[k] = k < 2 ? sum.stride[k] : 0;
    Scalar code[12] = {{.op = C_VIEW, .a = 1},
                       {.op = C_CONST, .k = (double)places},
                       {.op = C_DIV, .a = 0, .b = 1}};
    int n = 3, nview = 4;
    if (has(c, X_ZERO)) {
        v[nview] = per_axis_view(&in[X_ZERO], y, -1);
        code[3] = (Scalar){.op = C_VIEW, .a = (uint8_t)nview++};
        code[4] = (Scalar){.op = C_SUB, .a = 2, .b = 3};
        n = 5;
    }
    const uint8_t at = (uint8_t)n;
    const Scalar scaled[] = {{.op = C_VIEW, .a = 2},
                             {.op = C_VIEW, .a = 3},
                             {.op = C_DIV, .a = at, .b = (uint8_t)(at + 1)},
                             {.op = C_MUL, .a = (uint8_t)(at - 1), .b = (uint8_t)(at + 2)},
                             {.op = C_ROUND, .a = (uint8_t)(at + 3)}};
    memcpy(code + n, scaled, sizeof scaled);
    n += 5;
    if (has(c, Y_ZERO)) {
        v[nview] = per_axis_view(&in[Y_ZERO], y, -1);
        code[n] = (Scalar){.op = C_VIEW, .a = (uint8_t)nview++};
        code[n + 1] = (Scalar){.op = C_ADD, .a = (uint8_t)(n - 1), .b = (uint8_t)n};
        n += 2;
    }
    step_code(b, step_add(b, S_EWISE, nview, v), n, code);
    return 1;
}
static const OnnxMap onnx_mean[] = {
    {"com.microsoft", "QLinearGlobalAveragePool", 1, 0, "channels_last==0"}, {0}};
const Op op_qlinearglobalmean = {
    "qlinearglobalmean", ONE, "y", .shape = shape_mean, .steps = steps_mean, .kernel = kernel_mean,
    .onnx = onnx_mean};

/* qlinearaveragepool: the average over windows. The channels are axis 1 or, with `last`, the last
   one. */
enum { KERNEL, STRIDES, PADS, CEIL, COUNT_PADS, LAST };
static const AttrDef pool_attrs[] = {
    [KERNEL] = {.name = "kernel", .kind = A_INTS, .draw = "1 2 3"},
    [STRIDES] = {"strides", A_INTS, "1", .fill = PER_SPATIAL, .draw = "1 2 3"},
    [PADS] = {"pads", A_INTS, "0", .fill = PER_SIDE, .draw = "0 1"},
    [CEIL] = {"ceil", A_ENUM, "no", "no yes", .draw = "no yes"},
    [COUNT_PADS] = {"count_pads", A_ENUM, "no", "no yes", .draw = "no yes"},
    [LAST] = {"last", A_ENUM, "no", "no yes", .draw = "no yes"},
    {0}};
/* Requires only what is needed to count the windows; averagepool, in the expansion, requires the
   rest. */
static const char *shape_pool(Call *c) {
    const char *why = single_one(c);
    Dims d = c->in[0]->dim;
    const int ns = d.n - 2, first = enum_value(c, LAST) ? 1 : 2;
    const PolyList kernel = ints(c, KERNEL), s = ints(c, STRIDES), p = ints(c, PADS);
    if (why) return why;
    if (ns < 1 || ns > 3 || kernel.n != ns || s.n != ns || p.n != 2 * ns)
        return "pooling needs one kernel size, one stride and two pads for each spatial axis";
    /* ONNX Runtime then divides by the size of the whole window, which averagepool does not. */
    if (enum_value(c, CEIL) && enum_value(c, COUNT_PADS))
        return "windows beyond the padding (ceil_mode) are not supported together with "
               "count_include_pad";
    for (int j = 0; j < ns; j++) {
        const Poly one = poly(c, "1");
        need_ge(c, kernel.v[j], one);
        d.v[first + j] = windows_padded(c, d.v[first + j], (WindowAxis){kernel.v[j], s.v[j], one},
                                        p.v[j], p.v[j + ns], enum_value(c, CEIL));
    }
    return shape_bytes(c, 0, d);
}
#define CHANNELS_FIRST(x, y)                                        \
    "[last=no] %" y " = %" x "\n"                                   \
    "[last=yes, x:3] %" y " = transpose %" x " perm=[0, 2, 1]\n"    \
    "[last=yes, x:4] %" y " = transpose %" x " perm=[0, 3, 1, 2]\n" \
    "[last=yes, x:5] %" y " = transpose %" x " perm=[0, 4, 1, 2, 3]\n"
#define CHANNELS_LAST(x, y)                                         \
    "[last=no] %" y " = %" x "\n"                                   \
    "[last=yes, x:3] %" y " = transpose %" x " perm=[0, 2, 1]\n"    \
    "[last=yes, x:4] %" y " = transpose %" x " perm=[0, 2, 3, 1]\n" \
    "[last=yes, x:5] %" y " = transpose %" x " perm=[0, 2, 3, 4, 1]\n"
static const char expand_pool[] = CHANNELS_FIRST(
    "x", "c") "%p = dequantize %c %x_scale %x_zero\n"
              "%r = averagepool %p kernel=kernel strides=strides pads=pads ceil=ceil "
              "count_pads=count_pads\n"
              "%q = quantize %r %y_scale %y_zero to=x\n" CHANNELS_LAST("q", "y") "out %y\n";
#define POOL "kernel=kernel_shape strides ceil=ceil_mode count_pads=count_include_pad "
static const OnnxMap onnx_pool[] = {
    {"com.microsoft", "QLinearAveragePool", 1, 0, POOL "pads:auto_pad last=no! channels_last==0"},
    {"com.microsoft", "QLinearAveragePool", 1, 0,
     POOL "pads auto_pad==NOTSET last=yes! +channels_last==1"},
    {0}};
const Op op_qlinearaveragepool = {"qlinearaveragepool", ONE,        "y",
                                  pool_attrs,           shape_pool, .expand = expand_pool,
                                  .onnx = onnx_pool};

/* nhwcmaxpool: the maximum over windows of 8-bit integers, with the channels last. */
enum { NHWC_DILATIONS = CEIL, NHWC_CEIL };
static const AttrDef nhwc_attrs[] = {
    [KERNEL] = {.name = "kernel", .kind = A_INTS, .draw = "1 2 3"},
    [STRIDES] = {"strides", A_INTS, "1", .fill = PER_SPATIAL, .draw = "1 2 3"},
    [PADS] = {"pads", A_INTS, "0", .fill = PER_SIDE, .draw = "0 1"},
    [NHWC_DILATIONS] = {"dilations", A_INTS, "1", .fill = PER_SPATIAL, .draw = "1 2"},
    [NHWC_CEIL] = {"ceil", A_ENUM, "no", "no yes", .draw = "no yes"},
    {0}};
static const char *shape_nhwc(Call *c) {
    Dims d = c->in[0]->dim;
    const PolyList kernel = ints(c, KERNEL), s = ints(c, STRIDES), p = ints(c, PADS),
                   dilation = ints(c, NHWC_DILATIONS);
    const int ns = d.n - 2;
    if (!is_byte(c->in[0])) return "not supported for these element types";
    if (d.n != 4 || kernel.n != ns || s.n != ns || p.n != 2 * ns || dilation.n != ns)
        return "pooling needs one kernel size, one stride, one dilation and two pads for each "
               "spatial axis, of which there are two";
    for (int j = 0; j < ns; j++) {
        need_ge(c, kernel.v[j], poly(c, "1"));
        const WindowAxis x = {kernel.v[j], s.v[j], dilation.v[j]};
        d.v[1 + j] =
            windows_padded(c, d.v[1 + j], x, p.v[j], p.v[j + ns], enum_value(c, NHWC_CEIL));
    }
    c->out[0] = (Type){.dtype = c->in[0]->dtype, .dim = d};
    return NULL;
}
static const char expand_nhwc[] =
    "%t = transpose %x perm=[0, 3, 1, 2]\n"
    "%p = maxplace %t kernel=kernel strides=strides pads=pads dilations=dilations ceil=ceil\n"
    "%y = transpose %p perm=[0, 2, 3, 1]\n"
    "out %y\n";
static const OnnxMap onnx_nhwc[] = {
    {"com.microsoft", "NhwcMaxPool", 1, 0,
     "kernel=kernel_shape strides pads dilations ceil=ceil_mode auto_pad==NOTSET"},
    {0}};
const Op op_nhwcmaxpool = {
    "nhwcmaxpool", "x", "y", nhwc_attrs, shape_nhwc, .expand = expand_nhwc, .onnx = onnx_nhwc};

/* ---- Operators of two tensors, broadcast. */
static const char *shape_two(Call *c) {
    static const int needed[] = {0, 1, 3, 4, 6}, scales[] = {1, 2, 4, 5, 6, 7};
    const char *why = inputs_present(c, 5, needed);
    if (!why) why = inputs_single(c, 6, scales);
    if (why) return why;
    Dims a = c->in[0]->dim, b = c->in[3]->dim, y = a.n >= b.n ? a : b;
    if (c->in[3]->dtype != c->in[0]->dtype) return "the element types differ";
    for (int k = 1; k <= a.n && k <= b.n; k++) need_eq(c, a.v[a.n - k], b.v[b.n - k]);
    return shape_bytes(c, 0, y);
}
#define OF_TWO(operator)                               \
    "%p = dequantize %a %a_scale %a_zero\n"            \
    "%q = dequantize %b %b_scale %b_zero\n"            \
    "%r = "                                            \
    operator" %p %q\n"                                 \
            "%y = quantize %r %y_scale %y_zero to=a\n" \
            "out %y\n"
static const char expand_add[] = OF_TWO("add"), expand_mul[] = OF_TWO("mul");
static const OnnxMap onnx_add[] = {{"com.microsoft", "QLinearAdd", 1, 0, "pair:broadcast"}, {0}};
static const OnnxMap onnx_mul[] = {{"com.microsoft", "QLinearMul", 1, 0, "pair:broadcast"}, {0}};
#define TWO "a a_scale a_zero? b b_scale b_zero? y_scale y_zero?"
const Op op_qlinearadd = {"qlinearadd",    TWO, "y", .shape = shape_two, .expand = expand_add,
                          .onnx = onnx_add};
const Op op_qlinearmul = {"qlinearmul",    TWO, "y", .shape = shape_two, .expand = expand_mul,
                          .onnx = onnx_mul};

/* ---- Concatenation. Inputs: scale and zero point of the result, then each x with its scale and
   zero point. */
enum { Y_SCALE, Y_ZERO, PARTS, EACH = 3 };
static const AttrDef concat_attrs[] = {
    {.name = "axis", .kind = A_INT, .axes = true, .draw = "0 1 -1"}, {0}};
static const char *shape_concat(Call *c) {
    static const int scales[] = {0, 1};
    const char *why = inputs_single(c, 2, scales);
    if (c->nin < PARTS + EACH || (c->nin - PARTS) % EACH) return "inputs are missing";
    for (int k = 0; k < c->nin; k++)
        if (!c->in[k]) return "inputs are missing";
    Dims d = c->in[PARTS]->dim;
    const int a = axis(c, 0, d.n);
    if (a < 0) return "axis out of range";
    for (int j = PARTS; j < c->nin && !why; j += EACH) {
        const Dims x = c->in[j]->dim;
        why = inputs_single(c, 2, (const int[]){j + 1, j + 2});
        if (x.n != d.n) return "the inputs have different ranks";
        for (int k = 0; k < x.n; k++)
            if (k != a) need_eq(c, x.v[k], d.v[k]);
        if (j > PARTS) d.v[a] = poly(c, "n + m", d.v[a], x.v[a]);
    }
    return why ? why : shape_bytes(c, PARTS, d);
}
static int params_concat(Call *c, int64_t param[]) {
    param[1] = axis(c, 0, c->in[PARTS]->dim.n);
    return 1;
}
static int kernel_concat(const Step *s, void *const slot[]) {
    const View *y = &s->view[0];
    const double scale = parameter(s, slot, 1 + Y_SCALE, 1),
                 shift = parameter(s, slot, 1 + Y_ZERO, 0);
    const int64_t a = s->param[1];
    int64_t start = 0, i[STEP_RANK], to[STEP_RANK];
    for (int j = 1 + PARTS; j < s->nview; start += s->view[j].dim[a], j += EACH) {
        const View *x = &s->view[j];
        const double factor = parameter(s, slot, j + 1, 1), zero = parameter(s, slot, j + 2, 0);
        for (bool more = kernel_first(x, i); more; more = kernel_next(x, i)) {
            const double v =
                rint((kernel_real(x, slot, kernel_at(x, i)) - zero) * factor / scale) + shift;
            memcpy(to, i, sizeof to);
            to[a] += start;
            kernel_set_real(y, slot, kernel_at(y, to), v);
        }
    }
    return 0;
}
static int steps_concat(Call *c, const View in[], const View out[], StepBuf *b) {
    static const Scalar code[] = {{.op = C_VIEW, .a = 1},        {.op = C_VIEW, .a = 3},
                                  {.op = C_SUB, .a = 0, .b = 1}, {.op = C_VIEW, .a = 2},
                                  {.op = C_MUL, .a = 2, .b = 3}, {.op = C_VIEW, .a = 4},
                                  {.op = C_DIV, .a = 4, .b = 5}, {.op = C_ROUND, .a = 6},
                                  {.op = C_VIEW, .a = 5},        {.op = C_ADD, .a = 7, .b = 8}};
    const int a = axis(c, 0, out[0].rank);
    int64_t start = 0;
    for (int j = PARTS; j < c->nin; start += in[j].dim[a], j += EACH) {
        View v[6] = {view_part(&out[0], a, start, in[j].dim[a]), in[j]};
        v[2] = per_axis_view(&in[j + 1], &v[0], -1), v[3] = per_axis_view(&in[j + 2], &v[0], -1);
        v[4] = per_axis_view(&in[Y_SCALE], &v[0], -1), v[5] = per_axis_view(&in[Y_ZERO], &v[0], -1);
        step_code(b, step_add(b, S_EWISE, 6, v), sizeof code / sizeof *code, code);
    }
    return 1;
}
static const OnnxMap onnx_concat[] = {{"com.microsoft", "QLinearConcat", 1, 0, "axis"}, {0}};
const Op op_qlinearconcat = {"qlinearconcat",
                             "y_scale y_zero xs..",
                             "y",
                             concat_attrs,
                             shape_concat,
                             .kernel = kernel_concat,
                             .params = params_concat,
                             .steps = steps_concat,
                             .onnx = onnx_concat};
