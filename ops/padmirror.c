/* padmirror: continues x beyond its ends: by its last element (edge), mirrored at it (reflect), or
   from the other end (wrap). pads lists the begins of all axes, then the ends; negative pads cut x
   before it is continued. */
#include "ops/operator/op.h"
#include <string.h>
enum { PADS, MODE };
enum { EDGE, REFLECT, WRAP };
static const AttrDef attrs[] = {
    [PADS] = {.name = "pads", .kind = A_INTS},
    [MODE] = {.name = "mode",
              .kind = A_ENUM,
              .words = "edge reflect wrap",
              .draw = "edge reflect wrap"},
    {0},
};

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim;
    PolyList p = ints(c, PADS);
    if (p.n != 2 * x.n) return "padmirror needs a begin and an end for every axis";
    c->out[0] = *c->in[0];
    for (int k = 0; k < x.n; k++) {
        c->out[0].dim.v[k] = poly(c, "n + b + e", x.v[k], p.v[k], p.v[k + x.n]);
        need_ge(c, c->out[0].dim.v[k], 0);
    }
    return NULL;
}
static int params(Call *c, int64_t param[]) {
    int n = 1;
    param[1] = enum_value(c, MODE);
    return add_ints(c, PADS, param, &n) ? n : -1;
}

/* The place among n kept places from which place i is taken; both count from the first kept
   place. */
static int64_t inner(int64_t mode, int64_t i, int64_t n) {
    int64_t period = mode == WRAP || n == 1 ? n : 2 * (n - 1);
    if (mode == EDGE) return i < 0 ? 0 : i >= n ? n - 1 : i;
    i = (i % period + period) % period;
    return i < n ? i : period - i;
}
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    const int64_t *begin = s->param + 2, *end = begin + x->rank;
    int64_t i[STEP_RANK], j[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        for (int k = 0; k < x->rank; k++) {
            int64_t first = begin[k] < 0 ? -begin[k] : 0,
                    last = end[k] < 0 ? x->dim[k] + end[k] : x->dim[k];
            if (last <= first) return -1;
            j[k] = first + inner(s->param[1], i[k] - begin[k] - first, last - first);
        }
        kernel_move(y, slot, kernel_at(y, i), x, kernel_at(x, j));
    }
    return 0;
}

/* One sampling step: each place on a padded axis takes one element with weight 1. */
static int write_steps(Call *c, const View in[], const View out[], StepBuf *b) {
    const View *y = &out[0], *x = &in[0];
    const PolyList p = ints(c, PADS);
    const double one = 1;
    const int bits = dtype_bits(c->in[0]->dtype);
    if (y->rank < 1 || x->dtype != y->dtype || bits < 8 || bits > 64) return 0;
    Step *s = step_add(b, S_SAMPLE, 2, (const View[]){*y, *x});
    for (int a = 0; a < y->rank; a++) {
        const int64_t begin = step_size(b, p.v[a]), end = step_size(b, p.v[a + x->rank]),
                      first = begin < 0 ? -begin : 0, last = x->dim[a] + (end < 0 ? end : 0);
        const int64_t n = begin || end ? y->dim[a] : 0;
        int64_t *pair = ARENA_NEW(b->arena, int64_t, 1 + 2 * n);
        if (last <= first && n) return 0;
        pair[0] = begin || end;
        for (int64_t i = 0; i < n; i++) {
            pair[1 + 2 * i] = first + inner(enum_value(c, MODE), i - begin - first, last - first);
            memcpy(&pair[2 + 2 * i], &one, sizeof one);
        }
        step_param(b, s, (int)(1 + 2 * n), pair);
    }
    return 1;
}

static const OnnxMap onnx[] = {
    {"", "Pad", 11, 0, "mode pads:axes"},
    {"", "Pad", 2, 10, "mode pads:axes"},
    {0},
};
const Op op_padmirror = {
    "padmirror",      "x",         "y", attrs, shape, .steps = write_steps, .kernel = kernel,
    .params = params, .onnx = onnx};
