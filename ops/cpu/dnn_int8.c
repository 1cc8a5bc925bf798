/* dnn_int8.c -- convolutions and matrix products of 8-bit integers by oneDNN, on processors with
   VNNI: instructions that add four products to a sum of 32 bits without saturating in between. On
   other processors these steps are computed in floats.

   The epilogue is handed to oneDNN as far as it can compute it: first scale[c]*acc + shift[c]
   (affine.c), then activations (fused.c), then a quantization of the result. The rest of the
   epilogue runs over the output. */
#include "ops/cpu/dnn.h"
#include <math.h>
#include <string.h>

static int32_t step_zero(const Step *s) { return (int32_t)s->param[s->nparam - 1]; }
static int channel_axis(const Step *s) { return s->kind == S_CONV ? 1 : s->view[0].rank - 1; }

static bool adds_four_products(void) {
    const unsigned isa = (unsigned)dnnl_get_effective_cpu_isa();
    return (isa & dnnl_cpu_isa_avx512_core_vnni) == dnnl_cpu_isa_avx512_core_vnni ||
           (isa & dnnl_cpu_isa_avx2_vnni) == dnnl_cpu_isa_avx2_vnni;
}

/* ---- the end of an epilogue that quantizes the result to 8 bits */
/* Returns the value that a guard against NaN passes on, or i if there is no guard. (Quantizing NaN
   to a signed type gives the least number, but sums of integers are never NaN.) */
static int skip_nan_guard(const Step *s, int i) {
    const Scalar *w = &s->code[i];
    return w->op == C_WHERE && s->code[w->a].op == C_ISNAN && s->code[w->a].a == w->c ? w->c : i;
}
static bool match_ending(const Step *s, Joined *r) {
    if (dtype_size(s->view[0].dtype) != 1 || s->ncode < 2) return false;
    *r = (Joined){.x = -1};
    return rounding_match(s->code, skip_nan_guard(s, s->ncode - 1), r) && r->k[0] > 0 &&
           isfinite(1 / r->k[0]) && fabsf(r->k[1]) < 256;
}

/* ---- what oneDNN does after the sums */
typedef struct DnnEpilogue {
    Fused fused;    /* whole: it is everything except the ending */
    bool ends;      /* there is an ending */
    int dtype;      /* the element type that oneDNN writes */
    Quantization q; /* the scales and zero points */
    float *bias;    /* for each channel; NULL: none */
} DnnEpilogue;

/* Whether the program computes with real numbers. Otherwise it must see the sums as integers. */
static bool computes_floats(const Step *s) {
    bool floats = s->view[0].dtype == DT_FLOAT;
    for (int i = 3; i < s->nview; i++) floats |= s->view[i].dtype == DT_FLOAT;
    return floats;
}
/* Finds what oneDNN can finish, and leaves the remaining program in *rest. */
static DnnEpilogue epilogue_new(Build *b, Step *rest, AffinePart *split) {
    const Step *whole = b->step;
    const int axis = channel_axis(whole);
    const int64_t n = whole->view[0].dim[axis];
    DnnEpilogue f = {.dtype = DT_INT32, .q = {.x_zero = step_zero(whole)}};
    if (!computes_floats(whole)) {
        f.fused.whole = whole->ncode == 0;
        return f;
    }
    f.dtype = DT_FLOAT;
    if (!affine_split(b, axis, split)) {
        f.fused.whole = whole->ncode == 0;
        return f;
    }
    program_read_once(b, whole->view, split->code, split->ncode, split->code);
    rest->code = split->code, rest->ncode = split->ncode;
    Step inner = *rest;
    Joined end = {.x = -1}; /* end.k: the scale, the zero point */
    f.ends = match_ending(rest, &end);
    if (f.ends) inner.ncode = end.x + 1;
    f.fused = fused_match(b, &inner, axis);
    if (f.fused.bias) f.fused.whole = false;
    f.ends &= f.fused.whole;
    /* with a single relu, or no activation, dividing by the scale of the result can come first */
    const bool scaled =
        f.ends && f.fused.nact <= 1 && (f.fused.nact == 0 || f.fused.act[0].kind == ACT_RELU);
    if (f.ends && !scaled) {
        if (f.fused.nact == 2) f.ends = f.fused.whole = false;
        else f.fused.act[f.fused.nact++] = (Act){ACT_LINE, (float)(1 / (double)end.k[0]), 0};
    }
    float *scale = ARENA_NEW(b->arena, float, n);
    f.bias = ARENA_NEW(b->arena, float, n);
    for (int64_t c = 0; c < n; c++) {
        const double k = split->scale ? (double)split->scale[c] : 1,
                     step = f.ends && scaled ? (double)end.k[0] : 1;
        scale[c] = (float)(k / step);
        f.bias[c] = !dnn_scales_bias ? (float)((double)split->shift[c] / step)
                    : k != 0         ? (float)((double)split->shift[c] / k)
                                     : 0;
        if (!isfinite(f.bias[c]) ||
            (dnn_scales_bias && k == 0 && split->shift[c] != 0)) { /* no bias can express this
                                                                      shift */
            *rest = *whole;
            return (DnnEpilogue){.dtype = DT_FLOAT, .q = {.x_zero = step_zero(whole)}};
        }
    }
    const bool grouped = whole->kind == S_CONV && whole->param[CONV_GROUP] > 1;
    f.q.scale = scale, f.q.nscale = n, f.q.mask = 1 << axis, f.q.weight_mask = grouped ? 3 : 1;
    if (f.ends) f.dtype = whole->view[0].dtype, f.q.y_zero = (int32_t)end.k[1];
    return f;
}
static dnnl_primitive_attr_t epilogue_attributes(const DnnEpilogue *f) {
    dnnl_primitive_attr_t attr = make_attributes(&f->fused);
    if (attr && quantization_attributes(attr, &f->q) == dnnl_success) return attr;
    dnnl_primitive_attr_destroy(attr);
    return NULL;
}

