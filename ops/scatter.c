/* scatter: a copy of x into which updates are written, or with which they are combined, at places
   that a tensor of indices gives. Negative indices count from the end.

   scatterelements: y[i..], with the index on one axis replaced by index[i..], becomes updates[i..].
   scatternd: y[index[i.., :].., t..] becomes updates[i.., t..]. A place that occurs twice is
   updated twice, in order. scatteradd and scatterndadd add the updates (a sum of truth values is
   whether any of them is true); scattermax, scattermin,
   scatterndmax and scatterndmin keep the greatest or least of all. These six have definitions: the
   element combined with the updates whose index is its place.

   cachewrite: writes the updates one after another along an axis, from place start[b] on for batch
   b (axis 0); in mode circular it goes on at the start of the axis. */
#include "ops/operator/op.h"
#define REDUCTION \
    { "reduction", A_ENUM, "none", "none mul", .draw = "none mul" }

/* Runtimes compare to find the greatest update, and a NaN is never the greater of two. */
#define flags_of(HOW) ((HOW) == SCATTER_ADD ? 0 : OP_SELECTS)

static int joining(Call *c, int attr) { return enum_value(c, attr) ? SCATTER_MUL : SCATTER_NONE; }

static double real_join(int64_t how, double a, double b) {
    return how == SCATTER_ADD   ? a + b
           : how == SCATTER_MUL ? a * b
           : how == SCATTER_MAX ? (a > b ? a : b)
           : how == SCATTER_MIN ? (a < b ? a : b)
                                : b;
}
static int64_t whole_join(int64_t how, int64_t a, int64_t b, bool natural) {
    if (how == SCATTER_ADD) return (int64_t)((uint64_t)a + (uint64_t)b);
    if (how == SCATTER_MUL) return (int64_t)((uint64_t)a * (uint64_t)b);
    if (how != SCATTER_MAX && how != SCATTER_MIN) return b;
    const bool less = natural ? (uint64_t)a < (uint64_t)b : a < b;
    return less == (how == SCATTER_MAX) ? b : a;
}
/* A sum of truth values is their disjunction. */
static void put_element(const View *y, void *const slot[], int64_t to, const View *u, int64_t from,
                        int64_t how) {
    if (kernel_is_integer(y)) {
        const int64_t x = whole_join(how, kernel_integer(y, slot, to),
                                     kernel_integer(u, slot, from), y->dtype == DT_UINT64);
        kernel_set_integer(y, slot, to, y->dtype == DT_BOOL ? x != 0 : x);
    } else
        kernel_set_real(y, slot, to,
                        real_join(how, kernel_real(y, slot, to), kernel_real(u, slot, from)));
}
static void copy(const View *y, const View *x, void *const slot[]) {
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i))
        kernel_move(y, slot, kernel_at(y, i), x, kernel_at(x, i));
}
/* Combines update i with the element of y that has place `at` on axis a. */
static void put_along(const View *y, void *const slot[], const View *u, int64_t i[], int a,
                      int64_t at, int64_t how) {
    int64_t from = kernel_at(u, i), before = i[a];
    i[a] = at;
    put_element(y, slot, kernel_at(y, i), u, from, how);
    i[a] = before;
}
/* One operation for each update. */
static Poly work(Call *c) { return product(c, c->in[2]->dim, 0, c->in[2]->dim.n); }
static const char *shape_common(Call *c) {
    c->out[0] = *c->in[0];
    if (!is_integer(c->in[1])) return "indices must be integers";
    return c->in[2]->dtype == c->in[0]->dtype
               ? NULL
               : "the updates have another element type than the data";
}

enum { AXIS, REDUCE };
static const AttrDef axis_attrs[] = {
    [AXIS] = {"axis", A_INT, "0", .axes = true, .draw = "0 1 -1"}, [REDUCE] = REDUCTION, {0}};
static const char *shape_elements(Call *c) {
    Dims x = c->in[0]->dim, index = c->in[1]->dim, updates = c->in[2]->dim;
    int a = axis(c, AXIS, x.n);
    if (a < 0) return "axis out of range";
    if (index.n != x.n || updates.n != x.n) return "scatterelements needs tensors of equal rank";
    for (int k = 0; k < x.n; k++) {
        need_eq(c, index.v[k], updates.v[k]);
        if (k != a) need_ge(c, x.v[k], index.v[k]);
    }
    return shape_common(c);
}
static bool domain_elements(Call *c, int input, Poly *low, Poly *high) {
    Dims x = c->in[0]->dim;
    return input == 1 && all_places(c, x.v[axis(c, AXIS, x.n)], low, high);
}
static int params_elements(Call *c, int64_t param[]) {
    param[OP_AXIS] = axis(c, AXIS, c->in[0]->dim.n);
    param[SCATTER_HOW] = joining(c, REDUCE);
    return 2;
}
/* The value with which an element is combined if an update does not reach it, without effect: 0 for
   sums, the element itself for extremes. */
