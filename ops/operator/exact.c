/* exact.c -- steps for sums of products of 8-bit integers minus their zero points. A back end that
   has an algorithm for such integers gets one step. Elsewhere floats hold such a sum exactly, in
   any order, as long as no more than EXACT_TERMS terms of at most 255 * 255 are added: so products
   and convolutions of floats compute a slice of the terms at a time, and slices are added as
   integers. */
#include "ops/core/element.h"
#include "ops/operator/op.h"
#include <string.h>

View per_axis_view(const View *in, const View *like, int axis) {
    View y = *like;
    y.slot = in->slot, y.dtype = in->dtype, y.offset = in->offset, y.format = in->format;
    for (int k = 0; k < y.rank; k++)
        y.stride[k] = k == axis && in->rank == 1 && in->dim[0] > 1 ? in->stride[0] : 0;
    return y;
}
/* y = x - zero, per tensor or along the axis. */
static void add_less(StepBuf *b, const View *y, const View *x, const View *zero, int axis) {
    static const Scalar code[] = {
        {.op = C_VIEW, .a = 1}, {.op = C_VIEW, .a = 2}, {.op = C_SUB, .a = 0, .b = 1}};
    step_code(b, step_add(b, S_EWISE, 3, (const View[]){*y, *x, per_axis_view(zero, x, axis)}), 3,
              code);
}
/* Whether all zero points are known to be `is`. NULL or left out: they are 0. */
static bool zeros_are(const StepBuf *b, const View *zero, int64_t is) {
    if (!zero || zero->rank < 0) return is == 0;
    const void *data = b->target->known(b->target->user, zero->slot);
    const int64_t n = view_count(zero), stride = zero->rank ? zero->stride[zero->rank - 1] : 0;
    if (!data || zero->rank > 1) return false;
    for (int64_t k = 0; k < n; k++)
        if (element_real((DType)zero->dtype, data, zero->offset + k * stride) != (double)is)
            return false;
    return true;
}
/* *y: w minus its zero points as 8-bit signed integers: w itself, or a view of *made, which a step
   must write first (rank -1: none). False: they do not fit, or are not known. */
