/* plan_layout.c -- moves channels last: a tensor (image) that convolutions read or write between
   the graph's inputs and outputs is laid out as [n, spatial.., c] instead of [n, c, spatial..].
   Only the strides of the views of its slot change, so every step computes what it did.

   A slot is moved if a convolution names it, or a pool, copy, reduction or element-wise step after
   one, and if every view of it is an affine walk over n, c and the joined spatial axes; a view that
   flattens all axes is not. Some slots stay as they are nevertheless: the result of a step that
   reads an image with its axes in another order; the one side of a depthwise convolution that could
   be moved, if the other side cannot; and slots of a step that the back end would refuse only if
   they were moved. */
#include "graphs/plan/plan_inner.h"
#include "ops/core/type.h"

/* A slot seen as [.., channels, cells]; channels = 0: moving it is not wanted or not possible. */
typedef struct Image {
    int64_t channels, cells;
    int dtype;   /* the element type of all its views */
    bool barred; /* it stays as it is */
} Image;
enum { BATCH, CHANNEL, CELL, PARTS };

/* Whether v views channels of a dense [n, C, spatial..]; *image is then that tensor. elements: the
   number of elements of the slot. */
static bool image_of(const View *v, int64_t elements, Image *image) {
    int64_t cells = 1;
    for (int k = v->rank - 1; k >= 2; k--) {
        if (v->dim[k] > 1 && v->stride[k] != cells) return false;
        cells *= v->dim[k];
    }
    if (v->rank < 3 || v->dim[1] < 2 || cells < 2 || v->stride[1] != cells || elements % cells)
        return false;
    image->cells = cells;
    image->channels = (v->dim[0] > 1 ? v->stride[0] : elements) / cells;
    return image->channels > 1 && elements % (image->channels * cells) == 0;
}

/* Turns v into the view of the same elements in the moved slot. Returns false if these are not an
   affine walk. */
static bool move_view(const Image *m, View *v) {
    const int64_t old[PARTS] = {m->channels * m->cells, m->cells, 1},
                  new[PARTS] = {old[BATCH], 1, m->channels};
    const int64_t start[PARTS] = {v->offset / old[BATCH], v->offset / m->cells % m->channels,
                                  v->offset % m->cells};
    int64_t low[PARTS], high[PARTS];
    for (int p = 0; p < PARTS; p++) low[p] = high[p] = start[p];
    for (int k = 0; k < v->rank; k++) {
        const int64_t s = v->stride[k];
        if (v->dim[k] <= 1 || s == 0) continue;
        const int p = s % old[BATCH] == 0 ? BATCH : s % m->cells == 0 ? CHANNEL : CELL;
        const int64_t reach = s / old[p] * (v->dim[k] - 1);
        *(reach < 0 ? &low[p] : &high[p]) += reach;
        v->stride[k] = s / old[p] * new[p];
    }
    v->offset = start[BATCH] * new[BATCH] + start[CHANNEL] * new[CHANNEL] + start[CELL] * new[CELL];
    return low[CHANNEL] >= 0 && high[CHANNEL] < m->channels && low[CELL] >= 0 &&
           high[CELL] < m->cells;
}

/* Asks for the slot of v to be moved if v views an image. */
static void want_layout(const Plan *p, Image *images, const View *v) {
    Image *m = &images[v->slot], image = {0};
    const int64_t size = dtype_bits((DType)v->dtype) / 8;
    if (m->barred || m->channels || size == 0) return;
    if (!image_of(v, p->slot[v->slot].bytes / size, &image)) return;
    m->channels = image.channels, m->cells = image.cells;
}

/* Whether view j reads an image with the axes in the image's order. After a step that reads it in
   another order, such as a norm over the channels, another axis would be last in what is
   written. */