/* Keeps the numbers that the chain hands to the primitive in each run. */
static void keep_numbers(Build *b, Chain *c, const DnnEpilogue *f) {
    Quantization *q = ARENA_NEW(b->arena, Quantization, 1);
    *q = f->q, c->q = q;
}

/* ---- convolution */
static bool conv_operands(Build *b, Chain *c, bool any, Input *x, Input *w) {
    const Step *s = b->step;
    const View weights = grouped_weights(&s->view[2], s->param[CONV_GROUP]);
    const bool read = any ? typed_input_of(b, c, 1, &s->view[1], s->view[1].dtype, x)
                          : packed_input_of(b, c, 1, s->view[1].dtype, x);
    return read && typed_input_of(b, c, 2, &weights, DT_INT8, w);
}
static dnnl_primitive_desc_t describe_right_conv(dnnl_engine_t engine, ConvLayouts layouts,
                                                 const Windows *at, dnnl_primitive_attr_t attr) {
    dnnl_primitive_desc_t pd = describe_conv(engine, dnnl_convolution_direct, layouts, at, attr);
    if (!dnn_wrong_conv || !strstr(implementation(pd), dnn_wrong_conv)) return pd;
    dnnl_primitive_desc_destroy(pd);
    return NULL;
}
static bool int8_conv_try(Build *b, bool any, const DnnEpilogue *f, Kernel *k) {
    const Step *s = b->step;
    const View *v = s->view;
    const bool done = f->fused.whole;
    Input x, w, bias, y;
    Chain *c = chain_typed(b, k, done, f->dtype, any ? TAIL_ANY : TAIL_PACKED, &y);
    const View line = view_dense(SLOT_SCRATCH, DT_FLOAT, 1, &v[0].dim[1]);
    if (!c || !conv_operands(b, c, any, &x, &w) ||
        (f->bias && !known_input(b, c, &line, f->bias, &bias)))
        return chain_end(b, k, false);
    const Windows at = exact_windows(s);
    Layout x_md = any ? any_layout(b, c, x.md) : x.md, y_md = any ? any_layout(b, c, y.md) : y.md,
           w_md = any_layout(b, c, w.md);
    keep_numbers(b, c, f);
    dnnl_primitive_attr_t attr = epilogue_attributes(f);
    if (attr && x_md && y_md && w_md)
        c->pd = describe_right_conv(
            c->dnn->engine, (ConvLayouts){x_md, w_md, f->bias ? bias.md : NULL, y_md}, &at, attr);
    dnnl_primitive_attr_destroy(attr);
    return chain_finish(b, k, &x, &w, f->bias ? &bias : NULL, &y);
}

/* ---- matrix product */
/* How a step is built: by the first variant that oneDNN supports. */
typedef enum Variant {
    AS_IT_LIES,
    ANY_LAYOUT, /* oneDNN chooses layouts: a convolution's, or that of a product's weights */
    LEFT_COPIED /* so that a product's left operand is dense, too */
} Variant;

/* Whether the product is computed correctly. oneDNN 3.12.1's implementations for AMX read scratch
   memory that they have not written, where the weights of the last columns should be, unless the
   weights are packed. (With scratch memory full of 0xaa, 352 of 1,500 random shapes were wrong, and
   none with packed weights.) */
