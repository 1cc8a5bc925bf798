/* finish.c -- from the graph that rules made to the graph that is written. Values that a rule left
   to be computed from constants alone are computed now, once; one whose elements are all equal
   becomes a `fill`, so that files do not grow by it. A broadcast is not computed but what it
   repeats is. Constants that were computed before the search, only so that rules could see them,
   become what the file has again: then whatever no rule touched is the very node that was read, and
   is copied. */
#include "graphs/fold.h"
#include "ops/core/element.h"
#include "search/run.h"
#include <string.h>

typedef struct Finish {
    Run *r;
    Derivation *d;
    NodeList live;
    Value least;
    bool *constant; /* by value - least */
    int n, room;
    Value *from, *to;
} Finish;

static void add(Finish *f, Value from, Value to) {
    if (f->n == f->room) {
        int room = 2 * f->room + 32;
        Value *a = ARENA_NEW(f->r->arena, Value, room), *b = ARENA_NEW(f->r->arena, Value, room);
        if (f->n)
            memcpy(a, f->from, sizeof *a * (size_t)f->n),
                memcpy(b, f->to, sizeof *b * (size_t)f->n);
        f->from = a;
        f->to = b;
        f->room = room;
    }
    f->from[f->n] = from;
    f->to[f->n++] = to;
}

static bool listed(const Finish *f, Value v) {
    for (int k = 0; k < f->n; k++)
        if (f->from[k] == v) return true;
    return false;
}

static bool is_constant(const Finish *f, Value v) { return v && f->constant[v - f->least]; }

static void find_constants(Finish *f) {
    World *w = f->r->w;
    uint32_t n = f->live.n ? f->live.v[f->live.n - 1] - f->least + 1 : 0;
    for (int k = 0; k < f->live.n; k++) n += (uint32_t)node_get(w, f->live.v[k]).nout;
    f->constant = ARENA_NEW(w->scratch, bool, n);
    for (int k = 0; k < f->live.n; k++) {
        Node node = node_get(w, f->live.v[k]);
        bool all = !input_name(w, node.out) && !(node.op->flags & OP_RANDOM);
        for (int j = 0; j < node.nin; j++) all &= !node.in[j] || is_constant(f, node.in[j]);
        for (int port = 0; port < node.nout; port++)
            f->constant[node.out + (Value)port - f->least] = all;
    }
}

static bool too_large(const Finish *f, Value v) {
    int64_t n, limit = f->r->o->fold_limit;
    const Type *t = value_type(f->r->w, v);
    return limit >= 0 && poly_constant(f->r->w, type_count(f->r->w, t), &n) &&
           (int64_t)element_bytes(t->dtype, n) > limit;
}

/* What of a constant value is to be computed: a broadcast's input in its place; nothing where no
   rule made it. */
static void want(Finish *f, Value v) {
    World *w = f->r->w;
    Node n = node_get(w, v);
    if (!is_constant(f, v) || constant_get(w, v, NULL, NULL) || !strcmp(n.op->name, "fill")) return;
    if (!strcmp(n.op->name, "broadcast")) want(f, n.in[0]);
    else if (too_large(f, v))
        for (int k = 0; k < n.nin; k++) {
            if (n.in[k]) want(f, n.in[k]);
        }
    else if (derivation_tag(f->d, v) && !listed(f, v)) add(f, v, 0);
}

static void find_wanted(Finish *f) {
    World *w = f->r->w;
    for (int k = 0; k < f->live.n; k++) {
        Node n = node_get(w, f->live.v[k]);
        if (is_constant(f, n.out)) continue;
        for (int j = 0; j < n.nin; j++)
            if (n.in[j]) want(f, n.in[j]);
    }
    for (int k = 0; k < f->d->graph.nout; k++) want(f, f->d->graph.out[k]);
}

