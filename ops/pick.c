/* pick: elements of x that a tensor of indices chooses; negative indices count from the end.
   gatherelements: y[i..] = x[i..] with the index on one axis replaced by index[i..]. gathernd:
   y[b.., i.., t..] = x[b.., index[b.., i.., :].., t..]. reversesequence: reverses the first
   length[b] places of the time axis. */
#include "ops/operator/op.h"
enum { AXIS };
static const AttrDef axis_attrs[] = {[AXIS] = {"axis", A_INT, "0", .axes = true, .draw = "0 1 -1"},
                                     {0}};

static int64_t folded(int64_t i, int64_t n) { return i < 0 ? i + n : i; }

static const char *shape_elements(Call *c) {
    Dims x = c->in[0]->dim, index = c->in[1]->dim;
    int a = axis(c, AXIS, x.n);
    if (a < 0) return "axis out of range";
    if (!is_integer(c->in[1]) || index.n != x.n)
        return "gatherelements needs integer indices with the rank of x";
    for (int k = 0; k < x.n; k++)
        if (k != a) need_ge(c, x.v[k], index.v[k]);
    c->out[0] = (Type){.dtype = c->in[0]->dtype, .dim = index};
    return NULL;
}
static bool domain_elements(Call *c, int input, Poly *low, Poly *high) {
    Dims x = c->in[0]->dim;
    return input == 1 && all_places(c, x.v[axis(c, AXIS, x.n)], low, high);
}
static Ex define_elements(Call *c, Dims i) {
    const Dims x = c->in[0]->dim;
    const int a = axis(c, AXIS, x.n);
    Dims at_x = i;
    const Poly k = at_x.v[a] = bound(c, (Dims){1, {x.v[a]}}).v[0];
    return take(c, k, at(c, 1, i), at(c, 0, at_x));
}
static int params_axis(Call *c, int64_t param[]) {
    param[OP_AXIS] = axis(c, AXIS, c->in[0]->dim.n);
    return 1;
}
static int kernel_elements(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1], *index = &s->view[2];
    int a = (int)s->param[OP_AXIS];
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        int64_t to = kernel_at(y, i),
                at = folded(kernel_integer(index, slot, kernel_at(index, i)), x->dim[a]),
                before = i[a];
        if (at < 0 || at >= x->dim[a]) return -1;
        i[a] = at;
        kernel_move(y, slot, to, x, kernel_at(x, i));
        i[a] = before;
    }
    return 0;
}
static const OnnxMap onnx_elements[] = {{"", "GatherElements", 11, 0, "axis"}, {0}};
const Op op_gatherelements = {
    "gatherelements",
    "x index",
    "y",
    axis_attrs,
    shape_elements,
    define_elements,
    .domain = domain_elements,
    .kernel = kernel_elements,
    .params = params_axis,
    .onnx = onnx_elements,
    .flags = OP_BY_DATA | OP_PASSES,
};

enum { BATCH };
static const AttrDef nd_attrs[] = {[BATCH] = {"batch", A_INT, "0", .draw = "0 1"}, {0}};
/* How many axes of x an index addresses, after the batch axes; -1: the inputs do not fit, or sizes
   are not known numbers. */