static bool is_right_gemm(const Chain *c, bool packed) {
    return c->pd && (packed || !strstr(implementation(c->pd), "amx"));
}
/* The left operand in place or, for layouts that oneDNN does not multiply, copied. */
static bool gemm_left(Build *b, Chain *c, const View *flat, bool copied, Input *x) {
    Operand o;
    return copied ? operand_pack_as(b, 1, flat, flat->dtype, &o) && operand_input(b, c, &o, x)
                  : typed_input_of(b, c, 1, flat, flat->dtype, x);
}
static bool int8_gemm_try(Build *b, Variant variant, DnnEpilogue *f, Kernel *k) {
    const Step *s = b->step;
    const bool any = variant != AS_IT_LIES;
    View flat[3];
    Input x, w, bias, y;
    Chain *c = chain_typed(b, k, f->fused.whole, f->dtype, TAIL_DENSE, &y);
    if (!c) return chain_end(b, k, false);
    View views[3] = {c->tail.into, s->view[1], s->view[2]};
    Step there = *s;
    there.view = views;
    if (!gemm_flatten(&there, flat)) return chain_end(b, k, false);
    const int rank = flat[0].rank;
    int64_t dim[STEP_RANK] = {1, 1, 1};
    dim[rank - 1] = flat[0].dim[rank - 1];
    const View line = view_dense(SLOT_SCRATCH, DT_FLOAT, rank, dim);
    f->q.mask = f->q.weight_mask = 1 << (rank - 1);
    if (!output_at(b, c, &flat[0], &y) || !gemm_left(b, c, &flat[1], variant == LEFT_COPIED, &x) ||
        !typed_input_of(b, c, 2, &flat[2], DT_INT8, &w) ||
        (f->bias && !known_input(b, c, &line, f->bias, &bias)))
        return chain_end(b, k, false);
    const Layout w_md = any ? any_layout(b, c, w.md) : w.md;
    keep_numbers(b, c, f);
    dnnl_primitive_attr_t attr = epilogue_attributes(f);
    if (attr && w_md)
        c->pd = describe_gemm(c->dnn->engine, x.md, w_md, f->bias ? bias.md : NULL, y.md, attr);
    dnnl_primitive_attr_destroy(attr);
    if (!is_right_gemm(c, any)) return chain_end(b, k, false);
    return chain_finish(b, k, &x, &w, f->bias ? &bias : NULL, &y);
}

/* ---- the step */
static bool build_with(Build *b, DnnEpilogue *f, Kernel *k) {
    const size_t before = b->workspace;
    const bool conv = b->step->kind == S_CONV;
    for (Variant variant = AS_IT_LIES; variant <= (conv ? ANY_LAYOUT : LEFT_COPIED); variant++) {
        b->workspace = before;
        if (conv ? int8_conv_try(b, variant == ANY_LAYOUT, f, k) : int8_gemm_try(b, variant, f, k))
            return true;
    }
    b->workspace = before;
    return false;
}
bool dnn_int8_build(Build *b, Kernel *k) {
    const Step *whole = b->step;
    Step rest = *whole;
    AffinePart split;
    DnnEpilogue f = epilogue_new(b, &rest, &split), plain = {.dtype = f.ends ? DT_FLOAT : f.dtype};
    b->step = &rest;
    bool done = build_with(b, &f, k);
    b->step = whole;
    plain.q.x_zero = f.q.x_zero, plain.fused.whole = whole->ncode == 0;
    return done || build_with(b, &plain, k);
}

static Layout describe_any(Arena *a, const View *v, dnnl_data_type_t type) {
    View dense = view_dense(0, v->dtype, v->rank, v->dim);
    dnnl_dims_t dim, stride;
    for (int i = 0; i < v->rank; i++) dim[i] = dense.dim[i], stride[i] = dense.stride[i];
    const Layout plain = layout_strided(a, v->rank, dim, stride, type),
                 any = plain ? layout_tagged(a, plain, dnnl_format_tag_any) : NULL;
    if (plain) layout_free(plain);
    return any;
}
/* Describes the step with layouts that oneDNN chooses. */
static dnnl_primitive_desc_t describe_bare(const Device *d, Arena *a, const Step *s) {
    View v[3] = {s->view[0], s->view[1], s->view[2]};
    if (s->kind == S_GEMM ? !gemm_flatten(s, v) : !windows_read(s)) return NULL;
    if (s->kind == S_CONV) v[2] = grouped_weights(&s->view[2], s->param[CONV_GROUP]);
    const Layout y = describe_any(a, &v[0], dnnl_s32),
                 x = describe_any(a, &v[1], v[1].dtype == DT_UINT8 ? dnnl_u8 : dnnl_s8),
                 w = describe_any(a, &v[2], dnnl_s8);
    const DnnEpilogue bare = {.q = {.x_zero = step_zero(s)}};
    dnnl_primitive_attr_t attr = epilogue_attributes(&bare);
    dnnl_primitive_desc_t pd = NULL;
    if (attr && x && w && y && s->kind == S_GEMM)
        pd = describe_gemm(d->dnn->engine, x, w, NULL, y, attr);
    if (attr && x && w && y && s->kind == S_CONV) {
        const Windows at = exact_windows(s);
        pd = describe_right_conv(d->dnn->engine, (ConvLayouts){x, w, NULL, y}, &at, attr);
    }
    dnnl_primitive_attr_destroy(attr);
    if (x) layout_free(x);
    if (w) layout_free(w);
    if (y) layout_free(y);
    return pd;
}
bool dnn_int8_possible(const Device *d, const Step *s) {
    if (!dnn_has_int8 || !d->dnn || !adds_four_products()) return false;
    Escape escape = {.error = {0}};
    Arena *volatile a = NULL;
    if (setjmp(escape.here)) return arena_free(a), false;
    a = arena_new(&escape, 0);
    dnnl_primitive_desc_t pd = describe_bare(d, a, s);
    const bool possible = pd && !is_reference(pd);
    if (pd) dnnl_primitive_desc_destroy(pd);
    arena_free(a);
    return possible;
}
