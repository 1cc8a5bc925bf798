/* dnn_steps.c -- convolutions, pools and matrix products of floats by oneDNN.

   Choices: 0 uses the views in their own layout; 1 lets oneDNN choose any layout, with reorders
   before and after; 2 (convolutions only, where the version has it) is Winograd, also with
   reorders. */
#include "ops/cpu/dnn.h"
#include <assert.h>
#include <string.h>

/* Whether oneDNN is used for these views: 16-bit floats are converted before and after. */
static bool all_float(const Step *s, int n) {
    for (int i = 0; i < n; i++)
        if (view_count(&s->view[i]) == 0) return false;
    return view_class(s->view, n) == CLASS_FLOAT;
}
/* Describes the bias, a vector along one axis of y. */
static bool bias_input(Build *b, Chain *c, const Fused *f, int axis, int rank, Input *in) {
    const View *v = &b->step->view[f->bias];
    View line = {.slot = v->slot, .dtype = DT_FLOAT, .rank = rank, .offset = v->offset};
    for (int i = 0; i < rank; i++) line.dim[i] = 1;
    line.dim[rank - 1] = v->dim[axis], line.stride[rank - 1] = 1;
    return input_of(b, c, f->bias, &line, in);
}

/* ---- convolution */
/* A single window gets a stride of 1, since it does not move: version 3.7 computes other strides
   wrongly here (with one input channel). */
Windows exact_windows(const Step *s) {
    const View *y = &s->view[0], *x = &s->view[1];
    const StepWindow w = step_window(s);
    Windows at;
    for (int i = 0; i < w.n; i++) {
        at.kernel[i] = w.kernel[i];
        at.begin[i] = w.begin[i], at.dilation[i] = w.dilation[i] - 1;
        at.stride[i] = y->dim[2 + i] == 1 ? 1 : w.stride[i];
        at.end[i] = (y->dim[2 + i] - 1) * at.stride[i] + (w.kernel[i] - 1) * w.dilation[i] + 1 -
                    x->dim[2 + i] - at.begin[i];
    }
    return at;
}
View grouped_weights(const View *w, int64_t group) {
    return group == 1 ? *w : view_split(w, 0, w->dim[0] / group);
}
bool dnn_conv_possible(const Device *d, const Step *s, DnnAlgorithm algorithm) {
    /* version 3.7 crashes if a window lies entirely in the padding */
    return d->dnn && all_float(s, 3) && windows_read(s) &&
           (algorithm != DNN_WINOGRAD ||
            (dnn_has_winograd && winograd_like(s) && d->simd->width == 16));
}
/* Whether oneDNN applies the activation slowly. Its implementations by matrix product apply all
   activations except relu element by element. For x * sigmoid(x), every implementation takes twice
   as long as our pass over its output, and four times in depthwise convolutions. */
static bool slow_activation(const_dnnl_primitive_desc_t pd, const Fused *f) {
    if (!f->nact || (f->nact == 1 && f->act[0].kind == ACT_RELU)) return false;
    for (int i = 0; i < f->nact; i++)
        if (f->act[i].kind == ACT_SWISH) return true;
    return strstr(implementation(pd), "gemm") != NULL;
}
/* Describes the weights and the bias: those of the step, or those that include the affine part of
   the epilogue. */
