/* qmatmul: matrix products with quantized weights of ONNX Runtime's domain com.microsoft, and its
   LSTM with such weights. Each is defined as the graph that it was fused from. */
#include "ops/operator/op.h"

static bool is_of(Call *c, int input, DType t) {
    return !has(c, input) || c->in[input]->dtype == t;
}

/* dynamicquantmatmul: quantizes a as dynamicquantize does and multiplies the integers by b.
   quantmatmulfloat: the same where a is quantized already. b has one scale and zero point, or one
   for each column. */
enum { A, B };
static const char *shape_columns(Call *c, int scale, int zero, int bias) {
    const Dims a = c->in[A]->dim, b = c->in[B]->dim;
    if (!is_byte(c->in[B]) || !is_of(c, scale, DT_FLOAT) || !is_of(c, zero, c->in[B]->dtype) ||
        !is_of(c, bias, DT_FLOAT))
        return "not supported for these element types";
    if (a.n < 2 || b.n != 2) return "only a matrix of weights is supported";
    need_eq(c, a.v[a.n - 1], b.v[0]);
    const char *why = per_axis_fits(c, scale, b.v[1]);
    if (!why) why = per_axis_fits(c, zero, b.v[1]);
    if (!why && has(c, bias) && c->in[bias]->dim.n != 1) why = "the bias must have one axis";
    if (!why && has(c, bias)) need_eq(c, c->in[bias]->dim.v[0], b.v[1]);
    c->out[0] = (Type){.dtype = DT_FLOAT, .dim = dims_with(a, -1, b.v[1])};
    return why;
}
static const char *shape_dynamic(Call *c) {
    return c->in[A]->dtype != DT_FLOAT ? "not supported for these element types"
                                       : shape_columns(c, 2, 3, 4);
}
static const char *shape_float(Call *c) {
    if (!is_byte(c->in[A]) || !is_of(c, 2, DT_FLOAT) || !is_of(c, 4, c->in[A]->dtype))
        return "not supported for these element types";
    if (!dims_single(c, c->in[2]->dim) || (has(c, 4) && !dims_single(c, c->in[4]->dim)))
        return "scale and zero point of a must be single numbers";
    return shape_columns(c, 3, 5, 6);
}
/* Lines that scale the product %i of integers and add the bias. */
#define SCALED                              \
    "%f = cast %i to=F\n"                   \
    "%c = broadcast %b_scale shape=[b.1]\n" \
    "%e = broadcast %scale shape=[b.1]\n"   \
    "%g = mul %c %e\n"                      \
    "%m = mul %f %g\n"                      \
    "[bias] %y = add %m %bias\n"            \
    "[!bias] %y = %m\n"                     \
    "out %y\n"
static const char expand_dynamic[] = "%q %scale %z = dynamicquantize %a\n"
                                     "%i = matmulinteger %q %b %z %b_zero\n" SCALED,
                  expand_float[] = "%i = matmulinteger %a %b %a_zero %b_zero\n"
                                   "[a] %scale = %a_scale\n" SCALED;
static const OnnxMap onnx_dynamic[] = {{"com.microsoft", "DynamicQuantizeMatMul", 1, 0, ""}, {0}},
                     onnx_float[] = {{"com.microsoft", "MatMulIntegerToFloat", 1, 0, ""}, {0}};
const Op op_dynamicquantmatmul = {
    "dynamicquantmatmul",   "a b b_scale b_zero? bias?", "y",
    .shape = shape_dynamic, .expand = expand_dynamic,    .onnx = onnx_dynamic};
const Op op_quantmatmulfloat = {"quantmatmulfloat",
                                "a b a_scale b_scale a_zero? b_zero? bias?",
                                "y",
                                .shape = shape_float,
                                .expand = expand_float,
                                .onnx = onnx_float};