static int64_t addressed(Call *c) {
    Dims index = c->in[1]->dim;
    int64_t q = -1, batch = 0;
    if (!index.n || !is_const(c, index.v[index.n - 1], &q) || !is_const(c, intof(c, BATCH), &batch))
        return -1;
    return batch < 0 || batch >= index.n || q < 0 || batch + q > c->in[0]->dim.n ? -1 : q;
}
static const char *shape_nd(Call *c) {
    Dims x = c->in[0]->dim, index = c->in[1]->dim, y = {0};
    int64_t q = addressed(c), batch = 0;
    is_const(c, intof(c, BATCH), &batch);
    if (q < 0 || !is_integer(c->in[1])) return "the indices of gathernd do not match x";
    if (index.n - 1 + x.n - batch - q > RANK_MAX) return RANK_TOO_HIGH;
    for (int k = 0; k < batch; k++) need_eq(c, x.v[k], index.v[k]);
    for (int k = 0; k < index.n - 1; k++) y.v[y.n++] = index.v[k];
    for (int k = (int)(batch + q); k < x.n; k++) y.v[y.n++] = x.v[k];
    c->out[0] = (Type){.dtype = c->in[0]->dtype, .dim = y};
    return NULL;
}
/* An index must lie within each of the addressed axes, and therefore within the shortest. */
static bool domain_nd(Call *c, int input, Poly *low, Poly *high) {
    Dims x = c->in[0]->dim;
    int64_t q = addressed(c), batch = 0;
    is_const(c, intof(c, BATCH), &batch);
    if (input != 1 || q < 1) return false;
    Poly n = x.v[batch];
    for (int64_t k = 1; k < q; k++) n = least(c, n, x.v[batch + k]);
    return all_places(c, n, low, high);
}
/* Each addressed axis is read at an index that is data, one `take` per axis. */
static Ex define_nd(Call *c, Dims i) {
    const Dims x = c->in[0]->dim, index = c->in[1]->dim;
    const int places = index.n - 1, q = (int)addressed(c), batch = x.n + places - q - i.n;
    Dims at_index = index, at_x = x, size = {.n = q};
    for (int k = 0; k < q; k++) size.v[k] = x.v[batch + k];
    const Dims place = bound(c, size);
    for (int k = 0; k < places; k++) at_index.v[k] = i.v[k];
    for (int k = 0; k < x.n; k++)
        at_x.v[k] = k < batch       ? i.v[k]
                    : k < batch + q ? place.v[k - batch]
                                    : i.v[places + k - batch - q];
    Ex y = at(c, 0, at_x);
    for (int k = q - 1; k >= 0; k--) {
        at_index.v[places] = poly_int(c->w, k);
        y = take(c, place.v[k], at(c, 1, at_index), y);
    }
    return y;
}
static int params_nd(Call *c, int64_t param[]) {
    return !is_const(c, intof(c, BATCH), &param[GATHERND_BATCH]) ? -1 : 1;
}
static int kernel_nd(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1], *index = &s->view[2];
    int batch = (int)s->param[GATHERND_BATCH], places = index->rank - 1,
        q = (int)index->dim[places];
    int64_t i[STEP_RANK], j[STEP_RANK], at[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        for (int k = 0; k < places; k++) at[k] = i[k];
        for (int k = 0; k < x->rank; k++)
            j[k] = k < batch ? i[k] : k < batch + q ? 0 : i[places + k - batch - q];
        for (int k = 0; k < q; k++) {
            at[places] = k;
            j[batch + k] =
                folded(kernel_integer(index, slot, kernel_at(index, at)), x->dim[batch + k]);
            if (j[batch + k] < 0 || j[batch + k] >= x->dim[batch + k]) return -1;
        }
        kernel_move(y, slot, kernel_at(y, i), x, kernel_at(x, j));
    }
    return 0;
}
static const OnnxMap onnx_nd[] = {
    {"", "GatherND", 12, 0, "batch=batch_dims"}, {"", "GatherND", 11, 11, "batch=0!"}, {0}};
const Op op_gathernd = {
    "gathernd",
    "x index",
    "y",
    nd_attrs,
    shape_nd,
    define_nd,
    .domain = domain_nd,
    .kernel = kernel_nd,
    .params = params_nd,
    .onnx = onnx_nd,
    .flags = OP_BY_DATA,
};

enum { BATCH_AXIS, TIME_AXIS };
static const AttrDef reverse_attrs[] = {[BATCH_AXIS] = {"batch", A_INT, "1", .draw = "1"},
                                        [TIME_AXIS] = {"time", A_INT, "0", .draw = "0"},
                                        {0}};
static const char *shape_reverse(Call *c) {
    int rank = c->in[0]->dim.n, batch = axis(c, BATCH_AXIS, rank), time = axis(c, TIME_AXIS, rank);
    if (batch < 0 || time < 0 || batch == time || c->in[1]->dim.n != 1)
        return "reversesequence needs two different axes in range, and lengths with one axis";
    need_eq(c, c->in[1]->dim.v[0], c->in[0]->dim.v[batch]);
    c->out[0] = *c->in[0];
    return NULL;
}
static bool domain_reverse(Call *c, int input, Poly *low, Poly *high) {
    Dims x = c->in[0]->dim;
    return input == 1 && up_to(c, x.v[axis(c, TIME_AXIS, x.n)], low, high);
}
static int params_reverse(Call *c, int64_t param[]) {
    param[REVERSE_BATCH] = axis(c, BATCH_AXIS, c->in[0]->dim.n);
    param[REVERSE_TIME] = axis(c, TIME_AXIS, c->in[0]->dim.n);
    return 2;
}
static int kernel_reverse(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1], *length = &s->view[2];
    int batch = (int)s->param[REVERSE_BATCH], time = (int)s->param[REVERSE_TIME];
    int64_t i[STEP_RANK], j[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        int64_t n = kernel_integer(length, slot, kernel_at(length, &i[batch]));
        if (n < 0 || n > x->dim[time]) return -1;
        for (int k = 0; k < x->rank; k++) j[k] = i[k];
        if (i[time] < n) j[time] = n - 1 - i[time];
        kernel_move(y, slot, kernel_at(y, i), x, kernel_at(x, j));
    }
    return 0;
}
static const OnnxMap onnx_reverse[] = {
    {"", "ReverseSequence", 10, 0, "batch=batch_axis time=time_axis"}, {0}};
const Op op_reversesequence = {
    "reversesequence",
    "x length",
    "y",
    reverse_attrs,
    shape_reverse,
    .domain = domain_reverse,
    .kernel = kernel_reverse,
    .params = params_reverse,
    .onnx = onnx_reverse,
    .flags = OP_PASSES,
};
