/* exact_windows.c -- what a convolution of 8-bit integers needs besides the sums of products: a
   frame around the image, and the sums of its windows.

   y is the sum over c, k.. of (x[n, c, i..] - zero) * w[o, c, k..], where the padding adds nothing.
   If the zero point is not known before the step runs, an algorithm for the sums of x * w is used,
   and zero * (sum of w) is subtracted. This is right at the border of the image, too, if the
   padding holds the zero point. The sums of windows are made in two steps, over the channels and
   then over the taps, so that they cost little. The second one is a convolution of floats, which
   hold these sums exactly. */
#include "ops/operator/exact_windows.h"
#include <string.h>

bool exact_frame(StepBuf *b, View view[3], Step *conv, int64_t params[], const View *zero,
                 View *x) {
    const StepWindow w = step_window(conv);
    View frame = view[1];
    bool padded = false, cropped = false;
    *x = view[1];
    for (int a = 0; a < w.n; a++) {
        padded |= w.begin[a] != 0 || w.end[a] != 0;
        cropped |= w.begin[a] < 0 || w.end[a] < 0;
        frame.dim[2 + a] += w.begin[a] + w.end[a];
    }
    if (!padded) return true;
    if (cropped || !step_buffer(b, view[1].dtype, frame.rank, frame.dim, &frame)) return false;
    View inner = frame;
    for (int a = 0; a < w.n; a++) {
        inner = view_part(&inner, 2 + a, w.begin[a], view[1].dim[2 + a]);
        params[window_param(conv, WINDOW_BEGINS, a)] = 0;
        params[window_param(conv, WINDOW_ENDS, a)] = 0;
    }
    const View each = per_axis_view(zero, &frame, -1);
    step_copy(b, &frame, &each);
    step_code(b, step_add(b, S_EWISE, 2, (const View[]){inner, view[1]}), 1,
              &(Scalar){.op = C_VIEW, .a = 1});
    view[1] = frame, *x = inner;
    return true;
}

/* Adds a step that sums x over the channels of each group; *sums becomes a buffer [n, g, h..]. */
static bool channel_sums(StepBuf *b, const View *x, int64_t group, View *sums) {
    const View split = view_split(x, 1, x->dim[1] / group);
    int axis[STEP_RANK] = {0, 1}; /* the channels of a group come last */
    for (int k = 2; k < x->rank; k++) axis[k] = k + 1;
    axis[x->rank] = 2;
    const View v = view_axes(&split, split.rank, axis);
    if (!step_buffer(b, DT_INT32, x->rank, v.dim, sums)) return false;
    const View views[] = {*sums, v};
    step_param(b, step_add(b, S_REDUCE, 2, views), 1, (const int64_t[]){REDUCE_SUM});
    return true;
}
/* Adds a step y = sums - terms * zero. */
static void subtract_zeros(StepBuf *b, const View *y, const View *sums, double terms,
                           const ZeroPoint *zero) {
    const View v[] = {*y, *sums, per_axis_view(zero->known ? sums : &zero->view, y, -1)};
    const Scalar known[] = {{.op = C_VIEW, .a = 1},
                            {.op = C_CONST, .k = terms * (double)zero->is},
                            {.op = C_SUB, .a = 0, .b = 1}},
                 read[] = {{.op = C_VIEW, .a = 1},
                           {.op = C_VIEW, .a = 2},
                           {.op = C_CONST, .k = terms},
                           {.op = C_MUL, .a = 1, .b = 2},
                           {.op = C_SUB, .a = 0, .b = 3}};
    Step *s = step_add(b, S_EWISE, zero->known ? 2 : 3, v);
    step_code(b, s, zero->known ? 3 : 5, zero->known ? known : read);
}
/* Adds a convolution of each channel of x with ones as 8-bit integers, which costs much less than
   one of floats. *framed: the convolution that the target runs. */