/* matmulnbits: a [.., k] times the transpose of n rows of k weights. A weight has 2, 4 or 8 bits;
   those of a row are packed in blocks, each of which has a scale and a zero point, with the first
   weight in the lowest bits of a byte. The zero points are packed in the same way or are numbers of
   a's type; if left out, they are half of the range. */
enum { K, N, BITS, BLOCK };
enum { PACKED = 1, SCALES, ZERO, GROUPS, BIAS };
static const AttrDef bits_attrs[] = {[K] = {.name = "inner", .kind = A_INT, .draw = "40 64"},
                                     [N] = {.name = "columns", .kind = A_INT, .draw = "3"},
                                     [BITS] = {"bits", A_INT, "4", .draw = "2 4 8"},
                                     [BLOCK] = {.name = "block", .kind = A_INT, .draw = "16 32"},
                                     {0}};
static const char *shape_bits(Call *c) {
    const Dims a = c->in[A]->dim, b = c->in[PACKED]->dim;
    int64_t bits, block;
    if (!is_const(c, intof(c, BITS), &bits) || (bits != 2 && bits != 4 && bits != 8))
        return "only weights of 2, 4 and 8 bits are supported";
    if (!is_const(c, intof(c, BLOCK), &block) || block < 16) return "the block size is too small";
    if (!is_float(c->in[A]) || c->in[PACKED]->dtype != DT_UINT8 ||
        !is_of(c, SCALES, c->in[A]->dtype) || !is_of(c, BIAS, c->in[A]->dtype))
        return "not supported for these element types";
    if (has(c, GROUPS)) return "an order of the rows is not supported";
    if (a.n < 1 || b.n != 3 || c->in[SCALES]->dim.n > 2) return "the ranks are not supported";
    const Poly blocks =
        quot(c, poly(c, "k + b - 1", intof(c, K), intof(c, BLOCK)), intof(c, BLOCK));
    need_eq(c, a.v[a.n - 1], intof(c, K));
    need_eq(c, b.v[0], intof(c, N)), need_eq(c, b.v[1], blocks);
    need_eq(c, b.v[2], poly_int(c->w, block * bits / 8));
    need_eq(c, product(c, c->in[SCALES]->dim, 0, c->in[SCALES]->dim.n),
            poly(c, "n*b", intof(c, N), blocks));
    if (has(c, ZERO)) {
        const Dims z = c->in[ZERO]->dim;
        const bool packed = c->in[ZERO]->dtype == DT_UINT8;
        const Poly bytes = quot(c, poly(c, "b*i + 7", blocks, intof(c, BITS)), poly_int(c->w, 8));
        if (!packed && c->in[ZERO]->dtype != c->in[A]->dtype)
            return "not supported for these element types";
        need_eq(c, product(c, z, 0, z.n), poly(c, "n*b", intof(c, N), packed ? bytes : blocks));
    }
    if (has(c, BIAS) && c->in[BIAS]->dim.n != 1) return "the bias must have one axis";
    if (has(c, BIAS)) need_eq(c, c->in[BIAS]->dim.v[0], intof(c, N));
    c->out[0] = *c->in[A];
    c->out[0].dim = dims_with(a, -1, intof(c, N));
    return NULL;
}
#define COLUMNS                                                                \
    "%u = unpackbits %b bits=bits\n"                                           \
    "%w = cast %u to=a\n"                                                      \
    "[!zero, bits=2] %z = fill value=2 shape=[columns, b.1, 1] dtype=a\n"      \
    "[!zero, bits=4] %z = fill value=8 shape=[columns, b.1, 1] dtype=a\n"      \
    "[!zero, bits=8] %z = fill value=128 shape=[columns, b.1, 1] dtype=a\n"    \
    "[zero:U8] %zr = reshape %zero shape=[columns, floor((b.1*bits + 7)/8)]\n" \
    "[zero:U8] %zu = unpackbits %zr bits=bits\n"                               \
    "[zero:U8] %zs = slice %zu starts=[0, 0] sizes=[columns, b.1]\n"           \
    "[zero:U8] %zc = cast %zs to=a\n"                                          \
    "[zero:U8] %z = reshape %zc shape=[columns, b.1, 1]\n"                     \
    "[zero, !zero:U8] %z = reshape %zero shape=[columns, b.1, 1]\n"            \
    "%zb = broadcast %z shape=[columns, b.1, block]\n"                         \
    "%d = sub %w %zb\n"                                                        \
    "%s = reshape %scales shape=[columns, b.1, 1]\n"                           \
    "%sb = broadcast %s shape=[columns, b.1, block]\n"                         \
    "%e = mul %d %sb\n"                                                        \
    "%r = reshape %e shape=[columns, b.1*block]\n"                             \
    "%t = slice %r starts=[0, 0] sizes=[columns, inner]\n"