static bool conv_operands(Build *b, Chain *c, const Fused *f, const AffinePart *affine, Input *w,
                          Input *bias) {
    const Step *s = b->step;
    View weights = s->view[2];
    Operand o = {.constant = NULL};
    if (affine && affine->scale) {
        /* chain_typed() set b->repacked, so that the constant is our own copy in scratch memory,
           which may be written. */
        assert(b->repacked);
        if (!operand_pack(b, 2, DT_FLOAT, &o) || !o.constant) return false;
        float *scaled = (float *)(uintptr_t)o.constant;
        const int64_t count = view_count(&weights), each = count / weights.dim[0];
        for (int64_t i = 0; i < count; i++) scaled[i] *= affine->scale[i / each];
        weights = o.view;
    }
    weights = grouped_weights(&weights, s->param[CONV_GROUP]);
    if (!(o.constant ? known_input(b, c, &weights, o.constant, w) : input_of(b, c, 2, &weights, w)))
        return false;
    const View line = view_dense(SLOT_SCRATCH, DT_FLOAT, 1, &s->view[0].dim[1]);
    if (affine) return known_input(b, c, &line, affine->shift, bias);
    return !f->whole || !f->bias || bias_input(b, c, f, 1, 1, bias);
}
/* APART: oneDNN would compute the epilogue slowly, or cannot, and it must run afterwards. */
typedef enum Outcome { DONE, REFUSED, APART } Outcome;
static Outcome outcome_of(bool done) { return done ? DONE : REFUSED; }
static Outcome dnn_conv_try(Build *b, DnnAlgorithm algorithm, Kernel *k, const Fused *f,
                            const AffinePart *affine) {
    const Step *s = b->step;
    const View *v = s->view;
    const bool has_bias = affine || (f->whole && f->bias);
    Input x, w, bias, y;
    Chain *c = chain_new(b, k, f->whole, algorithm == DNN_PLAIN ? TAIL_PACKED : TAIL_ANY, &y);
    if (!c ||
        !(algorithm ? input_of(b, c, 1, &v[1], &x) : packed_input_of(b, c, 1, DT_FLOAT, &x)) ||
        !conv_operands(b, c, f, affine, &w, &bias))
        return outcome_of(chain_end(b, k, false));
    const Windows at = exact_windows(s);
    /* Version 3.7 misreads weights that are not in a layout of its own choice (gaps, one
       channel). */
    const Layout x_md = algorithm ? any_layout(b, c, x.md) : x.md,
                 y_md = algorithm ? any_layout(b, c, y.md) : y.md, w_md = any_layout(b, c, w.md);
    dnnl_primitive_attr_t attr = make_attributes(f);
    if (attr && x_md && y_md && w_md)
        c->pd = describe_conv(
            c->dnn->engine,
            algorithm == DNN_WINOGRAD ? dnnl_convolution_winograd : dnnl_convolution_direct,
            (ConvLayouts){x_md, w_md, has_bias ? bias.md : NULL, y_md}, &at, attr);
    dnnl_primitive_attr_destroy(attr);
    if (slow_activation(c->pd, f)) return chain_end(b, k, false), APART;
    return outcome_of(chain_finish(b, k, &x, &w, has_bias ? &bias : NULL, &y));
}
/* Moves the affine part into known weights. The rest of the epilogue is fused, or runs
   afterwards. */
bool dnn_conv_build(Build *b, DnnAlgorithm algorithm, Kernel *k) {
    const size_t before = b->workspace;
    const Step *whole = b->step;
    Step rest = *whole;
    AffinePart split;
    const bool known = b->weights && b->weights[2], affine = known && affine_split(b, 1, &split);
    if (affine) rest.code = split.code, rest.ncode = split.ncode;
    b->step = &rest;
    const Fused none = {0}, fused = fused_match(b, &rest, 1);
    const bool second_bias = affine && fused.whole && fused.bias; /* its contents are not known */
    const AffinePart *part = affine ? &split : NULL;
    Outcome o = second_bias ? APART : dnn_conv_try(b, algorithm, k, &fused, part);
    if (o == APART) {
        b->workspace = before;
        o = dnn_conv_try(b, algorithm, k, &none, part);
    }
    b->step = whole;
    return o == DONE;
}

/* ---- pooling */
/* Whether oneDNN's formula counts padding cells correctly. It does not where the last windows reach
   beyond the padding. */
static bool pads_countable(const Step *s) {
    const StepWindow w = step_window(s);
    if (s->param[POOL_KIND] == POOL_MAX || !pool_counts_pads(s)) return true;
    for (int i = 0; i < w.n; i++)
        if ((s->view[0].dim[2 + i] - 1) * w.stride[i] + (w.kernel[i] - 1) * w.dilation[i] + 1 >
            s->view[1].dim[2 + i] + w.begin[i] + w.end[i])
            return false;
    return true;
}
/* An empty image is excluded, because oneDNN computes nothing for it, not even the mean of the
   padding. */
