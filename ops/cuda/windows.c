/* windows.c -- writes kernels for convolutions and pools of every type and layout, in which one
   thread computes one element of the output and goes over all taps of its window. This suits
   depthwise convolutions and pools; dense convolutions have better kernels in products.c. */
#include "ops/cuda/generate.h"

/* Opens a loop over the taps of axis a of the window, in which h<a> is the place in x. */
static void open_tap(Gen *g, const StepWindow *w, int a) {
    line(g, "for (place_t k%d = 0; k%d < %lld; k%d++) {", a, a, (long long)w->kernel[a], a);
    line(g, "const place_t h%d = i%d * (place_t)%lld - %lld + k%d * (place_t)%lld;", a, 2 + a,
         (long long)w->stride[a], (long long)w->begin[a], a, (long long)w->dilation[a]);
}

void window_conv(Gen *g) {
    const View *y = &g->step->view[0], *x = &g->step->view[1], *w = &g->step->view[2];
    const StepWindow window = step_window(g->step);
    const int n = window.n;
    const char class = sum_class(g->step, 2);
    const int64_t outs = y->dim[1] / g->step->param[CONV_GROUP];
    const char *at = say(g, "(place_t)%lld*i0 + (place_t)%lld*(c0 + c)", (long long)x->stride[0],
                         (long long)x->stride[1]);
    const char *from = say(g, "(place_t)%lld*i1 + (place_t)%lld*c", (long long)w->stride[0],
                           (long long)w->stride[1]);
    each_element(g, dims_product(y, 0, y->rank));
    index_lines(g, "item", y->rank);
    line(g, "%s acc = 0;", class_name(class));
    line(g, "const place_t c0 = i1 / %lld * (place_t)%lld;", (long long)(outs ? outs : 1),
         (long long)w->dim[1]);
    for (int a = 0; a < n; a++) {
        open_tap(g, &window, a);
        line(g, "if (h%d < 0 || h%d >= %lld) continue;", a, a, (long long)x->dim[2 + a]);
        at = say(g, "%s + (place_t)%lld*h%d", at, (long long)x->stride[2 + a], a);
        from = say(g, "%s + (place_t)%lld*k%d", from, (long long)w->stride[2 + a], a);
    }
    line(g, "for (place_t c = 0; c < %lld; c++)", (long long)w->dim[1]);
    line(g, "    acc += %s * %s;", element(g, 1, at, class), element(g, 2, from, class));
    for (int a = 0; a < n; a++) line(g, "}");
    program_lines(g, "acc", class);
    line(g, "}");
}

void window_pool(Gen *g) {
    const View *y = &g->step->view[0], *x = &g->step->view[1];
    const StepWindow window = step_window(g->step);
    const int n = window.n;
    const bool most = g->step->param[POOL_KIND] == POOL_MAX;
    const char class = sum_class(g->step, 1), *T = class_name(class);
    const char *at = say(g, "(place_t)%lld*i0 + (place_t)%lld*i1", (long long)x->stride[0],
                         (long long)x->stride[1]);
    const char *inside = "1", *padded = "1";
    const char *first = !most               ? "0"
                        : class_real(class) ? "-INFINITY"
                        : class == 'u'      ? "0"
                                            : "-9223372036854775807LL - 1";
    each_element(g, dims_product(y, 0, y->rank));
    index_lines(g, "item", y->rank);
    line(g, "%s acc = %s;", T, first);
    if (!most) line(g, "i64 cells = 0;");
    for (int a = 0; a < n; a++) {
        open_tap(g, &window, a);
        const long long size = (long long)x->dim[2 + a];
        at = say(g, "%s + (place_t)%lld*h%d", at, (long long)x->stride[2 + a], a);
        inside = say(g, "%s && h%d >= 0 && h%d < %lld", inside, a, a, size);
        padded = say(g, "%s && h%d < %lld", padded, a, size + (long long)window.end[a]);
    }
    line(g, "const int in = %s;", inside);
    if (!most)
        line(g, "cells += in%s;", pool_counts_pads(g->step) ? say(g, " || (%s)", padded) : "");
    line(g, "if (!in) continue;");
    line(g, "const %s e = %s;", T, element(g, 1, at, class));
    line(g, most ? "acc = e > acc || e != e ? e : acc;" : "acc += e;");
    for (int a = 0; a < n; a++) line(g, "}");
    if (!most && class_real(class)) line(g, "acc = acc / (%s)cells;", T);
    else if (!most) line(g, "acc = cells ? acc / (%s)cells : 0;", T);
    program_lines(g, "acc", class);
    line(g, "}");
}
