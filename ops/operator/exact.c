/* exact.c -- steps for sums of products of 8-bit integers minus their zero points.

   A back end that has an algorithm for such integers gets a single step. For others, products and
   convolutions of floats are used: a float holds such a sum exactly, in whatever order it is added,
   as long as it has at most EXACT_TERMS terms, each of at most 255 * 255. So each step of floats
   computes a slice of the terms, and the sums of slices are added as integers. */
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
/* Adds a step y = x - zero, with one zero point or one per index of the axis. */
static void add_less(StepBuf *b, const View *y, const View *x, const View *zero, int axis) {
    static const Scalar code[] = {
        {.op = C_VIEW, .a = 1}, {.op = C_VIEW, .a = 2}, {.op = C_SUB, .a = 0, .b = 1}};
    step_code(b, step_add(b, S_EWISE, 3, (const View[]){*y, *x, per_axis_view(zero, x, axis)}), 3,
              code);
}
/* Whether all zero points are known to be `is`. If they are NULL or omitted, they are 0. */
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
/* Weights as signed 8-bit integers. */
typedef struct Signed {
    View view;
    View made; /* the buffer that a step must fill with w - 128; rank -1: none is needed */
    bool needs_correction; /* they are w - 128, but the zero points are not 128: a correction must
                   be added to the sums */
} Signed;
/* Makes weights signed. may_correct: a correction may be added to the sums. False: this is not
   possible. */
