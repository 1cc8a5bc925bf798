/* exact_int8.c -- a single step for sums of products of 8-bit integers minus their zero points, for
   back ends that have an algorithm for such integers.

   The algorithm multiplies by signed weights and knows the zero point of x beforehand. Weights that
   are unsigned, or have a zero point, are made signed: minus the zero point, if all differences
   fit, else minus 128; then (128 - zero point) times a sum of x is added to each result. If the
   zero point of x becomes known only when the step runs, the product of that zero point and a sum
   of the weights is subtracted. */
#include "ops/core/element.h"
#include "ops/operator/exact_windows.h"
#include "ops/operator/op_kernel.h"
#include <string.h>

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
    View made;        /* the buffer that a step must fill with w - less; rank -1: none is needed */
    bool minus_zeros; /* `made` is w minus its zero points; otherwise w - 128, and a correction must
                         be added to the sums unless all zero points are 128 */
    bool needs_correction;
} Signed;
/* Whether w and its zero points are known and all differences fit into 8 signed bits. */
static bool differences_fit(const StepBuf *b, const View *w, const View *zero, int axis) {
    const void *data = b->target->known(b->target->user, w->slot);
    if (!zero || zero->rank < 0 || zero->rank > 1 || !data) return false;
    const View of = per_axis_view(zero, w, axis);
    const void *zeros = b->target->known(b->target->user, zero->slot);
    int64_t i[STEP_RANK];
    if (!zeros) return false;
    for (bool more = kernel_first(w, i); more; more = kernel_next(w, i)) {
        const int64_t d = element_integer((DType)w->dtype, data, kernel_at(w, i)) -
                          element_integer((DType)zero->dtype, zeros, kernel_at(&of, i));
        if (!element_holds(DT_INT8, d)) return false;
    }
    return true;
}
/* Makes weights signed. axis: that of the channels or columns. False: this is not possible. */
static bool signed_weights(StepBuf *b, const View *w, const View *zero, int axis, Signed *y) {
    View once = *w;
    *y = (Signed){.view = *w, .made = {.rank = -1}};
    if (w->dtype == DT_INT8 && zeros_are(b, zero, 0)) return true;
    for (int k = 0; k < w->rank; k++)
        if (w->stride[k] == 0 && k != axis) once.dim[k] = 1; /* zero points differ along axis */
    y->minus_zeros = differences_fit(b, &once, zero, axis);
    if (w->dtype == DT_INT8 && !y->minus_zeros) return false;
    y->needs_correction = !y->minus_zeros && !zeros_are(b, zero, 128);
    if ((y->needs_correction && zero && zero->rank > 1) ||
        !step_buffer(b, DT_INT8, once.rank, once.dim, &y->made))
        return false;
    y->view = view_spread(&y->made, w->rank, w->dim);
    return true;
}
/* Adds the step that fills y->made. */
static void add_signed(StepBuf *b, const Signed *y, const View *w, const View *zero, int axis) {
    View v = *w;
    memcpy(v.dim, y->made.dim, sizeof v.dim);
    if (y->minus_zeros) exact_less(b, &y->made, &v, zero, axis);
    else
        step_code(b, step_add(b, S_EWISE, 2, (const View[]){y->made, v}), 3,
                  (const Scalar[]){{.op = C_VIEW, .a = 1},
                                   {.op = C_CONST, .k = 128},
                                   {.op = C_SUB, .a = 0, .b = 1}});
}
/* The axis of the result's channels or columns. */
static int channel_axis(StepKind kind, const View *y) { return kind == S_CONV ? 1 : y->rank - 1; }
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
/* Adds a step that sums the weights of each channel or column; *sums views the sums with the sizes
   of y. */