static bool reads_image(const Plan *p, const Image *images, const Step *s, int j) {
    const View *v = &s->view[j];
    const int64_t size = dtype_bits((DType)v->dtype) / 8;
    Image image = {0};
    return images[v->slot].channels > 0 && v->rank == s->view[0].rank && size &&
           image_of(v, p->slot[v->slot].bytes / size, &image);
}
/* Whether the result of an element-wise step has the layout of view j, which is an image whatever
   the order of its axes; the result then is one, too. */
static bool lies_like(const Plan *p, const Step *s, int j) {
    const View *y = &s->view[0], *x = &s->view[j];
    bool same = s->kind == S_EWISE && y->rank == x->rank && y->offset == x->offset &&
                y->dtype == x->dtype && p->slot[y->slot].bytes == p->slot[x->slot].bytes;
    for (int k = 0; k < y->rank && same; k++)
        same = y->dim[k] == x->dim[k] && (y->dim[k] == 1 || y->stride[k] == x->stride[k]);
    return same;
}
/* Whether a reduction over axes that are neither channels nor cells, such as one over the terms of
   a sum, writes an image like that of which it reads parts. */
static bool reduces_parts(const Plan *p, const Image *images, const Step *s) {
    const View *y = &s->view[0], *x = &s->view[1];
    const Image *from = &images[x->slot];
    const int64_t size = dtype_bits((DType)y->dtype) / 8;
    Image to = {0};
    if (s->kind != S_REDUCE || !from->channels || !size ||
        !image_of(y, p->slot[y->slot].bytes / size, &to) || to.cells != from->cells)
        return false;
    for (int k = 1; k < y->rank; k++)
        if (y->dim[k] > 1 && x->stride[k] != y->stride[k]) return false;
    return true;
}
/* Asks for the result of a step to be moved like an image that the step reads. */
static void follow_images(const Plan *p, Image *images, const Step *s) {
    for (int j = 1; j < s->nview; j++) {
        const Image *from = &images[s->view[j].slot];
        Image *to = &images[s->view[0].slot];
        if (reads_image(p, images, s, j) || (j == 1 && reduces_parts(p, images, s)))
            want_layout(p, images, &s->view[0]);
        if (from->channels && !to->channels && !to->barred && lies_like(p, s, j))
            to->channels = from->channels, to->cells = from->cells;
    }
}

/* Marks the slots to be moved: first those that convolutions name, which tell best what an image
   is; then the results of later steps; finally the operands of element-wise steps whose results are
   moved. */
static void want_images(const Plan *p, Image *images) {
    for (int k = 0; k < p->nstep; k++) {
        const Step *s = &p->step[k].step;
        if (s->kind == S_CONV && (s->view[1].dtype == DT_FLOAT || step_has_zero(s)))
            want_layout(p, images, &s->view[0]), want_layout(p, images, &s->view[1]);
    }
    for (int k = 0; k < p->nstep; k++) {
        const Step *s = &p->step[k].step;
        if (s->kind == S_EWISE || s->kind == S_POOL || s->kind == S_COPY || s->kind == S_REDUCE)
            follow_images(p, images, s);
    }
    for (int k = p->nstep - 1; k >= 0; k--) {
        const Step *s = &p->step[k].step;
        for (int j = 1; j < s->nview && s->kind == S_EWISE && images[s->view[0].slot].channels; j++)
            want_layout(p, images, &s->view[j]);
    }
}

/* Bars slots that cannot be moved: constants, inputs and outputs unless they are loose, those of
   steps that run once, and those that views read as different types. */
static void bar(const Plan *p, const bool loose[], Image *images) {
    for (int k = 0; k < p->nslot; k++) {
        const Slot *s = &p->slot[k];
        images[k].barred =
            s->data || (s->input >= 0 && !(loose && loose[s->input])) || (s->output >= 0 && !loose);
    }
    for (int k = 0; k < p->nstep; k++)
        for (int j = 0; j < p->step[k].step.nview; j++) {
            const View *v = &p->step[k].step.view[j];
            if (v->slot < 0) continue;
            Image *m = &images[v->slot];
            m->barred |= p->step[k].once || (m->dtype && m->dtype != v->dtype);
            m->dtype = v->dtype;
        }
}
/* Bars slots with a view that is not an affine walk once they are moved. */
static void bar_unmovable(const Plan *p, Image *images) {
    for (int k = 0; k < p->nstep; k++)
        for (int j = 0; j < p->step[k].step.nview; j++) {
            View v = p->step[k].step.view[j];
            if (v.slot >= 0 && images[v.slot].channels && !move_view(&images[v.slot], &v))
                images[v.slot].barred = true;
        }
}

