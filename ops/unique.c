/* unique: the distinct slices of x along an axis, in ascending order or in the order in which they
   first appear. Slices are compared element by element; NaN equals itself and comes last. Further
   results: for each distinct slice the index of its first occurrence, for each slice of x its index
   in the result, and how often each distinct slice occurs.

   The number of distinct slices depends on data: `n` is a size that nothing else determines, and
   slices of the result beyond that number occur 0 times. */
#include "ops/operator/op.h"
enum { N, AXIS, SORTED };
enum { Y, FIRST, WHICH, COUNT, OUTPUTS };
static const AttrDef attrs[] = {
    [N] = {.name = "n", .kind = A_INT},
    [AXIS] = {"axis", A_INT, "0", .axes = true, .draw = "0 1 -1"},
    [SORTED] = {"sorted", A_ENUM, "yes", "no yes", .draw = "no yes"},
    {0},
};

static const char *shape(Call *c) {
    int a = axis(c, AXIS, c->in[0]->dim.n);
    const char *why = same_type(c, "FIUB");
    if (a < 0) return "axis out of range";
    need_ge(c, intof(c, N), 0);
    c->out[Y].dim.v[a] = intof(c, N);
    for (int k = FIRST; k < OUTPUTS; k++)
        c->out[k] =
            (Type){.dtype = DT_INT64, .dim = {1, {k == WHICH ? c->in[0]->dim.v[a] : intof(c, N)}}};
    return why;
}
static int params(Call *c, int64_t param[]) {
    param[OP_AXIS] = axis(c, AXIS, c->in[0]->dim.n);
    param[UNIQUE_SORTED] = enum_value(c, SORTED);
    return 2;
}

/* The kernel uses only the memory of its results: `which` first holds the slices in ascending
   order, then their numbers. */
typedef struct Slices {
    const Step *s;
    void *const *slot;
    int a;
} Slices;
static int64_t get(const Slices *l, int output, int64_t i) {
    const View *v = &l->s->view[output];
    return kernel_integer(v, l->slot, kernel_at(v, &i));
}
static void set(const Slices *l, int output, int64_t i, int64_t to) {
    const View *v = &l->s->view[output];
    kernel_set_integer(v, l->slot, kernel_at(v, &i), to);
}

static int order_reals(double p, double q) {
    bool none_p = p != p, none_q = q != q;
    return none_p || none_q ? none_p - none_q : (p > q) - (p < q);
}
static int order_elements(const View *x, void *const slot[], int64_t a, int64_t b) {
    if (!kernel_is_integer(x)) return order_reals(kernel_real(x, slot, a), kernel_real(x, slot, b));
    int64_t p = kernel_integer(x, slot, a), q = kernel_integer(x, slot, b);
    return x->dtype == DT_UINT64 ? ((uint64_t)p > (uint64_t)q) - ((uint64_t)p < (uint64_t)q)
                                 : (p > q) - (p < q);
}
static int order(const Slices *l, int64_t p, int64_t q) {
    const View *x = &l->s->view[OUTPUTS];
    View slice = view_part(x, l->a, 0, 1);
    int64_t i[STEP_RANK], step = x->stride[l->a];
    int found = 0;
    for (bool more = kernel_first(&slice, i); more && !found; more = kernel_next(&slice, i)) {
        int64_t at = kernel_at(&slice, i);
        found = order_elements(x, l->slot, at + p * step, at + q * step);
    }
    return found;
}

/* Heap sort (J. Williams, 1964) of the first n entries of `which`. */
static void sink(const Slices *l, int64_t at, int64_t n) {
    int64_t value = get(l, WHICH, at);
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && order(l, get(l, WHICH, child), get(l, WHICH, child + 1)) < 0) child++;
        if (order(l, get(l, WHICH, child), value) <= 0) break;
        set(l, WHICH, at, get(l, WHICH, child));
    }
    set(l, WHICH, at, value);
}
static void sort(const Slices *l, int64_t n) {
    for (int64_t k = 0; k < n; k++) set(l, WHICH, k, k);
    for (int64_t k = n / 2; k-- > 0;) sink(l, k, n);
    for (int64_t k = n; k-- > 1;) {
        int64_t last = get(l, WHICH, k);
        set(l, WHICH, k, get(l, WHICH, 0)), set(l, WHICH, 0, last);
        sink(l, 0, k);
    }
}
/* Replaces the ascending order in `which` by the number of each slice, and returns how many
   distinct slices there are. Numbers are moved along the cycles of the order; one that waits is
   kept above bit 32. */
static int64_t number(const Slices *l, int64_t n) {
    int64_t count = 0, before = -1;
    for (int64_t k = 0; k < n; k++) {
        int64_t at = get(l, WHICH, k);
        if (k && order(l, before, at)) count++;
        before = at, set(l, WHICH, k, at | count << 32);
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t carried = get(l, WHICH, k);
        while (carried >= 0) {
            int64_t to = carried & UINT32_MAX, next = get(l, WHICH, to);
            if (next < 0) break;
            set(l, WHICH, to, -1 - (carried >> 32));
            carried = next;
        }
    }
    for (int64_t k = 0; k < n; k++) set(l, WHICH, k, -1 - get(l, WHICH, k));
    return n ? count + 1 : 0;
}
static void tally(const Slices *l, int64_t n, int64_t room) {
    for (int64_t k = 0; k < room; k++) set(l, COUNT, k, 0), set(l, FIRST, k, 0);
    for (int64_t k = n; k-- > 0;) {
        int64_t which = get(l, WHICH, k);
        set(l, FIRST, which, k), set(l, COUNT, which, get(l, COUNT, which) + 1);
    }
}
/* Renumbers the slices in the order of their first appearance. */
static void renumber(const Slices *l, int64_t n) {
    for (int64_t k = 0, next = 0; k < n; k++)
        if (get(l, FIRST, get(l, WHICH, k)) == k) set(l, COUNT, get(l, WHICH, k), next++);
    for (int64_t k = 0; k < n; k++) set(l, WHICH, k, get(l, COUNT, get(l, WHICH, k)));
}
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[Y], *x = &s->view[OUTPUTS];
    Slices l = {s, slot, (int)s->param[OP_AXIS]};
    int64_t i[STEP_RANK], n = x->dim[l.a], room = y->dim[l.a];
    if (n >= INT32_MAX) return -1;
    sort(&l, n);
    int64_t count = number(&l, n);
    if (count > room) return -1;
    tally(&l, n, room);
    if (!s->param[UNIQUE_SORTED]) renumber(&l, n), tally(&l, n, room);
    for (int64_t k = 0; k < room; k++) {
        View to = view_part(y, l.a, k, 1),
             from = view_part(x, l.a, n ? get(&l, FIRST, k) : 0, n > 0);
        for (bool more = n && kernel_first(&to, i); more; more = kernel_next(&to, i))
            kernel_move(&to, slot, kernel_at(&to, i), &from, kernel_at(&from, i));
    }
    return 0;
}
static const OnnxMap onnx[] = {{"", "Unique", 11, 0, "axis axis:list sorted n:unique"}, {0}};
const Op op_unique = {
    "unique",         "x",          "y first which count", attrs, shape, .kernel = kernel,
    .params = params, .onnx = onnx, .flags = OP_PASSES};
