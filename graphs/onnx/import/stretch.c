/* stretch.c -- makes NumPy's broadcasting explicit.

   Leading axes that an input lacks stay implicit. Leading axes of size 1 are dropped by a reshape,
   so that a scalar has rank 0 and a per-channel constant has rank 3, however the file writes them;
   of data they are dropped only if they are stretched, so that a batch of 1 looks like any other
   batch. The remaining axes of size 1 that are stretched become a `broadcast` node.

   Two sizes neither of which can be 1 without the other must be equal in a valid model, so they are
   taken as they are; the operator needs their equality. If sizes are symbols and it is not decided
   which of them is 1, the import fails and the node becomes opaque. */
#include "graphs/onnx/import/import.h"
#include "ops/core/element.h"
#include "ops/operator/value.h"

static Value to_shape(Import *s, const Op *op, Value x, Dims d) {
    Poly *v = ARENA_NEW(s->w->arena, Poly, RANK_MAX);
    for (int i = 0; i < d.n; i++) v[i] = d.v[i];
    Attr shape = {.ints = {d.n, v}};
    const char *why = NULL;
    Value y = node_make(s->w, op, &shape, 1, &x, 1, &why);
    if (!y) import_fail(s, "%s", why);
    return y;
}

/* Gives a small constant the new sizes directly, without a reshape, so that rules still see a
   constant. Returns 0 if x is not a small constant. */
static Value constant_reshaped(Import *s, Value x, Dims d) {
    enum { SMALL = 4096 };
    Type t;
    const void *bytes;
    int64_t count;
    if (!constant_get(s->w, x, &t, &bytes) || !poly_constant(s->w, type_count(s->w, &t), &count) ||
        count > SMALL)
        return 0;
    t.dim = d;
    return constant_make(s->w, &t, blob_put(s->w, bytes, element_bytes(t.dtype, count)));
}

Value reshape_to(Import *s, Value x, Dims d) {
    if (!x || dims_equal(&value_type(s->w, x)->dim, &d)) return x;
    Value constant = constant_reshaped(s, x, d);
    return constant ? constant : to_shape(s, &op_reshape, x, d);
}
static Value broadcast_to(Import *s, Value x, Dims d) {
    return !x || dims_equal(&value_type(s->w, x)->dim, &d) ? x : to_shape(s, &op_broadcast, x, d);
}

/* Whether a size is not 1 whatever the symbols are: it is a multiple of 2 or more, or at least
   2. */
static bool never_one(World *w, Poly p) {
    return poly_content(w, p) > 1 || value_natural(w, poly_sub(w, p, poly_int(w, 2)));
}

/* Whether b = min(a, c) for some c that is never 1, so that b is 1 only if a is. */
static bool is_cut(World *w, Poly b, Poly a) {
    const Symbol s = poly_is_symbol(w, b);
    const SymbolDef d = s ? symbol_def(w, s) : (SymbolDef){0};
    if (d.kind != SYM_MIN) return false;
    for (int k = 0; k < 2; k++)
        if (d.arg[k] == a) return never_one(w, d.arg[1 - k]);
    return false;
}

/* Whether NumPy broadcasts the two sizes only if they are equal. */
static bool must_agree(World *w, Poly a, Poly b) {
    return is_cut(w, a, b) || is_cut(w, b, a) || (never_one(w, a) && never_one(w, b));
}

static bool join_sizes(Import *s, Poly a, Poly b, Poly *out) {
    World *w = s->w;
    *out = poly_is(w, a, 1) || is_cut(w, a, b) ? b : a;
    if (a == b || poly_is(w, a, 1) || poly_is(w, b, 1) || must_agree(w, a, b)) return true;
    Text sizes = text_new(w->arena);
    poly_print(w, a, &sizes), text_add(&sizes, " and "), poly_print(w, b, &sizes);
    return import_fail(s, "broadcast inputs whose sizes are not known to be equal: %s", sizes.data);
}

bool dims_stretch(Import *s, Dims a, Dims b, Dims *out) {
    *out = a.n >= b.n ? a : b;
    for (int k = 1; k <= a.n && k <= b.n; k++)
        if (!join_sizes(s, a.v[a.n - k], b.v[b.n - k], &out->v[out->n - k])) return false;
    return true;
}

static Dims front(Dims d, int tail) { return d.n -= tail, d; }
static Dims last_axes(Dims d, int n) {
    Dims out = {.n = n};
    for (int i = 0; i < n; i++) out.v[i] = d.v[d.n - n + i];
    return out;
}
static Dims joined_dims(Dims a, Dims b) {
    for (int i = 0; i < b.n; i++) a.v[a.n++] = b.v[i];
    return a;
}