static Ex unmet(Call *c, Dims i, int how) {
    return how == SCATTER_ADD ? num(c, 0, 1) : at(c, 0, i);
}
/* Returns whether there is a definition: truth values are not added as numbers. */
static bool adds_numbers(Call *c, int how) {
    return how != SCATTER_ADD || c->in[0]->dtype != DT_BOOL;
}
static Ex negated(Call *c, Ex x) { return mul(c, num(c, -1, 1), x); }
/* The element combined with `update` for all k for which the condition holds (k may have no
   axes). */
static Ex joined(Call *c, Dims i, Dims k, Cond met, Ex update, int how) {
    const Ex x = at(c, 0, i);
    if (how == SCATTER_ADD) return add(c, x, k.n ? sum(c, k, met, update) : update);
    if (how == SCATTER_MAX) return max2(c, x, k.n ? maximum(c, k, met, update) : update);
    if (k.n) update = negated(c, maximum(c, k, met, negated(c, update)));
    return min2(c, x, update);
}
/* The definition of scatteradd, scattermax and scattermin: all updates along the axis whose index
   is this place. */
static Ex elements_joined(Call *c, Dims i, int how) {
    Dims x = c->in[0]->dim, index = c->in[1]->dim;
    const int a = axis(c, AXIS, x.n);
    if (!adds_numbers(c, how)) return 0;
    const Dims from = bound(c, (Dims){1, {index.v[a]}}), place = bound(c, (Dims){1, {x.v[a]}});
    const Dims j = dims_with(i, a, from.v[0]);
    const Ex met = when(c, when_eq(c, place.v[0], i.v[a]), at(c, 2, j), unmet(c, i, how)),
             update = take(c, place.v[0], at(c, 1, j), met);
    return joined(c, i, from, inside(c, j, index, 0), update, how);
}
static int kernel_elements(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *index = &s->view[2], *u = &s->view[3];
    int a = (int)s->param[OP_AXIS];
    int64_t i[STEP_RANK];
    copy(y, &s->view[1], slot);
    for (bool more = kernel_first(index, i); more; more = kernel_next(index, i)) {
        int64_t at = kernel_integer(index, slot, kernel_at(index, i));
        if (at < 0) at += y->dim[a];
        if (at < 0 || at >= y->dim[a]) return -1;
        put_along(y, slot, u, i, a, at, s->param[SCATTER_HOW]);
    }
    return 0;
}
static const AttrDef axis_only[] = {[AXIS] = {"axis", A_INT, "0", .axes = true, .draw = "0 1 -1"},
                                    {0}};
#define JOINED_ELEMENTS(NAME, HOW, WORD, OPSET)                                     \
    static Ex define_##NAME(Call *c, Dims i) { return elements_joined(c, i, HOW); } \
    static int params_##NAME(Call *c, int64_t param[]) {                            \
        param[OP_AXIS] = axis(c, AXIS, c->in[0]->dim.n);                            \
        param[SCATTER_HOW] = HOW;                                                   \
        return 2;                                                                   \
    }                                                                               \
    static const OnnxMap onnx_##NAME[] = {                                          \
        {"", "ScatterElements", OPSET, 0, "axis +reduction==" WORD}, {0}};          \
    const Op op_##NAME = {#NAME,                                                    \
                          "x index updates",                                        \
                          "y",                                                      \
                          axis_only,                                                \
                          shape_elements,                                           \
                          define_##NAME,                                            \
                          .domain = domain_elements,                                \
                          .kernel = kernel_elements,                                \
                          .params = params_##NAME,                                  \
                          .work = work,                                             \
                          .onnx = onnx_##NAME,                                      \
                          .flags = OP_BY_DATA | flags_of(HOW)};
