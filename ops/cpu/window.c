/* window.c -- describes the windows of a convolution or pool always with three spatial axes,
   however many the step has. */
#include "ops/cpu/cpu.h"
#include <string.h>

Window window_new(const Step *s, const View *y, const View *x) {
    const StepWindow w = step_window(s);
    Window g;
    for (int a = 0; a < STEP_SPATIAL; a++) {
        const int i = a - (STEP_SPATIAL - w.n);
        const bool real = i >= 0;
        g.in[a] = real ? x->dim[2 + i] : 1;
        g.out[a] = real ? y->dim[2 + i] : 1;
        g.kernel[a] = real ? w.kernel[i] : 1;
        g.stride[a] = real ? w.stride[i] : 1;
        g.begin[a] = real ? w.begin[i] : 0;
        g.end[a] = real ? w.end[i] : 0;
        g.dilation[a] = real ? w.dilation[i] : 1;
    }
    window_strides(x, g.xs);
    window_strides(y, g.ys);
    return g;
}

void still_windows(const Step *s, int64_t param[]) {
    for (int i = 0; i < step_spatial_axes(s); i++)
        if (s->view[0].dim[2 + i] == 1) param[window_param(s, WINDOW_STRIDES, i)] = 1;
}

void window_strides(const View *w, int64_t stride[STEP_SPATIAL]) {
    for (int a = 0; a < STEP_SPATIAL; a++) {
        const int axis = w->rank - STEP_SPATIAL + a;
        stride[a] = axis >= 2 ? w->stride[axis] : 0;
    }
}

int64_t *window_cells(Build *b, const Window *g, int a) {
    const bool padded = pool_counts_pads(b->step);
    int64_t *cells = ARENA_NEW(b->arena, int64_t, g->out[a]);
    for (int64_t o = 0; o < g->out[a]; o++)
        for (int64_t k = 0; k < g->kernel[a]; k++) {
            int64_t i;
            const bool inside = window_at(g, a, o, k, &i);
            cells[o] += inside || (padded && i < g->in[a] + g->end[a]);
        }
    return cells;
}

void load_bytes(void *y, const void *x, int64_t stride, int64_t n) {
    if (stride == 1) memcpy(y, x, (size_t)n);
    else
        for (int64_t i = 0; i < n; i++) ((char *)y)[i] = ((const char *)x)[i * stride];
}
void store_bytes(void *y, int64_t stride, const void *x, int64_t n) {
    if (stride == 1) memcpy(y, x, (size_t)n);
    else
        for (int64_t i = 0; i < n; i++) ((char *)y)[i * stride] = ((const char *)x)[i];
}
