/* sig_lower.c -- lowers a signature with known sizes to views and steps: by the operator's own
   steps; else by the structure of its definition, unless data decide what it reads; else by its
   reference kernel. If the target has no kernel for the operator, the definition is used there as
   well, provided that it does little for each element. */
#include "ops/operator/signature.h"
#include "ops/backend/view.h"
#include "ops/core/element.h"

bool sig_lower_view(World *w, Sig sig, int port, Sizes sizes, const View in[], const View *like,
                    View *out) {
    Ex e = sig_define(w, sig, port);
    return e && lower_view(w, e, sizes, in, like, out);
}

/* Lowers a reshape to a copy, if y is dense. The copy writes y as a view with the sizes of x. */
static bool lower_reshape(StepBuf *b, const View *x, const View *y) {
    if (!view_is_dense(y)) return false;
    View as_x = view_dense(y->slot, y->dtype, x->rank, x->dim);
    as_x.offset = y->offset;
    step_copy(b, &as_x, x);
    return true;
}

bool sig_lower_kernel(StepBuf *b, Sig sig, const View in[], const View out[]) {
    const SigInfo *info = sig_info(b->w, sig);
    View *view = ARENA_NEW(b->arena, View, info->nout + info->nin);
    int64_t param[OP_PARAMS];
    int n = 0;
    for (int j = 0; j < info->nout; j++) view[n++] = out[j];
    for (int k = 0; k < info->nin; k++)
        view[n++] = in[k]; /* omitted ones too: kernels find inputs by position */
    for (int k = 0; k < n; k++)
        if (view[k].rank >= 0 && !element_readable((DType)view[k].dtype))
            return b->failure = "reference kernels do not read this element type", false;
    const int nparam = sig_params(b->w, sig, param);
    if (nparam < 0) return b->failure = "an attribute is not a known number", false;
    Step *s = step_add(b, S_OP, n, view);
    s->op = info->op->name;
    step_param(b, s, nparam, param);
    return true;
}

/* Whether doubles hold the elements exactly, as loop programs compute in doubles. */
static bool fits_double(const View *v) {
    const DType t = (DType)v->dtype;
    return dtype_bits(t) <= 32 || dtype_class(t) == 'F';
}
/* Lowers to the definition instead of the kernel. False: no step was added. */
static bool lower_for_target(StepBuf *b, Sig sig, const View in[], const View out[]) {
    const double little = 8; /* the most operations per element */
    const SigInfo *info = sig_info(b->w, sig);
    const int before = b->n, buffers = b->nbuffers;
    double elements = 0;
    if (!b->target || !sig_lower_kernel(b, sig, in, out)) return false;
    const bool has_kernel = b->target->runs(b->target->user, &b->v[before]);
    b->n = before;
    for (int j = 0; j < info->nout; j++) {
        elements += (double)view_count(&out[j]);
        if (has_kernel || !sig_define(b->w, sig, j) || !fits_double(&out[j])) return false;
    }
    const double flops = sig_flops(b->w, sig, b->sizes);
    bool good = flops >= 0 && flops <= little * elements;
    for (int j = 0; j < info->nout && good; j++)
        good = lower_step(b, sig_define(b->w, sig, j), info->nin, in, &out[j]);
    for (int k = before; k < b->n && good; k++) good = b->target->runs(b->target->user, &b->v[k]);
    if (!good) b->n = before, b->nbuffers = buffers, b->failure = NULL;
    return good;
}

static bool lower_any(StepBuf *b, Sig sig, const View in[], const View out[]) {
    const SigInfo *info = sig_info(b->w, sig);
    Call c = sig_call(b->w, sig, NULL);
    int before = b->n, buffers = b->nbuffers,
        own = info->op->steps ? info->op->steps(&c, in, out, b) : 0;
    if (own) return own > 0 && !b->failure;
    b->n = before, b->nbuffers = buffers;
    for (int j = 0; j < info->nout; j++) {
        Ex e = sig_define(b->w, sig, j);
        if (j == 0 && info->op->kernel && (!e || info->op->flags & OP_BY_DATA))
            return (e && lower_for_target(b, sig, in, out)) || sig_lower_kernel(b, sig, in, out);
        if (!e) return b->failure = "it has neither a definition nor a kernel", false;
        if (j < 64 && b->unread >> j & 1) continue;
        if (info->nin && sig_kind(b->w, sig, j) == SIG_RESHAPE && lower_reshape(b, &in[0], &out[j]))
            continue;
        if (!lower_step(b, e, info->nin, in, &out[j])) return false;
    }
    return !b->failure;
}

/* Makes negative pads before the first place a smaller view of x, so that no kernel meets them. The
   steps are those from `from` on. */
static bool crop_windows(StepBuf *b, int from) {
    for (int k = from; k < b->n; k++) {
        Step *s = &b->v[k];
        if (s->kind != S_CONV && s->kind != S_POOL) continue;
        const StepWindow w = step_window(s);
        for (int a = 0; a < w.n; a++) {
            if (w.begin[a] >= 0) continue;
            View *view = arena_copy(b->arena, s->view, (size_t)s->nview * sizeof *view);
            int64_t *param = arena_copy(b->arena, s->param, (size_t)s->nparam * sizeof *param);
            const int64_t left = view[1].dim[2 + a] + w.begin[a];
            if (left < 1) return b->failure = "negative pads that leave nothing of x", false;
            view[1] = view_part(&view[1], 2 + a, -w.begin[a], left);
            param[window_param(s, WINDOW_BEGINS, a)] = 0;
            s->view = view, s->param = param;
        }
    }
    return true;
}

bool sig_lower(StepBuf *b, Sig sig, const View in[], const View out[]) {
    const int before = b->n;
    return lower_any(b, sig, in, out) && crop_windows(b, before);
}