JOINED_ELEMENTS(scatteradd, SCATTER_ADD, "add", 16)
JOINED_ELEMENTS(scattermax, SCATTER_MAX, "max", 18)
JOINED_ELEMENTS(scattermin, SCATTER_MIN, "min", 18)
static const OnnxMap onnx_elements[] = {
    {"", "ScatterElements", 16, 0, "axis reduction"},
    {"", "ScatterElements", 11, 15, "axis reduction=none!"},
    {"", "Scatter", 9, 10, "axis reduction=none!"},
    {0},
};
const Op op_scatterelements = {
    "scatterelements",
    "x index updates",
    "y",
    axis_attrs,
    shape_elements,
    .domain = domain_elements,
    .kernel = kernel_elements,
    .params = params_elements,
    .work = work,
    .onnx = onnx_elements,
};

static const AttrDef nd_attrs[] = {REDUCTION, {0}};
static const char *shape_nd(Call *c) {
    Dims x = c->in[0]->dim, index = c->in[1]->dim, updates = c->in[2]->dim;
    int64_t q;
    if (!index.n || !is_const(c, index.v[index.n - 1], &q) || q < 0 || q > x.n)
        return "the indices of scatternd do not match the data";
    if (updates.n != index.n - 1 + x.n - q) return "the updates have the wrong rank";
    for (int k = 0; k < updates.n; k++)
        need_eq(c, updates.v[k], k < index.n - 1 ? index.v[k] : x.v[k - (index.n - 1) + q]);
    return shape_common(c);
}
/* An index must lie within each of the addressed axes, and therefore within the shortest. */
static bool domain_nd(Call *c, int input, Poly *low, Poly *high) {
    Dims x = c->in[0]->dim, index = c->in[1]->dim;
    int64_t q = 0;
    if (input != 1 || !is_const(c, index.v[index.n - 1], &q) || q < 1) return false;
    Poly n = x.v[0];
    for (int64_t k = 1; k < q; k++) n = least(c, n, x.v[k]);
    return all_places(c, n, low, high);
}
static int params_nd(Call *c, int64_t param[]) {
    param[SCATTERND_HOW] = joining(c, 0);
    return 1;
}
static int kernel_nd(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *index = &s->view[2], *u = &s->view[3];
    int places = index->rank - 1, q = (int)index->dim[places];
    int64_t i[STEP_RANK], j[STEP_RANK], at[STEP_RANK];
    copy(y, &s->view[1], slot);
    for (bool more = kernel_first(u, i); more; more = kernel_next(u, i)) {
        for (int k = 0; k < places; k++) at[k] = i[k];
        for (int k = 0; k < y->rank; k++) {
            at[places] = k;
            j[k] = k < q ? kernel_integer(index, slot, kernel_at(index, at)) : i[places + k - q];
            if (j[k] < 0) j[k] += y->dim[k];
            if (j[k] < 0 || j[k] >= y->dim[k]) return -1;
        }
        put_element(y, slot, kernel_at(y, j), u, kernel_at(u, i), s->param[SCATTERND_HOW]);
    }
    return 0;
}
/* The definition of scatterndadd, scatterndmax and scatterndmin: all updates whose indices, one for
   each addressed axis, are this element's place. */
static Ex places_joined(Call *c, Dims i, int how) {
    const Dims x = c->in[0]->dim, index = c->in[1]->dim, u = c->in[2]->dim;
    const int places = index.n - 1, q = x.n - (u.n - places);
    if (!adds_numbers(c, how)) return 0;
    Dims size = {.n = places}, at_index = index, at_update = {.n = u.n}, place = {.n = q};
    for (int k = 0; k < places; k++) size.v[k] = index.v[k];
    for (int k = 0; k < q; k++) place.v[k] = x.v[k];
    const Dims from = bound(c, size);
    place = bound(c, place);
    for (int k = 0; k < u.n; k++) at_update.v[k] = k < places ? from.v[k] : i.v[k - places + q];
    for (int k = 0; k < places; k++) at_index.v[k] = from.v[k];
    Ex update = at(c, 2, at_update);
    for (int k = q - 1; k >= 0; k--) {
        at_index.v[places] = poly_int(c->w, k);
        update = when(c, when_eq(c, place.v[k], i.v[k]), update, unmet(c, i, how));
        update = take(c, place.v[k], at(c, 1, at_index), update);
    }
    return joined(c, i, from, (Cond){0}, update, how);
}
#define JOINED_PLACES(NAME, HOW, WORD, OPSET)                                                     \
    static Ex define_##NAME(Call *c, Dims i) { return places_joined(c, i, HOW); }                 \
    static int params_##NAME(Call *c, int64_t param[]) {                                          \
        (void)c;                                                                                  \
        param[SCATTERND_HOW] = HOW;                                                               \
        return 1;                                                                                 \
    }                                                                                             \
    static const OnnxMap onnx_##NAME[] = {{"", "ScatterND", OPSET, 0, "+reduction==" WORD}, {0}}; \
    const Op op_##NAME = {#NAME,                                                                  \
                          "x index updates",                                                      \
                          "y",                                                                    \
                          NULL,                                                                   \
                          shape_nd,                                                               \
                          define_##NAME,                                                          \
                          .domain = domain_nd,                                                    \
                          .kernel = kernel_nd,                                                    \
                          .params = params_##NAME,                                                \
                          .work = work,                                                           \
                          .onnx = onnx_##NAME,                                                    \
                          .flags = OP_BY_DATA | flags_of(HOW)};