/* Whether a value depends on constants only, over at most `depth` nodes. */
static bool is_constant_made(World *w, Value v, int depth) {
    const NodeId id = value_node(w, v);
    if (constant_get(w, v, NULL, NULL)) return true;
    const Node n = node_get(w, id);
    if (!depth || input_name(w, id) || !n.nin || !op_algebraic(n.op)) return false;
    for (int k = 0; k < n.nin; k++)
        if (n.in[k] && !is_constant_made(w, n.in[k], depth - 1)) return false;
    return true;
}

/* The number of leading axes of size 1 that are dropped. */
static int dropped(Import *s, Value v, Dims head, Dims target) {
    enum { NEAR = 4 };
    int n = 0;
    while (n < head.n && poly_is(s->w, head.v[n], 1)) n++;
    const bool whole = n == head.n, stretched = head.n < target.n || !poly_is(s->w, target.v[0], 1);
    return !n || whole || stretched || is_constant_made(s->w, v, NEAR) ? n : 0;
}

/* Broadcasts the axes before the last `tail` ones to the last axes of target; with `to_full_rank`,
   to all of target. */
static bool broadcast_front(Import *s, Value *v, Dims target, int tail, bool to_full_rank) {
    Dims d = value_type(s->w, *v)->dim, head = front(d, tail), end = last_axes(d, tail),
         want = last_axes(target, head.n);
    /* Sizes that must agree stay as they are written. */
    for (int k = 0; k < head.n; k++)
        if (!poly_is(s->w, head.v[k], 1)) want.v[k] = target.v[target.n - head.n + k] = head.v[k];
    if (dims_equal(&head, &want)) return true;
    const int skip = to_full_rank ? 0 : dropped(s, *v, head, target);
    head = last_axes(head, head.n - skip);
    if (!(*v = reshape_to(s, *v, joined_dims(head, end)))) return false;
    *v = broadcast_to(s, *v, joined_dims(to_full_rank ? target : last_axes(target, head.n), end));
    return *v != 0;
}

bool stretch_to(Import *s, Value *v, Dims target) {
    Dims d = value_type(s->w, *v)->dim, joined;
    if (!dims_stretch(s, target, d, &joined)) return false;
    if (!dims_equal(&joined, &target))
        return import_fail(s, "an input that is larger than the shape it is broadcast to");
    return broadcast_front(s, v, target, 0, false);
}

/* Sets `guess` to the type of the result, with a symbol that depends on data for each size that is
   not decided. */
static void guess_stretched(Import *s, int n, const Value v[]) {
    Type type, *of = &type;
    Dims target = {0};
    TypeId id[3];
    for (int k = 0; k < n; k++) {
        Dims d = value_type(s->w, v[k])->dim, longer = d.n > target.n ? d : target;
        for (int j = 1; j <= d.n && j <= target.n; j++) {
            Poly a = target.v[target.n - j], b = d.v[d.n - j], *to = &longer.v[longer.n - j];
            *to = poly_is(s->w, a, 1) ? b : a;
            if (a != b && !poly_is(s->w, a, 1) && !poly_is(s->w, b, 1))
                *to = poly_symbol(s->w, symbol_data(s->w));
        }
        target = longer;
    }
    if (n > 3 || attrs_count(s->op->attrs)) return;
    for (int k = 0; k < n; k++) {
        *of = *value_type(s->w, v[k]), of->dim = target;
        id[k] = type_intern(s->w, of);
    }
    const SigInfo *info = sig_info(s->w, sig_intern(s->w, s->op, NULL, n, id, 1));
    if (!info->why) s->guess = *type_get(s->w, info->out[0]);
}

bool stretch_all(Import *s, int n, Value v[], int tail) {
    Dims target = {0};
    int widest = 0;
    bool covered = false, known = true;
    for (int k = 0; k < n; k++) {
        if (!v[k] || !import_type(s, v[k])) return import_fail(s, "an input is missing");
        Dims d = value_type(s->w, v[k])->dim;
        if (d.n < tail) return import_fail(s, "an input with too few axes");
        if (!dims_stretch(s, target, front(d, tail), &target)) {
            for (int j = k; j < n; j++) known &= v[j] && value_type(s->w, v[j])->known;
            if (known && !tail && !s->m->assembling) guess_stretched(s, n, v);
            return false;
        }
    }
    for (int k = 0; k < n; k++)
        if (value_type(s->w, v[k])->dim.n == target.n + tail) widest = k;
    Value before = v[widest];
    for (int k = 0; k < n; k++) {
        if (!broadcast_front(s, &v[k], target, tail, false)) return false;
        covered |= value_type(s->w, v[k])->dim.n == target.n + tail;
    }
    if (covered || target.n == 0) return true;
    v[widest] = before;
    return broadcast_front(s, &v[widest], target, tail, true);
}