static bool signed_weights(StepBuf *b, const View *w, const View *zero, bool may_correct,
                           Signed *y) {
    View once = *w;
    *y = (Signed){.view = *w, .made = {.rank = -1}};
    if (w->dtype == DT_INT8) return zeros_are(b, zero, 0);
    for (int k = 0; k < w->rank; k++)
        if (w->stride[k] == 0) once.dim[k] = 1;
    y->needs_correction = !zeros_are(b, zero, 128);
    if ((y->needs_correction && (!may_correct || (zero && zero->rank > 1))) ||
        !step_buffer(b, DT_INT8, once.rank, once.dim, &y->made))
        return false;
    y->view = view_spread(&y->made, w->rank, w->dim);
    return true;
}
/* Adds a step made = w - 128. */
static void add_signed(StepBuf *b, const View *made, const View *w) {
    View v = *w;
    memcpy(v.dim, made->dim, sizeof v.dim);
    step_code(b, step_add(b, S_EWISE, 2, (const View[]){*made, v}), 3,
              (const Scalar[]){{.op = C_VIEW, .a = 1},
                               {.op = C_CONST, .k = 128},
                               {.op = C_SUB, .a = 0, .b = 1}});
}
/* Adds a step that sums each row of x; *sums views the sums with the sizes of y. */
static bool row_sums(StepBuf *b, const View *x, const View *y, View *sums) {
    View each;
    if (!step_buffer(b, DT_INT32, x->rank - 1, x->dim, &each)) return false;
    const View v[] = {each, *x};
    step_param(b, step_add(b, S_REDUCE, 2, v), 1, (const int64_t[]){REDUCE_SUM});
    *sums = *y;
    sums->slot = each.slot, sums->dtype = each.dtype, sums->offset = each.offset;
    sums->format = each.format;
    memcpy(sums->stride, each.stride, sizeof sums->stride);
    sums->stride[y->rank - 1] = 0;
    return true;
}
/* Adds a step that sums each column of w; *sums views the sums with the sizes of `like`. */
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
/* The zero point of x: known now, or read when the step runs. */
typedef struct ZeroPoint {
    bool known;
    int64_t is; /* the zero point, if known; 0 also if there is none */
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
/* The views of a product or convolution, and the program of its epilogue. */
typedef struct Epilogue {
    int nview, ncode;
    View view[8];
    Scalar code[20];
} Epilogue;
static uint8_t epilogue_add(Epilogue *e, Scalar c) {
    e->code[e->ncode] = c;
    return (uint8_t)e->ncode++;
}
static uint8_t epilogue_view(Epilogue *e, View v) {
    e->view[e->nview] = v;
    return epilogue_add(e, (Scalar){.op = C_VIEW, .a = (uint8_t)e->nview++});
}
static uint8_t epilogue_pair(Epilogue *e, int op, uint8_t a, uint8_t b) {
    return epilogue_add(e, (Scalar){.op = (uint8_t)op, .a = a, .b = b});
}
static uint8_t epilogue_number(Epilogue *e, double k) {
    return epilogue_add(e, (Scalar){.op = C_CONST, .k = k});
}
/* Emits acc - x_zero * (sum of the column of w). */
static bool subtract_zero(StepBuf *b, Epilogue *e, const View *x_zero, uint8_t *acc) {
    View sums;
    if (!column_sums(b, &e->view[2], &e->view[0], &sums)) return false;
    const uint8_t zero = epilogue_view(e, per_axis_view(x_zero, &e->view[0], -1)),
                  sum = epilogue_view(e, sums);
    *acc = epilogue_pair(e, C_SUB, *acc, epilogue_pair(e, C_MUL, zero, sum));
    return true;
}
/* Adds a convolution of x with ones, which sums each window of x minus its zero point; *sums views
   the sums with the sizes of y. There are two filters, which are as fast as one. */
static bool window_sums(StepBuf *b, const Epilogue *e, const Step *conv, View *sums) {
    const View *y = &e->view[0], *w = &e->view[2];
    int64_t two[STEP_RANK], filters[STEP_RANK];
    View made, ones;
    memcpy(two, y->dim, sizeof two), memcpy(filters, w->dim, sizeof filters);
    two[1] = filters[0] = 2;
    if (!step_buffer(b, DT_INT32, y->rank, two, &made) ||
        !step_buffer(b, DT_INT8, w->rank, filters, &ones))
        return false;
    const View v[] = {made, e->view[1], ones};
    Step wanted = *conv;
    wanted.view = v;
    if (!b->target->runs(b->target->user, &wanted)) return false;
    step_code(b, step_add(b, S_EWISE, 1, &ones), 1, &(Scalar){.op = C_CONST, .k = 1});
    step_param(b, step_add(b, S_CONV, 3, v), conv->nparam, conv->param);
    *sums = made;
    memcpy(sums->dim, y->dim, sizeof sums->dim);
    sums->stride[1] = 0;
    return true;
}
/* Emits the sum of x minus its zero point over the terms of each element of the result. */
static bool add_sums(StepBuf *b, Epilogue *e, const Step *s, const View *x_zero,
                     const ZeroPoint *zero, uint8_t *sum) {
    const View *x = &e->view[1], *y = &e->view[0];
    const double n = (double)x->dim[x->rank - 1];
    View sums;
    if (!(s->kind == S_CONV ? window_sums(b, e, s, &sums) : row_sums(b, x, y, &sums))) return false;
    *sum = epilogue_view(e, sums);
    if (s->kind == S_CONV) return true;
    uint8_t less = epilogue_number(e, n * (double)zero->is);
    if (!zero->known)
        less = epilogue_pair(e, C_MUL, epilogue_view(e, per_axis_view(x_zero, y, -1)),
                             epilogue_number(e, n));
    *sum = epilogue_pair(e, C_SUB, *sum, less);
    return true;
}
/* Emits the correction for weights w - 128: acc + (128 - w_zero) * (that sum). */
static bool add_correction(StepBuf *b, Epilogue *e, const Step *s, const View *x_zero,
                           const ZeroPoint *zero, const View *w_zero, uint8_t *acc) {
    const View *y = &e->view[0];
    const int channel = s->kind == S_CONV ? 1 : y->rank - 1;
    uint8_t sum;
    if (!add_sums(b, e, s, x_zero, zero, &sum)) return false;
    uint8_t factor = epilogue_number(e, 128);
    if (w_zero && w_zero->rank >= 0)
        factor =
            epilogue_pair(e, C_SUB, factor, epilogue_view(e, per_axis_view(w_zero, y, channel)));
    *acc = epilogue_pair(e, C_ADD, *acc, epilogue_pair(e, C_MUL, factor, sum));
    return true;
}
/* Adds the steps of exact_int8. If this fails, steps and buffers may remain, which the caller
   removes. */
static bool add_int8(StepBuf *b, const Step *step, bool padded, const View *x_zero,
                     const View *w_zero) {
    enum { PARAMS = 2 + 4 * STEP_SPATIAL };
    Epilogue e = {.nview = 3, .view = {step->view[0], step->view[1], step->view[2]}};
    int64_t params[PARAMS] = {0};
    ZeroPoint zero;
    Signed weights;
    if (!b->target || step->nparam >= PARAMS || e.view[0].dtype != DT_INT32) return false;
    if (step->nparam) memcpy(params, step->param, (size_t)step->nparam * sizeof *params);
    if (!zero_point(b, x_zero, &zero)) return false;
    if (!zero.known && (padded || step->kind != S_GEMM)) return false;
    params[step->nparam] = zero.is;
    /* packing unknown weights in each run pays only for products */
    if (step->kind != S_GEMM && !b->target->known(b->target->user, step->view[2].slot))
        return false;
    /* a window has all channels: there is one group */
    const bool whole = step->kind == S_GEMM || step->param[0] == 1;
    if (!signed_weights(b, &step->view[2], w_zero, whole, &weights)) return false;
    e.view[2] = weights.view;
    Step wanted = *step;
    wanted.nparam++, wanted.view = e.view, wanted.param = params;
    if (!b->target->runs(b->target->user, &wanted)) return false;
    if (weights.made.rank >= 0) add_signed(b, &weights.made, &step->view[2]);
    uint8_t acc = epilogue_add(&e, (Scalar){.op = C_ACC});
    if (!zero.known && !subtract_zero(b, &e, x_zero, &acc)) return false;
    if (weights.needs_correction && !add_correction(b, &e, &wanted, x_zero, &zero, w_zero, &acc))
        return false;
    Step *s = step_add(b, step->kind, e.nview, e.view);
    step_param(b, s, wanted.nparam, params);
    if (acc) step_code(b, s, e.ncode, e.code);
    return true;
}
bool exact_int8(StepBuf *b, const Step *step, bool padded, const View *x_zero, const View *w_zero) {
    const int steps = b->n, buffers = b->nbuffers;
    return add_int8(b, step, padded, x_zero, w_zero) ||
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
    enum { SUM = 2 }; /* the instruction that computes the sum with its bias */
    static const Scalar code[] = {
        {.op = C_VIEW, .a = 1},  {.op = C_VIEW, .a = 6},        {.op = C_ADD, .a = 0, .b = 1},
        {.op = C_VIEW, .a = 2},  {.op = C_VIEW, .a = 3},        {.op = C_MUL, .a = 3, .b = 4},
        {.op = C_VIEW, .a = 4},  {.op = C_DIV, .a = 5, .b = 6}, {.op = C_MUL, .a = SUM, .b = 7},
        {.op = C_ROUND, .a = 8}, {.op = C_VIEW, .a = 5},        {.op = C_ADD, .a = 9, .b = 10}};
    enum { CODE = sizeof code / sizeof *code };
    Scalar own[CODE];
    View v[] = {*y, *sums, scale[0], scale[1], scale[2], *zero, bias ? *bias : *zero};
    memcpy(own, code, sizeof own);
    if (!bias) { /* without a bias: the sum alone */
        own[1].a = 5;
        own[SUM] = (Scalar){.op = C_VIEW, .a = 1};
    }
    step_code(b, step_add(b, S_EWISE, bias ? 7 : 6, v), CODE, own);
}