static bool signed_weights(StepBuf *b, const View *w, const View *zero, View *y, View *made) {
    View once = *w;
    *y = *w, made->rank = -1;
    if (!b->target->known(b->target->user, w->slot)) return false;
    if (w->dtype == DT_INT8) return zeros_are(b, zero, 0);
    for (int k = 0; k < w->rank; k++)
        if (w->stride[k] == 0) once.dim[k] = 1;
    if (!zeros_are(b, zero, 128) || !step_buffer(b, DT_INT8, once.rank, once.dim, made))
        return false;
    *y = view_spread(made, w->rank, w->dim);
    return true;
}
/* Adds a step that sums each column of w; *sums: the sums as a view of the sizes of `like`. */
static bool column_sums(StepBuf *b, const View *w, const View *like, View *sums) {
    const int r = w->rank;
    View columns = *w, each;
    for (int k = 0; k < r - 2; k++)
        if (w->dim[k] > 1 && w->stride[k]) return false;
    columns.rank = 2;
    for (int k = 0; k < 2; k++)
        columns.dim[k] = w->dim[r - 1 - k], columns.stride[k] = w->stride[r - 1 - k];
    if (!step_buffer(b, DT_INT32, 1, columns.dim, &each)) return false;
    const View v[] = {each, columns};
    step_param(b, step_add(b, S_REDUCE, 2, v), 1, (const int64_t[]){REDUCE_SUM});
    *sums = per_axis_view(&each, like, like->rank - 1);
    return true;
}
/* The zero point of x: a number known now, or one that is read when the step runs. */
typedef struct ZeroPoint {
    bool known;
    int64_t is; /* if it is known; 0: there is none */
} ZeroPoint;
/* False: it is not a single number. */
static bool zero_point(const StepBuf *b, const View *zero, ZeroPoint *out) {
    *out = (ZeroPoint){.known = true};
    if (!zero || zero->rank < 0) return true;
    if (view_count(zero) != 1) return false;
    const void *data = b->target->known(b->target->user, zero->slot);
    out->known = data != NULL;
    if (data) out->is = (int64_t)element_real((DType)zero->dtype, data, zero->offset);
    return true;
}
/* acc - zero * (the sum of w's column), of views 3 and 4. */
static void subtract_zero(StepBuf *b, Step *s) {
    step_code(b, s, 5,
              (const Scalar[]){{.op = C_ACC},
                               {.op = C_VIEW, .a = 3},
                               {.op = C_VIEW, .a = 4},
                               {.op = C_MUL, .a = 1, .b = 2},
                               {.op = C_SUB, .a = 0, .b = 3}});
}
/* The steps of exact_int8; where it fails, what was added stays. */
static bool add_int8(StepBuf *b, const Step *step, bool padded, const View *x_zero,
                     const View *w_zero, int w_axis) {
    enum { PARAMS = 2 + 4 * STEP_SPATIAL };
    const View *v = step->view;
    View views[5] = {v[0], v[1], v[2]}, made;
    int64_t params[PARAMS] = {0};
    ZeroPoint zero;
    if (!b->target || step->nparam >= PARAMS || v[0].dtype != DT_INT32) return false;
    if (step->nparam) memcpy(params, step->param, (size_t)step->nparam * sizeof *params);
    if (!zero_point(b, x_zero, &zero)) return false;
    if (!zero.known && (padded || step->kind != S_GEMM)) return false;
    params[step->nparam] = zero.is;
    if (!signed_weights(b, &v[2], w_zero, &views[2], &made)) return false;
    Step wanted = *step;
    wanted.nparam++, wanted.view = views, wanted.param = params;
    if (!b->target->runs(b->target->user, &wanted)) return false;
    if (made.rank >= 0) {
        View w = v[2];
        memcpy(w.dim, made.dim, sizeof w.dim);
        add_less(b, &made, &w, w_zero, w_axis);
    }
    if (!zero.known) {
        views[3] = per_axis_view(x_zero, &v[0], -1);
        if (!column_sums(b, &views[2], &v[0], &views[4])) return false;
    }
    Step *s = step_add(b, step->kind, zero.known ? 3 : 5, views);
    step_param(b, s, wanted.nparam, params);
    if (!zero.known) subtract_zero(b, s);
    return true;
}
bool exact_int8(StepBuf *b, const Step *step, bool padded, const View *x_zero, const View *w_zero,
                int w_axis) {
    const int steps = b->n, buffers = b->nbuffers;
    return add_int8(b, step, padded, x_zero, w_zero, w_axis) ||
           (b->n = steps, b->nbuffers = buffers, false);
}
bool exact_floats(StepBuf *b, const View *x, const View *zero, int axis, View *out) {
    if (!step_buffer(b, DT_FLOAT, x->rank, x->dim, out)) return false;
    if (!zero || zero->rank < 0) return step_copy(b, out, x), true;
    add_less(b, out, x, zero, axis);
    return true;
}
void exact_round(StepBuf *b, Step *s) {
    step_code(b, s, 2, (const Scalar[]){{.op = C_ACC}, {.op = C_ROUND, .a = 0}});
}
static void exact_add(StepBuf *b, const View *y, const View *part) {
    step_code(b, step_add(b, S_EWISE, 3, (const View[]){*y, *y, *part}), 3,
              (const Scalar[]){
                  {.op = C_VIEW, .a = 1}, {.op = C_VIEW, .a = 2}, {.op = C_ADD, .a = 0, .b = 1}});
}
bool exact_collect(StepBuf *b, const View *sums, const View *y, View *whole) {
    if (!whole->slot && !step_buffer(b, DT_INT32, y->rank, y->dim, whole)) return false;
    step_copy(b, whole, sums);
    exact_add(b, y, whole);
    return true;
}
void exact_quantize(StepBuf *b, const View *y, const View *sums, const View *bias,
                    const View scale[3], const View *zero) {
    enum { SUM = 2 }; /* the instruction that is the sum with its bias */
    static const Scalar code[] = {
        {.op = C_VIEW, .a = 1},  {.op = C_VIEW, .a = 6},        {.op = C_ADD, .a = 0, .b = 1},
        {.op = C_VIEW, .a = 2},  {.op = C_VIEW, .a = 3},        {.op = C_MUL, .a = 3, .b = 4},
        {.op = C_VIEW, .a = 4},  {.op = C_DIV, .a = 5, .b = 6}, {.op = C_MUL, .a = SUM, .b = 7},
        {.op = C_ROUND, .a = 8}, {.op = C_VIEW, .a = 5},        {.op = C_ADD, .a = 9, .b = 10}};
    enum { CODE = sizeof code / sizeof *code };
    Scalar own[CODE];
    View v[] = {*y, *sums, scale[0], scale[1], scale[2], *zero, bias ? *bias : *zero};
    memcpy(own, code, sizeof own);
    if (!bias) { /* the sum alone */
        own[1].a = 5;
        own[SUM] = (Scalar){.op = C_VIEW, .a = 1};
    }
    step_code(b, step_add(b, S_EWISE, bias ? 7 : 6, v), CODE, own);
}