JOINED_PLACES(scatterndadd, SCATTER_ADD, "add", 16)
JOINED_PLACES(scatterndmax, SCATTER_MAX, "max", 18)
JOINED_PLACES(scatterndmin, SCATTER_MIN, "min", 18)
static const OnnxMap onnx_nd[] = {
    {"", "ScatterND", 16, 0, "reduction"}, {"", "ScatterND", 11, 15, "reduction=none!"}, {0}};
const Op op_scatternd = {
    "scatternd",
    "x index updates",
    "y",
    nd_attrs,
    shape_nd,
    .domain = domain_nd,
    .kernel = kernel_nd,
    .params = params_nd,
    .work = work,
    .onnx = onnx_nd,
};

enum { CACHE_AXIS, CIRCULAR };
static const AttrDef cache_attrs[] = {
    [CACHE_AXIS] = {"axis", A_INT, "-2", .axes = true, .draw = "1 2 -2"},
    [CIRCULAR] = {"mode", A_ENUM, "linear", "linear circular", .draw = "linear circular"},
    {0}};
static const char *shape_cache(Call *c) {
    Dims x = c->in[0]->dim, u = c->in[1]->dim;
    int a = axis(c, CACHE_AXIS, x.n);
    if (a < 1 || u.n != x.n)
        return "cachewrite needs tensors of equal rank and an axis after axis 0";
    for (int k = 0; k < x.n; k++)
        if (k != a) need_eq(c, u.v[k], x.v[k]);
    need_ge(c, x.v[a], u.v[a]);
    c->out[0] = *c->in[0];
    if (c->in[1]->dtype != c->in[0]->dtype)
        return "the updates have another element type than the data";
    if (!c->in[2]) return NULL;
    if (c->in[2]->dim.n != 1 || !is_integer(c->in[2]))
        return "cachewrite needs one start for each index of axis 0";
    need_eq(c, c->in[2]->dim.v[0], x.v[0]);
    return NULL;
}
/* Random starts at which all updates fit. */
static bool domain_cache(Call *c, int input, Poly *low, Poly *high) {
    Dims x = c->in[0]->dim, u = c->in[1]->dim;
    int a = axis(c, CACHE_AXIS, x.n);
    return input == 2 && all_places(c, poly(c, "x - u + 1", x.v[a], u.v[a]), low, high);
}
static int params_cache(Call *c, int64_t param[]) {
    param[OP_AXIS] = axis(c, CACHE_AXIS, c->in[0]->dim.n);
    param[CACHE_CIRCULAR] = enum_value(c, CIRCULAR);
    return 2;
}
static int kernel_cache(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *u = &s->view[2],
               *start = s->nview > 3 && s->view[3].rank >= 0 ? &s->view[3] : NULL;
    int a = (int)s->param[OP_AXIS];
    int64_t i[STEP_RANK];
    copy(y, &s->view[1], slot);
    for (bool more = kernel_first(u, i); more; more = kernel_next(u, i)) {
        int64_t at = i[a] + (start ? kernel_integer(start, slot, kernel_at(start, i)) : 0);
        if (s->param[CACHE_CIRCULAR]) at %= y->dim[a];
        if (at < 0 || at >= y->dim[a]) return -1;
        put_along(y, slot, u, i, a, at, SCATTER_NONE);
    }
    return 0;
}
static const OnnxMap onnx_cache[] = {{"", "TensorScatter", 24, 0, "axis mode"}, {0}};
const Op op_cachewrite = {"cachewrite",
                          "x updates start?",
                          "y",
                          cache_attrs,
                          shape_cache,
                          .domain = domain_cache,
                          .kernel = kernel_cache,
                          .params = params_cache,
                          .onnx = onnx_cache};