static bool is_moved(const Image *images, const View *v) {
    return images[v->slot].channels && !images[v->slot].barred;
}
/* Whether the channels are last because the slot is moved, or are last already: the tokens of a
   transformer are images with their channels last. */
static bool lies_last(const Image *images, const View *v) {
    return is_moved(images, v) ||
           (v->dim[1] > 1 && v->stride[1] == 1 && v->stride[v->rank - 1] >= v->dim[1]);
}
static bool is_depthwise(const Step *s) {
    return s->kind == S_CONV && s->param[CONV_GROUP] > 1 && s->view[2].dim[1] <= 2;
}
/* Whether a convolution that sums over channels names the slot. */
static bool summed_over(const Plan *p, int slot) {
    for (int k = 0; k < p->nstep; k++) {
        const Step *s = &p->step[k].step;
        if (s->kind == S_CONV && !is_depthwise(s) &&
            (s->view[0].slot == slot || s->view[1].slot == slot))
            return true;
    }
    return false;
}
/* Bars slots on one side of a depthwise convolution whose other side cannot be moved, unless
   something else wants them moved. Such a convolution is as fast on planes of channels, but not
   between the two layouts. */
static void bar_mixed(const Plan *p, Image *images) {
    for (bool more = true; more;) {
        more = false;
        for (int k = 0; k < p->nstep; k++) {
            const Step *s = &p->step[k].step;
            if (!is_depthwise(s)) continue;
            const bool y = lies_last(images, &s->view[0]), x = lies_last(images, &s->view[1]);
            const View *last = &s->view[y ? 0 : 1];
            const int slot = last->slot;
            if (x == y || !is_moved(images, last) || summed_over(p, slot)) continue;
            images[slot].barred = more = true;
        }
    }
}

/* The step with its images moved; its views are in the arena. */
static Step moved(Arena *arena, const Image *images, const Step *s) {
    Step out = *s;
    View *view = arena_copy(arena, s->view, (size_t)s->nview * sizeof *s->view);
    for (int j = 0; j < s->nview; j++)
        if (view[j].slot >= 0 && is_moved(images, &view[j]))
            move_view(&images[view[j].slot], &view[j]);
    out.view = view;
    return out;
}
static bool takes(const OpenDevice *on, const Step *s) {
    return on->backend->choices(on->device, s) > 0;
}
/* Bars the images of steps that the device would refuse only with the images moved. Returns whether
   there were any. */
static bool bar_refused(const OpenDevice *on, Arena *scratch, const Plan *p, Image *images) {
    bool some = false;
    for (int k = 0; k < p->nstep && on; k++) {
        const Step *s = &p->step[k].step, other = moved(scratch, images, s);
        if (takes(on, &other) || !takes(on, s)) continue;
        for (int j = 0; j < s->nview; j++)
            if (s->view[j].slot >= 0 && is_moved(images, &s->view[j]))
                images[s->view[j].slot].barred = some = true;
    }
    return some;
}

void plan_channels_last(const OpenDevice *on, World *w, Plan *p, const bool loose[]) {
    ArenaMark mark = arena_mark(w->scratch);
    Image *images = ARENA_NEW(w->scratch, Image, p->nslot + 1);
    bar(p, loose, images);
    want_images(p, images);
    bar_unmovable(p, images);
    do bar_mixed(p, images);
    while (bar_refused(on, w->scratch, p, images));
    for (int k = 0; k < p->nstep; k++) p->step[k].step = moved(p->arena, images, &p->step[k].step);
    arena_reset(w->scratch, mark);
}