static bool channel_windows(StepBuf *b, const Step *framed, const ZeroPoint *zero, View *sums) {
    const View *y = &framed->view[0];
    int64_t dim[STEP_RANK], taps[STEP_RANK], terms = 1;
    View ones;
    memcpy(dim, y->dim, sizeof dim), memcpy(taps, framed->view[2].dim, sizeof taps);
    dim[1] = taps[0] = framed->param[CONV_GROUP];
    for (int a = 2; a < y->rank; a++) terms *= taps[a];
    if (!step_buffer(b, DT_INT32, y->rank, dim, sums) ||
        !step_buffer(b, DT_INT8, y->rank, taps, &ones))
        return false;
    const View v[] = {*sums, framed->view[1], ones};
    Step wanted = *framed;
    wanted.view = v;
    if (!b->target->runs(b->target->user, &wanted)) return false;
    step_code(b, step_add(b, S_EWISE, 1, &ones), 1, &(Scalar){.op = C_CONST, .k = 1});
    step_param(b, step_add(b, S_CONV, 3, v), framed->nparam, framed->param);
    if (zero->known) return true;
    const View all = *sums;
    if (!step_buffer(b, DT_INT32, y->rank, dim, sums)) return false;
    subtract_zeros(b, sums, &all, (double)terms, zero);
    return true;
}
/* Adds a convolution of each plane of x with ones, by the windows of *conv. */
static bool plane_windows(StepBuf *b, const Step *conv, const View *x, View *sums) {
    const View *y = &conv->view[0];
    const int64_t group = x->dim[1];
    int64_t dim[STEP_RANK], taps[STEP_RANK], params[2 + WINDOW_LISTS * STEP_SPATIAL];
    View floats, ones;
    memcpy(dim, y->dim, sizeof dim), memcpy(taps, conv->view[2].dim, sizeof taps);
    dim[1] = taps[0] = group, taps[1] = 1;
    memcpy(params, conv->param, (size_t)window_params(conv) * sizeof *params);
    params[CONV_GROUP] = group;
    if (!step_buffer(b, DT_FLOAT, y->rank, dim, &floats) ||
        !step_buffer(b, DT_FLOAT, y->rank, taps, &ones) ||
        !step_buffer(b, DT_INT32, y->rank, dim, sums))
        return false;
    step_code(b, step_add(b, S_EWISE, 1, &ones), 1, &(Scalar){.op = C_CONST, .k = 1});
    Step *s = step_add(b, S_CONV, 3, (const View[]){floats, *x, ones});
    step_param(b, s, window_params(conv), params);
    exact_round(b, s);
    step_copy(b, sums, &floats);
    return true;
}
static bool reads_single_places(const Step *conv) {
    const StepWindow w = step_window(conv);
    bool single = true;
    for (int a = 0; a < w.n; a++)
        single &= w.kernel[a] == 1 && w.stride[a] == 1 && w.begin[a] == 0 && w.end[a] == 0;
    return single;
}
/* Views sums [n, g, i..] with the sizes of y, each group of whose channels reads the same plane. */
static bool spread_groups(StepBuf *b, const View *y, View *sums) {
    const int64_t group = sums->dim[1], each = group ? y->dim[1] / group : 1;
    View part = view_split(sums, 1, 1), dense;
    if (group == 1 || each == 1) {
        *sums = view_spread(sums, y->rank, y->dim);
        return true;
    }
    part.dim[2] = each, part.stride[2] = 0;
    if (!step_buffer(b, DT_INT32, part.rank, part.dim, &dense)) return false;
    step_copy(b, &dense, &part);
    *sums = view_dense(dense.slot, DT_INT32, y->rank, y->dim);
    return true;
}
bool exact_window_sums(StepBuf *b, const Step *conv, const Step *framed, const ZeroPoint *zero,
                       View *sums) {
    enum { WHOLE = 1 << 24, BYTE = 255 }; /* floats hold whole numbers up to WHOLE */
    const View *x = &conv->view[1], *w = &conv->view[2], *y = &conv->view[0];
    const int64_t group = conv->param[CONV_GROUP];
    const bool single = reads_single_places(conv);
    int64_t terms = 1;
    View sum, less;
    if (w->dim[1] == 1 && group > 1)
        return channel_windows(b, framed, zero, sums) && spread_groups(b, y, sums);
    for (int a = 1; a < w->rank; a++) terms *= w->dim[a];
    if (terms * BYTE > WHOLE || !channel_sums(b, x, group, &sum) ||
        !step_buffer(b, single ? DT_INT32 : DT_FLOAT, sum.rank, sum.dim, &less))
        return false;
    subtract_zeros(b, &less, &sum, (double)w->dim[1], zero);
    *sums = less;
    return (single || plane_windows(b, conv, &less, sums)) && spread_groups(b, y, sums);
}