static const char expand_bits[] = COLUMNS "%p = fusedmatmul %a %t transB=yes\n"
                                          "[bias] %y = add %p %bias\n"
                                          "[!bias] %y = %p\n"
                                          "out %y\n";
static const OnnxMap onnx_bits[] = {
    {"com.microsoft", "MatMulNBits", 1, 0,
     "inner=K columns=N bits block=block_size accuracy_level:ignore weight_prepacked==0"},
    {0}};
const Op op_matmulnbits = {"matmulnbits",
                           "a b scales zero? groups? bias?",
                           "y",
                           bits_attrs,
                           shape_bits,
                           .expand = expand_bits,
                           .onnx = onnx_bits};

/* unpackbits: the numbers of `bits` bits that are packed in each byte, the lowest bits first. */
static const AttrDef unpack_attrs[] = {{"bits", A_INT, "4", .draw = "2 4 8"}, {0}};
static const char *shape_unpack(Call *c) {
    const Dims x = c->in[0]->dim;
    int64_t bits;
    if (!is_const(c, intof(c, 0), &bits) || (bits != 2 && bits != 4 && bits != 8))
        return "numbers of 2, 4 or 8 bits are supported";
    if (c->in[0]->dtype != DT_UINT8 || x.n < 1) return "unpackbits needs bytes";
    c->out[0] = *c->in[0];
    c->out[0].dim = dims_with(x, -1, poly(c, "n*p", x.v[x.n - 1], poly_int(c->w, 8 / bits)));
    return NULL;
}
static int params_unpack(Call *c, int64_t param[]) {
    return !is_const(c, intof(c, 0), &param[1]) ? -1 : 1;
}
static int kernel_unpack(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    const int64_t bits = s->param[1], each = 8 / bits;
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        const int64_t place = i[y->rank - 1], to = kernel_at(y, i);
        i[y->rank - 1] = place / each;
        const int64_t byte = kernel_integer(x, slot, kernel_at(x, i));
        i[y->rank - 1] = place;
        kernel_set_integer(y, slot, to, byte >> place % each * bits & ((1 << bits) - 1));
    }
    return 0;
}
const Op op_unpackbits = {"unpackbits",           "x",          "y",
                          unpack_attrs,           shape_unpack, .kernel = kernel_unpack,
                          .params = params_unpack};

/* dynamicquantlstm: lstm with quantized weights [d, i, 4*h] and [d, h, 4*h], which have one scale
   and zero point for each direction or for each column. ONNX Runtime also quantizes x and each
   state on the way, so its result only approximates the one that is defined here. */
enum { X, W, R, LSTM_BIAS, LENGTHS, H0, C0, PEEPHOLES, W_SCALE, W_ZERO, R_SCALE, R_ZERO };
enum { DIRECTION, HIDDEN, COUPLED };
static const AttrDef lstm_attrs[] = {
    [DIRECTION] = {"direction", A_ENUM, "forward", "forward reverse bidirectional",
                   .draw = "forward reverse bidirectional"},
    [HIDDEN] = {.name = "hidden", .kind = A_INT, .draw = "4"},
    [COUPLED] = {"coupled", A_ENUM, "no", "no yes", .draw = "no yes"},
    {0}};