/* A constant all of whose elements are equal as a fill; 0: it is none. */
static Value as_fill(World *w, Value v) {
    Type t;
    const void *bytes;
    int64_t n;
    if (!constant_get(w, v, &t, &bytes) || t.dtype != DT_FLOAT ||
        !poly_constant(w, type_count(w, &t), &n) || n < 64)
        return 0;
    if (memcmp(bytes, (const char *)bytes + sizeof(float), (size_t)(n - 1) * sizeof(float)))
        return 0;
    const Op *op = op_find("fill");
    Attr attr[8] = {{{0, NULL}, 0, 0, 0}};
    attr[attrs_find(op->attrs, "value")].real = ex_real(w, element_real(t.dtype, bytes, 0));
    attr[attrs_find(op->attrs, "shape")].ints = (PolyList){t.dim.n, t.dim.v};
    attr[attrs_find(op->attrs, "dtype")].word = (int)t.dtype;
    return node_make(w, op, attr, 0, NULL, 1, NULL);
}

static bool replace(Finish *f, Error *e) {
    Graph next;
    ValueMap map;
    if (!f->n) return true;
    if (!graph_substitute(f->r->w, f->r->arena, &f->d->graph, f->n, f->from, f->to, &next, &map, e))
        return false;
    derive_mapped(f->d, &next, &map);
    return true;
}

static bool compute(Finish *f, Error *e) {
    World *w = f->r->w;
    Graph part = {0, f->n, NULL, f->from}, folded;
    ValueMap map;
    if (!f->n) return true;
    if (!graph_fold(w, f->r->arena, &part, INT64_MAX / 4, &folded, &map, e)) return false;
    for (int k = 0; k < f->n; k++) {
        Value fill = as_fill(w, folded.out[k]);
        f->to[k] = fill ? fill : folded.out[k];
    }
    return replace(f, e);
}

/* Constants that stand for a computed value of the file. */
static bool restore(Finish *f, Error *e) {
    World *w = f->r->w;
    f->n = 0;
    NodeList live = graph_live(w, f->r->arena, &f->d->graph),
             old = graph_live(w, f->r->arena, &f->r->original);
    for (int k = 0; k < old.n; k++) {
        Value now = map_value(&f->r->prefold, old.v[k]);
        if (now == old.v[k] || !constant_get(w, now, NULL, NULL) || listed(f, now)) continue;
        for (int j = 0; j < live.n; j++)
            if (live.v[j] == now) add(f, now, old.v[k]);
    }
    return replace(f, e);
}

int64_t run_constant_bytes(Run *r, const Graph *g) {
    NodeList live = graph_live(r->w, r->w->scratch, g);
    int64_t sum = 0, n;
    for (int k = 0; k < live.n; k++) {
        Type t;
        if (!constant_get(r->w, live.v[k], &t, NULL) ||
            !poly_constant(r->w, type_count(r->w, &t), &n))
            continue;
        sum += (int64_t)element_bytes(t.dtype, n);
    }
    return sum;
}

bool run_finish(Run *r, Derivation *d, Error *e) {
    ArenaMark mark = arena_mark(r->w->scratch);
    Finish f = {.r = r, .d = d, .live = graph_live(r->w, r->arena, &d->graph)};
    f.least = f.live.n ? f.live.v[0] : 1;
    find_constants(&f);
    find_wanted(&f);
    bool good = compute(&f, e) && restore(&f, e);
    arena_reset(r->w->scratch, mark);
    return good;
}

bool run_pieces(Run *r, const Derivation *d, Arena *a, Pieces *file, Error *e) {
    const ModelWrite x = {
        .graph = &d->graph, .map = &d->map, .tag = derivation_tag, .user = (void *)(uintptr_t)d};
    if (!model_pieces(r->model, &x, a, file, e)) return false;
    r->stats.growth = (int64_t)file->size - r->stats.bytes_before;
    return r->stats.growth <= r->growth ||
           error_set(e, E_LIMIT, r->in,
                     "the file grows by %lld bytes, %lld are allowed (--max-growth)",
                     (long long)r->stats.growth, (long long)r->growth);
}

bool run_fits(Run *r, const Derivation *d, Error *e) {
    Arena *a = arena_new(r->escape, 0);
    Pieces file;
    bool fits = run_pieces(r, d, a, &file, e);
    if (fits) r->stats.bytes_after = (int64_t)file.size;
    arena_free(a);
    return fits;
}
