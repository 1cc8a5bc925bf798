/* convtranspose: the transpose of conv as a linear map: x[n, c, j..] * w[c, o, k..] is added to y[n, g*O + o, s*j +
   d*k - p ..] (+ b), g the group of channel c. x [N, C, ..], w [C, O, ..]; sizes of y: s*(h - 1) + d*(k - 1) + 1 +
   extra - pads. */
#include "op.h"
enum { GROUP, STRIDES, PADS, DILATIONS, EXTRA };
static const AttrDef attrs[] = {
    [GROUP] = {"group", A_INT, "1", .draw = "1 2"},
    [STRIDES] = {"strides", A_INTS, "1", .fill = PER_SPATIAL, .draw = "1 2 3"},
    [PADS] = {"pads", A_INTS, "0", .fill = PER_SIDE, .draw = "0 1"},
    [DILATIONS] = {"dilations", A_INTS, "1", .fill = PER_SPATIAL, .draw = "1 2"},
    [EXTRA] = {"extra", A_INTS, "0", .fill = PER_SPATIAL, .draw = "0 1"},
    {0},
};

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim, w = c->in[1]->dim;
    PolyList s = ints(c, STRIDES), p = ints(c, PADS), d = ints(c, DILATIONS), extra = ints(c, EXTRA);
    const char *why = dtypes_agree(c, "F");
    int ns = x.n - 2;
    if (why) return why;
    if (ns < 1 || w.n != x.n) return "convtranspose needs x [n, c, ..] and w [c, o, ..] of one rank, at least 3";
    if (s.n != ns || p.n != 2 * ns || d.n != ns || extra.n != ns) return "convtranspose needs attributes for each spatial axis";
    if (c->in[2] && c->in[2]->dim.n != 1) return "the bias of convtranspose has one axis";
    Poly group = intof(c, GROUP), channels = poly(c, "g*o", group, w.v[1]);
    need_ge(c, group, poly(c, "1"));
    need_eq(c, x.v[1], w.v[0]);
    need_eq(c, x.v[1], poly(c, "g*q", group, quot(c, x.v[1], group)));
    if (c->in[2]) need_eq(c, c->in[2]->dim.v[0], channels);
    c->out[0] = *c->in[0];
    c->out[0].dim.v[1] = channels;
    for (int j = 0; j < ns; j++) {
        need_ge(c, s.v[j], poly(c, "1"));
        need_ge(c, d.v[j], poly(c, "1"));
        c->out[0].dim.v[j + 2] =
            poly(c, "s*h - s + d*k - d + 1 + e - p - q", s.v[j], x.v[j + 2], d.v[j], w.v[j + 2], extra.v[j], p.v[j], p.v[j + ns]);
        need_ge(c, c->out[0].dim.v[j + 2], 0);
    }
    return NULL;
}

static int params(Call *c, int64_t *out, int room) {
    static const int lists[] = {GROUP, STRIDES, PADS, DILATIONS};
    int n = 0;
    for (int j = 0; j < 4; j++)
        for (int k = 0; k < ints(c, lists[j]).n; k++)
            if (n == room || !is_const(c, ints(c, lists[j]).v[k], &out[n++])) return -1;
    return n;
}

/* The place along one axis of x from which kernel place k reaches output place i, or -1. */
static int64_t source(const Step *s, int ns, int j, int64_t i, int64_t k, int64_t size) {
    const int64_t *stride = s->param + 2, *pads = stride + ns, *dilation = pads + 2 * ns;
    int64_t e = i + pads[j] - dilation[j] * k;
    return e >= 0 && e % stride[j] == 0 && e / stride[j] < size ? e / stride[j] : -1;
}
static double one(const Step *s, void *const slot[], const int64_t i[]) {
    const View *x = &s->view[1], *w = &s->view[2];
    View window = *w;
    int64_t group = s->param[1], part = x->dim[1] / group, from = i[1] / w->dim[1] * part, k[STEP_RANK], j[STEP_RANK] = {i[0]};
    double y = 0;
    window.dim[0] = part;
    window.dim[1] = 1;
    for (bool more = kernel_first(&window, k); more; more = kernel_next(&window, k)) {
        bool reached = true;
        for (int a = 2; a < x->rank && reached; a++) reached = (j[a] = source(s, x->rank - 2, a - 2, i[a], k[a], x->dim[a])) >= 0;
        if (!reached) continue;
        int64_t kernel[STEP_RANK];
        for (int a = 2; a < x->rank; a++) kernel[a] = k[a];
        j[1] = kernel[0] = from + k[0];
        kernel[1] = i[1] % w->dim[1];
        y += kernel_real(x, slot, kernel_at(x, j)) * kernel_real(w, slot, kernel_at(w, kernel));
    }
    return y;
}
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *b = s->nview > 3 && s->view[3].rank >= 0 ? &s->view[3] : NULL;
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        double bias = b ? kernel_real(b, slot, kernel_at(b, &i[1])) : 0;
        kernel_set_real(y, slot, kernel_at(y, i), one(s, slot, i) + bias);
    }
    return 0;
}

static const OnnxMap onnx[] = {
    {"", "ConvTranspose", 1, 0, "group strides dilations extra=output_padding pads:transposed kernel_shape:check"},
    {0},
};
const Op op_convtranspose = {"convtranspose", "x w b?", "y", attrs, shape, .kernel = kernel, .params = params, .onnx = onnx};