static const char *shape_lstm(Call *c) {
    static const int needed[] = {W_SCALE, W_ZERO, R_SCALE, R_ZERO};
    const Dims x = c->in[X]->dim, w = c->in[W]->dim, r = c->in[R]->dim;
    const Poly h = intof(c, HIDDEN), gates = poly(c, "h*n", h, poly_int(c->w, 4)),
               d = poly_int(c->w, enum_value(c, DIRECTION) == 2 ? 2 : 1);
    if (c->in[X]->dtype != DT_FLOAT || !is_byte(c->in[W]) || c->in[R]->dtype != c->in[W]->dtype)
        return "not supported for these element types";
    if (x.n != 3 || w.n != 3 || r.n != 3) return "x, w and r must have three axes";
    need_eq(c, w.v[0], d), need_eq(c, w.v[1], x.v[2]), need_eq(c, w.v[2], gates);
    need_eq(c, r.v[0], d), need_eq(c, r.v[1], h), need_eq(c, r.v[2], gates);
    for (int k = 0; k < 4; k++) {
        if (!has(c, needed[k])) return "an input is missing";
        const Dims s = c->in[needed[k]]->dim;
        if (s.n < 1 || s.n > 2) return "scales and zero points have one axis or two";
        need_eq(c, s.v[0], d);
        if (s.n == 2) need_eq(c, s.v[1], gates);
    }
    for (int j = 0; j < c->nout; j++) c->out[j] = *c->in[X];
    c->out[0].dim = (Dims){4, {x.v[0], d, x.v[1], h}};
    c->out[1].dim = c->out[2].dim = (Dims){3, {d, x.v[1], h}};
    return NULL;
}
#define WEIGHTS(w)                                                                 \
    "%f" w " = cast %" w " to=F\n"                                                 \
    "%g" w " = cast %" w "_zero to=F\n"                                            \
    "[" w "_zero:1] %z" w " = reshape %g" w " shape=[" w ".0, 1, 1]\n"             \
    "[" w "_zero:2] %z" w " = reshape %g" w " shape=[" w ".0, 1, " w ".2]\n"       \
    "%y" w " = broadcast %z" w " shape=[" w ".0, " w ".1, " w ".2]\n"              \
    "%d" w " = sub %f" w " %y" w "\n"                                              \
    "[" w "_scale:1] %s" w " = reshape %" w "_scale shape=[" w ".0, 1, 1]\n"       \
    "[" w "_scale:2] %s" w " = reshape %" w "_scale shape=[" w ".0, 1, " w ".2]\n" \
    "%b" w " = broadcast %s" w " shape=[" w ".0, " w ".1, " w ".2]\n"              \
    "%m" w " = mul %d" w " %b" w "\n"                                              \
    "%t" w " = transpose %m" w " perm=[0, 2, 1]\n"
static const char expand_lstm[] = WEIGHTS("w")
    WEIGHTS("r") "%y %h %c = lstm %x %tw %tr %bias %lengths %h0 %c0 %peepholes direction=direction "
                 "hidden=hidden coupled=coupled\n"
                 "out %y %h %c\n";
static bool domain_lstm(Call *c, int input, Poly *low, Poly *high) {
    return input == LENGTHS && up_to(c, c->in[X]->dim.v[0], low, high);
}
static const OnnxMap onnx_lstm[] = {
    {"com.microsoft", "DynamicQuantizeLSTM", 1, 0,
     "rank:3 direction hidden=hidden_size coupled=input_forget activations:lstm"},
    {0}};
const Op op_dynamicquantlstm = {
    "dynamicquantlstm",
    "x w r bias? lengths? h0? c0? peepholes? w_scale w_zero r_scale r_zero",
    "y h c",
    lstm_attrs,
    shape_lstm,
    .expand = expand_lstm,
    .domain = domain_lstm,
    .onnx = onnx_lstm};