static bool weight_sums(StepBuf *b, StepKind kind, const View *w, View *sums) {
    const int r = w->rank;
    View terms = *w, each;
    if (kind == S_GEMM) {
        for (int k = 0; k < r - 2; k++)
            if (w->dim[k] > 1 && w->stride[k]) return false;
        terms = view_axes(w, 2, (const int[]){r - 1, r - 2});
    }
    if (!step_buffer(b, DT_INT32, 1, terms.dim, &each)) return false;
    const View v[] = {each, terms};
    step_param(b, step_add(b, S_REDUCE, 2, v), 1, (const int64_t[]){REDUCE_SUM});
    *sums = each;
    return true;
}
/* False: it is not a single number. */
static bool zero_point(const StepBuf *b, const View *zero, ZeroPoint *out) {
    *out = (ZeroPoint){.known = true};
    if (!zero || zero->rank < 0) return true;
    if (view_count(zero) != 1) return false;
    const void *data = b->target->known(b->target->user, zero->slot);
    out->known = data != NULL, out->view = *zero;
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
/* Emits acc - x_zero * (sum of the weights of the channel or column). The products are made by a
   step of their own, once for each channel or column. */
static bool subtract_zero(StepBuf *b, StepKind kind, Epilogue *e, const ZeroPoint *zero,
                          uint8_t *acc) {
    const View *y = &e->view[0];
    View sums, less;
    if (!weight_sums(b, kind, &e->view[2], &sums) || !step_buffer(b, DT_INT32, 1, sums.dim, &less))
        return false;
    const View v[] = {less, sums, per_axis_view(&zero->view, &less, -1)};
    step_code(b, step_add(b, S_EWISE, 3, v), 3,
              (const Scalar[]){
                  {.op = C_VIEW, .a = 1}, {.op = C_VIEW, .a = 2}, {.op = C_MUL, .a = 0, .b = 1}});
    *acc = epilogue_pair(e, C_SUB, *acc,
                         epilogue_view(e, per_axis_view(&less, y, channel_axis(kind, y))));
    return true;
}
/* Emits the sum of x minus its zero point over the terms of each element of the result. *step: the
   product or convolution of x itself; *wanted: the one that the target runs, perhaps of a frame
   around x. */
static bool add_sums(StepBuf *b, Epilogue *e, const Step *step, const Step *wanted,
                     const ZeroPoint *zero, uint8_t *sum) {
    const View *x = &step->view[1], *y = &step->view[0];
    const double n = (double)x->dim[x->rank - 1];
    View sums;
    if (!(step->kind == S_CONV ? exact_window_sums(b, step, wanted, zero, &sums)
                               : row_sums(b, x, y, &sums)))
        return false;
    *sum = epilogue_view(e, sums);
    if (step->kind == S_CONV) return true;
    uint8_t less = epilogue_number(e, n * (double)zero->is);
    if (!zero->known)
        less = epilogue_pair(e, C_MUL, epilogue_view(e, per_axis_view(&zero->view, y, -1)),
                             epilogue_number(e, n));
    *sum = epilogue_pair(e, C_SUB, *sum, less);
    return true;
}
/* Emits the correction for weights w - 128: acc + (128 - w_zero) * (that sum). */
static bool add_correction(StepBuf *b, Epilogue *e, const Step *step, const Step *wanted,
                           const ZeroPoint *zero, const View *w_zero, uint8_t *acc) {
    const View *y = &e->view[0];
    uint8_t sum;
    if (!add_sums(b, e, step, wanted, zero, &sum)) return false;
    uint8_t factor = epilogue_number(e, 128);
    if (w_zero && w_zero->rank >= 0)
        factor =
            epilogue_pair(e, C_SUB, factor,
                          epilogue_view(e, per_axis_view(w_zero, y, channel_axis(step->kind, y))));
    *acc = epilogue_pair(e, C_ADD, *acc, epilogue_pair(e, C_MUL, factor, sum));
    return true;
}
/* Adds the steps of exact_int8. If this fails, steps and buffers may remain, which the caller
   removes. */
static bool add_int8(StepBuf *b, const Step *step, const View *x_zero, const View *w_zero) {
    enum { PARAMS = 2 + WINDOW_LISTS * STEP_SPATIAL };
    Epilogue e = {.nview = 3, .view = {step->view[0], step->view[1], step->view[2]}};
    const bool conv = step->kind == S_CONV;
    const View *w = &step->view[2];
    const int w_axis = conv ? 0 : w->rank - 1;
    int64_t params[PARAMS] = {0};
    View of_image[3] = {step->view[0], step->view[1], step->view[2]};
    Step wanted = *step, image = *step;
    ZeroPoint zero;
    Signed weights;
    if (!b->target || step->nparam >= PARAMS || e.view[0].dtype != DT_INT32) return false;
    if (step->nparam) memcpy(params, step->param, (size_t)step->nparam * sizeof *params);
    /* packing unknown weights in each run pays only for products */
    if (!zero_point(b, x_zero, &zero) || (conv && !b->target->known(b->target->user, w->slot)) ||
        !signed_weights(b, w, w_zero, w_axis, &weights))
        return false;
    e.view[2] = weights.view;
    params[step->nparam] = zero.is;
    wanted.view = e.view, wanted.param = params, image.view = of_image;
    if (conv && !zero.known && !exact_frame(b, e.view, &wanted, params, &zero.view, &of_image[1]))
        return false;
    wanted.nparam++;
    if (!b->target->runs(b->target->user, &wanted)) return false;
    if (weights.made.rank >= 0) add_signed(b, &weights, w, w_zero, w_axis);
    uint8_t acc = epilogue_add(&e, (Scalar){.op = C_ACC});
    if ((!zero.known && !subtract_zero(b, step->kind, &e, &zero, &acc)) ||
        (weights.needs_correction && !add_correction(b, &e, &image, &wanted, &zero, w_zero, &acc)))
        return false;
    Step *s = step_add(b, step->kind, e.nview, e.view);
    step_param(b, s, wanted.nparam, params);
    if (acc) step_code(b, s, e.ncode, e.code);
    return true;
}
bool exact_int8(StepBuf *b, const Step *step, const View *x_zero, const View *w_zero) {
    const int steps = b->n, buffers = b->nbuffers;
    return add_int8(b, step, x_zero, w_zero) || (b->n = steps, b->nbuffers = buffers, false);
}