int dnn_pool_choices(const Device *d, const Step *s) {
    return d->dnn && all_float(s, 2) && pads_countable(s) && view_count(&s->view[1]) ? 2 : 0;
}
static dnnl_alg_kind_t pool_kind(const Step *s) {
    return s->param[POOL_KIND] == POOL_MAX ? dnnl_pooling_max
           : pool_counts_pads(s)           ? dnnl_pooling_avg_include_padding
                                           : dnnl_pooling_avg_exclude_padding;
}
/* Whether oneDNN chose plain loops over windows, which are several times as slow as ours
   (direct.c). */
static bool is_plain_loop(const_dnnl_primitive_desc_t pd) {
    const char *name = implementation(pd);
    return strncmp(name, "simple", 6) == 0 || strncmp(name, "ref", 3) == 0;
}
bool dnn_pool_build(Build *b, int choice, Kernel *k) {
    const Step *s = b->step;
    const View *v = s->view;
    const Fused none = {0};
    const int n = v[1].rank - 2;
    Input x, y;
    Chain *c = chain_new(b, k, false, choice ? TAIL_ANY : TAIL_PACKED, &y);
    if (!c || !(choice ? input_of(b, c, 1, &v[1], &x) : packed_input_of(b, c, 1, DT_FLOAT, &x)))
        return chain_end(b, k, false);
    const Windows at = exact_windows(s);
    const dnnl_format_tag_t tag = n == 1 ? dnnl_nCw16c : n == 2 ? dnnl_nChw16c : dnnl_nCdhw16c;
    const Layout x_md = choice ? chain_layout(b, c, x.md, tag) : x.md,
                 y_md = choice ? any_layout(b, c, y.md) : y.md;
    dnnl_primitive_attr_t attr = make_attributes(&none);
    if (attr && x_md && y_md)
        c->pd = describe_pool(c->dnn->engine, pool_kind(s), x_md, y_md, &at, attr);
    dnnl_primitive_attr_destroy(attr);
    if (is_plain_loop(c->pd)) return chain_end(b, k, false);
    return chain_finish(b, k, &x, NULL, NULL, &y);
}

/* ---- matrix products */
int dnn_gemm_choices(const Device *d, const Step *s) {
    View flat[3];
    return d->dnn && all_float(s, 3) && gemm_flatten(s, flat);
}
bool dnn_gemm_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const Step *s = b->step;
    View flat[3];
    const Fused f = fused_match(b, s, s->view[0].rank - 1);
    const bool has_bias = f.whole && f.bias;
    Input x, w, bias, y;
    /* oneDNN's algorithm for packed weights writes only dense matrices, and version 3.7 writes a
       single column as if it had no gaps. */
    const bool packs = (b->weights && b->weights[2]) || s->view[0].dim[s->view[0].rank - 1] == 1;
    Chain *c = chain_new(b, k, f.whole, packs ? TAIL_DENSE : TAIL_ANY, &y);
    if (!c) return chain_end(b, k, false);
    View views[3] = {c->tail.into, s->view[1], s->view[2]};
    Step there = *s;
    there.view = views;
    if (!gemm_flatten(&there, flat)) return chain_end(b, k, false);
    if (!output_at(b, c, &flat[0], &y) || !input_of(b, c, 1, &flat[1], &x) ||
        !input_of(b, c, 2, &flat[2], &w) ||
        (has_bias && !bias_input(b, c, &f, s->view[0].rank - 1, flat[0].rank, &bias)))
        return chain_end(b, k, false);
    Input *added = has_bias ? &bias : NULL;
    const Layout w_md = w.known ? any_layout(b, c, w.md) : w.md;
    dnnl_primitive_attr_t attr = make_attributes(&f);
    if (attr && w_md)
        c->pd = describe_gemm(c->dnn->engine, x.md, w_md, added ? added->md : NULL, y.md, attr);
    dnnl_primitive_attr_destroy(attr);
    return chain_finish(b, k, &x, &w, added, &y);
}
