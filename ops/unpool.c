/* unpool: the inverse of max pooling: y has the sizes `shape`, with the elements of x at the places
   that `places` gives and 0 elsewhere. A place counts all elements of y in row-major order. */
#include "ops/operator/op.h"
#include <string.h>
enum { SHAPE };
static const AttrDef attrs[] = {[SHAPE] = {.name = "shape", .kind = A_INTS}, {0}};

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim, places = c->in[1]->dim;
    if (!is_float(c->in[0]) || c->in[1]->dtype != DT_INT64)
        return "not supported for these element types";
    if (x.n < 3 || places.n != x.n || ints(c, SHAPE).n != x.n)
        return "x, indices and result need equal rank, at least 3";
    for (int k = 0; k < x.n; k++) need_eq(c, x.v[k], places.v[k]);
    for (int k = 0; k < x.n; k++) need_ge(c, ints(c, SHAPE).v[k], 0);
    c->out[0] = *c->in[0];
    c->out[0].dim = ints_dims(c, SHAPE);
    return NULL;
}
static bool domain(Call *c, int input, Poly *low, Poly *high) {
    Dims y = c->out[0].dim;
    return input == 1 && all_places(c, product(c, y, 0, y.n), low, high);
}
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1], *places = &s->view[2];
    int64_t i[STEP_RANK], at[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i))
        kernel_set_real(y, slot, kernel_at(y, i), 0);
    for (bool more = kernel_first(x, i); more; more = kernel_next(x, i)) {
        int64_t place = kernel_integer(places, slot, kernel_at(places, i));
        for (int k = y->rank - 1; k >= 0; place /= y->dim[k--]) {
            if (place < 0 || !y->dim[k]) return -1;
            at[k] = place % y->dim[k];
        }
        if (place) return -1; /* the place is outside y */
        kernel_move(y, slot, kernel_at(y, at), x, kernel_at(x, i));
    }
    return 0;
}

/* shape:unpool: the sizes before the pooling, (n - 1) * stride + kernel - pads along each spatial
   axis. If output_shape is larger, the meaning of a place is disputed (ONNX's issue 5741), so the
   node is refused. */
static bool read_shape(Call *c, OnnxRead *r, int attr) {
    PolyList kernel, strides, pads, stated;
    const Type *x = c->nin > 1 ? c->in[0] : NULL;
    if (!x || x->dim.n < 3 || !r->list(r, "kernel_shape", -1, &kernel))
        return r->refuse(r, "kernel_shape is missing");
    int n = x->dim.n - 2;
    bool strided = r->list(r, "strides", -1, &strides), padded = r->list(r, "pads", -1, &pads);
    if (kernel.n != n || (strided && strides.n != n) || (padded && pads.n != 2 * n))
        return r->refuse(r, "lists of the wrong length");
    Dims y = x->dim;
    for (int k = 0; k < n; k++) {
        Poly one = poly(c, "1"), none = poly(c, "0");
        y.v[k + 2] = poly(c, "s*n - s + k - p - q", strided ? strides.v[k] : one, x->dim.v[k + 2],
                          kernel.v[k], padded ? pads.v[k] : none, padded ? pads.v[k + n] : none);
    }
    bool said = has(c, 2);
    if (said && (!r->list(r, NULL, 2, &stated) || stated.n != y.n ||
                 memcmp(stated.v, y.v, sizeof *y.v * (size_t)y.n)))
        return r->refuse(r, "output_shape does not match the pooling");
    r->give(r, attr, y.n, y.v);
    return true;
}
/* The export states a pooling with strides of 1 and no pads that gives these sizes. */
static bool write_shape(Call *c, OnnxWrite *w, int attr) {
    Poly kernel[RANK_MAX];
    PolyList y = ints(c, attr);
    int n = y.n - 2;
    for (int k = 0; k < n; k++)
        kernel[k] = poly(c, "y - x + 1", y.v[k + 2], c->in[0]->dim.v[k + 2]);
    return w->list(w, "kernel_shape", (PolyList){n, kernel});
}
static const OnnxItem items[] = {{"shape", "unpool", read_shape, write_shape}, {0}};
static const OnnxMap onnx[] = {{"", "MaxUnpool", 9, 0, "shape:unpool"}, {0}};
const Op op_unpool = {"unpool",         "x places",       "y",          attrs,         shape,
                      .domain = domain, .kernel = kernel, .onnx = onnx, .items = items};
