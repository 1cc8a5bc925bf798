/* qlineargemm, qlineargemmbias: QGemm of ONNX Runtime's domain com.microsoft: alpha times the
   product of a and b, or of their transposes. qlineargemmbias first adds to the product the list c
   of 32-bit integers, which share its scale. b has one scale or, with transB, one for each column
   of the product. */
#include "ops/operator/op.h"

enum { ALPHA, TRANS_A, TRANS_B };
enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, C, GEMM_SCALE, GEMM_ZERO };
static const AttrDef gemm_attrs[] = {
    [ALPHA] = {"alpha", A_REAL, "1", .draw = "1 1/2"},
    [TRANS_A] = {"transA", A_ENUM, "no", "no yes", .draw = "no yes"},
    [TRANS_B] = {"transB", A_ENUM, "no", "no yes", .draw = "no yes"},
    {0}};
static const char *gemm_types(Call *c) {
    const DType a = c->in[A]->dtype, b = c->in[B]->dtype;
    if (!is_byte(c->in[A]) || !is_byte(c->in[B]) || c->in[A_ZERO]->dtype != a ||
        c->in[B_ZERO]->dtype != b || c->in[A_SCALE]->dtype != DT_FLOAT ||
        c->in[B_SCALE]->dtype != DT_FLOAT || c->in[GEMM_SCALE]->dtype != DT_FLOAT ||
        c->in[GEMM_ZERO]->dtype != a)
        return "not supported for these element types";
    return has(c, C) && c->in[C]->dtype != DT_INT32 ? "c must be of int32" : NULL;
}
static const char *gemm_of(Call *c, bool bias) {
    static const int needed[] = {A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, GEMM_SCALE, GEMM_ZERO},
                     scales[] = {A_SCALE, A_ZERO, GEMM_SCALE, GEMM_ZERO},
                     of_b[] = {B_SCALE, B_ZERO};
    const char *why = inputs_present(c, 8, needed);
    if (!why && !c->in[C] != !bias) why = bias ? "c is missing" : "c is given";
    if (!why) why = gemm_types(c);
    if (!why) why = inputs_single(c, 4, scales);
    if (!why && !enum_value(c, TRANS_B)) why = inputs_single(c, 2, of_b);
    if (why) return why;
    const Dims a = c->in[A]->dim, b = c->in[B]->dim;
    if (a.n != 2 || b.n != 2) return "the product needs two matrices";
    const Poly n = b.v[!enum_value(c, TRANS_B)];
    need_eq(c, a.v[!enum_value(c, TRANS_A)], b.v[enum_value(c, TRANS_B)]);
    for (int k = 0; k < 2 && !why; k++) why = per_axis_fits(c, of_b[k], n);
    if (why) return why;
    if (bias && c->in[C]->dim.n != 1) return "c must have one axis";
    if (bias) need_eq(c, c->in[C]->dim.v[0], n);
    c->out[0] = (Type){.dtype = c->in[A]->dtype, .dim = {2, {a.v[enum_value(c, TRANS_A)], n}}};
    return NULL;
}
static const char *shape_gemm(Call *c) { return gemm_of(c, false); }
static const char *shape_gemmbias(Call *c) { return gemm_of(c, true); }
#define FACTORS                             \
    "%p = dequantize %a %a_scale %a_zero\n" \
    "%q = dequantize %b %b_scale %b_zero axis=0\n"
#define GEMM(added)                                                                  \
    "%r = gemm %p %q " added " alpha=alpha beta=alpha transA=transA transB=transB\n" \
    "%y = quantize %r %y_scale %y_zero to=a\n"                                       \
    "out %y\n"
static const char expand_gemm[] = FACTORS GEMM("_"), expand_gemmbias[] = FACTORS
                                                     "%g = dequantize %c %a_scale\n"
                                                     "%h = mul %g %b_scale\n" GEMM("%h");
static const OnnxMap onnx_gemm[] = {{"com.microsoft", "QGemm", 1, 0, "alpha transA transB"}, {0}};
const Op op_qlineargemm = {"qlineargemm",
                           "a a_scale a_zero b b_scale b_zero c? y_scale y_zero",
                           "y",
                           gemm_attrs,
                           shape_gemm,
                           .expand = expand_gemm,
                           .onnx = onnx_gemm};
const Op op_qlineargemmbias = {"qlineargemmbias",
                               "a a_scale a_zero b b_scale b_zero c y_scale y_zero",
                               "y",
                               gemm_attrs,
                               shape_gemmbias,
                               .expand = expand_gemmbias,
                               .onnx = onnx_gemm};
