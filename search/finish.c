/* finish.c -- turns the graph that rules made into the graph that is written. Values that depend
   only on constants are computed now, once. If all elements of such a value are equal, it becomes a
   `fill`, which does not make the file larger. Of a broadcast, only the value that it repeats is
   computed. Constants that were computed before the search, only so that rules could see them,
   become again what the file has; so a node that no rule rewrote is exactly the node that was read,
   and is copied. */
#include "graphs/constants.h"
#include "search/finish.h"
#include "graphs/fold.h"
#include "ops/core/element.h"
#include <math.h>
#include <string.h>

/* A walk that finds which constants are in the file in the end: those of the file itself, and those
   that are computed. */
typedef struct ConstantWalk {
    World *w;
    const FinishLimits *limits;
    Constants constants; /* of the graph */
    bool *needed;        /* by value - constants.least: a node that is kept reads it */
    /* Likewise: computed from bytes that a node turns into floats. Determined only if
       limits->unpacked > 0. */
    bool *unpacked;
    void (*take)(void *user, Value); /* called for each of these constants */
    void *user;
} ConstantWalk;

typedef struct Finish {
    const RunSource *source;
    const FinishLimits *limits;
    World *w;
    Derivation *d;
    int n;
    Value *from, *to; /* values that are replaced, and what replaces them */
} Finish;

static void mark_needed(ConstantWalk *x, Value v) {
    if (constants_hold(&x->constants, v)) x->needed[v - x->constants.least] = true;
}

/* Returns the size of a constant in bytes; < 0: it is not a number. */
static double constant_bytes(World *w, Value v) {
    int64_t n;
    const Type *t = value_type(w, v);
    return poly_constant(w, type_count(w, t), &n) ? (double)n * dtype_bits(t->dtype) / 8 : -1;
}

/* Whether the constant is too large to be computed in advance. An operator that no file can express
   must be computed, whatever the size. */
static bool too_large(World *w, const FinishLimits *limits, Value v) {
    return limits->constant >= 0 && constant_bytes(w, v) > (double)limits->constant &&
           !(node_get(w, value_node(w, v)).op->flags & OP_ON_CONSTANTS);
}

static bool stays_unpacked(const ConstantWalk *x, Value v) {
    return x->unpacked[v - x->constants.least] && constant_bytes(x->w, v) > x->limits->unpacked;
}

/* Decides what the file has in place of a constant that is needed: for a broadcast, its input; for
   floats made from bytes, the bytes; for a fill, nothing. */
static void visit_needed(ConstantWalk *x, const Node *n, Value v) {
    const bool made = !constant_get(x->w, v, NULL, NULL) && !input_name(x->w, v);
    if (made && n->op == &op_fill) return;
    if (made && (n->op == &op_broadcast || constant_unpacks(x->w, n) ||
                 too_large(x->w, x->limits, v) || stays_unpacked(x, v)))
        for (int k = 0; k < n->nin; k++) mark_needed(x, n->in[k]);
    else x->take(x->user, v);
}

static void find_unpacked(ConstantWalk *x) {
    const Constants *c = &x->constants;
    for (int k = 0; k < c->live.n; k++) {
        const Node n = node_get(x->w, c->live.v[k]);
        if (!constants_hold(c, n.out)) continue;
        bool any = constant_unpacks(x->w, &n);
        for (int j = 0; j < n.nin; j++)
            any |= constants_hold(c, n.in[j]) && x->unpacked[n.in[j] - c->least];
        for (int port = 0; port < n.nout; port++) x->unpacked[n.out + (Value)port - c->least] = any;
    }
}

/* Visits the nodes from the outputs down, so that a node's needs are known before its inputs are
   visited. `given`: as constants_find. The walk's arrays live in scratch memory. */
static void walk_constants(ConstantWalk *x, const Graph *g, const bool given[]) {
    Arena *a = x->w->scratch;
    x->constants = constants_find(x->w, a, g, given, NULL);
    const Constants *c = &x->constants;
    x->needed = ARENA_NEW(a, bool, c->past - c->least);
    x->unpacked = ARENA_NEW(a, bool, c->past - c->least);
    if (x->limits->unpacked > 0) find_unpacked(x);
    for (int k = 0; k < g->nout; k++) mark_needed(x, g->out[k]);
    for (int k = c->live.n; k-- > 0;) {
        const Node n = node_get(x->w, c->live.v[k]);
        for (int j = 0; j < n.nin && !constants_hold(c, n.out); j++) mark_needed(x, n.in[j]);
        for (int port = 0; port < n.nout; port++) {
            const Value v = n.out + (Value)port;
            if (constants_hold(c, v) && x->needed[v - c->least]) visit_needed(x, &n, v);
        }
    }
}

/* Notes a constant to be computed: one that a rule made. */
static void want_value(void *user, Value v) {
    Finish *f = user;
    if (!constant_get(f->w, v, NULL, NULL) && derivation_tag(f->d, v)) f->from[f->n++] = v;
}

/* A constant of fewer elements stays as it is: a fill, which the file spells as ConstantOfShape
   with its shape and value, would hardly be smaller. */
enum { FEW = 64 };

/* Returns the fill that equals a float32 constant whose elements are all equal; 0: they are not,
   there are few of them, or the type is another one. */
static Value as_fill(World *w, Value v) {
    Type t;
    const void *bytes;
    int64_t n;
    if (!constant_get(w, v, &t, &bytes) || t.dtype != DT_FLOAT ||
        !poly_constant(w, type_count(w, &t), &n) || n < FEW || !elements_same(t.dtype, bytes, n))
        return 0;
    const Op *op = &op_fill;
    Attr attr[ATTRS_MAX] = {{{0, NULL}, 0, 0, 0}};
    attr[attrs_find(op->attrs, "value")].real = ex_real(w, element_real(t.dtype, bytes, 0));
    attr[attrs_find(op->attrs, "shape")].ints = (PolyList){t.dim.n, t.dim.v};
    attr[attrs_find(op->attrs, "dtype")].enum_value = (int)t.dtype;
    return node_make(w, op, attr, 0, NULL, 1, NULL);
}

static bool replace_values(Finish *f, Error *e) {
    Graph next;
    ValueMap map;
    if (!f->n) return true;
    if (!graph_substitute(f->w, f->d->arena, &f->d->graph, &(Substitution){f->n, f->from, f->to},
                          &next, &map, e))
        return false;
    derive_mapped(f->d, &next, &map);
    return true;
}

/* Whether what is to be computed fits the limit. Rules that double something, applied wherever they
   match, soon make constants too large for any memory. */
static bool computable(Finish *f, const Graph *part, Error *e) {
    const NodeList live = graph_live(f->w, f->w->scratch, part);
    double sum = 0;
    for (int k = 0; k < live.n; k++) {
        const Node node = node_get(f->w, live.v[k]);
        for (int port = 0; port < node.nout; port++) {
            const double bytes = constant_bytes(f->w, node.out + (Value)port);
            sum += bytes > 0 ? bytes : 0;
        }
    }
    return sum <= f->limits->all ||
           error_set(e, E_LIMIT, f->limits->file,
                     "constants of %.3g bytes would have to be computed; at most %.3g bytes are "
                     "allowed: raise --max-growth",
                     sum, f->limits->all);
}

static bool is_finite(World *w, Value v) {
    Type t;
    const void *bytes;
    int64_t n;
    if (!constant_get(w, v, &t, &bytes) || dtype_class(t.dtype) != 'F' ||
        !element_readable(t.dtype) || !poly_constant(w, type_count(w, &t), &n))
        return true;
    for (int64_t k = 0; k < n; k++)
        if (!isfinite(element_real(t.dtype, bytes, k))) return false;
    return true;
}

/* Whether all computed constants are finite, unless they depend on infinite ones. The product of
   two scalars may be too large for a float, whereas the original multiplies by one after the
   other. */
static bool nothing_overflows(Finish *f, const Graph *part, const Graph *folded, Error *e) {
    const NodeList live = graph_live(f->w, f->w->scratch, part);
    bool finite = true;
    for (int k = 0; k < folded->nout && finite; k++) finite = is_finite(f->w, folded->out[k]);
    for (int k = 0; k < live.n && !finite; k++) finite = !is_finite(f->w, live.v[k]);
    return finite || error_set(e, E_LIMIT, f->limits->file,
                               "a constant that would have to be computed overflows");
}

static bool compute_wanted(Finish *f, Error *e) {
    World *w = f->w;
    Graph part = {0, f->n, NULL, f->from}, folded;
    ValueMap map;
    if (!f->n) return true;
    if (!computable(f, &part, e)) return false;
    const bool good =
        f->limits->drawn
            ? graph_fold_drawn(w, f->d->arena, &part, f->limits->drawn, &folded, &map, e)
            : graph_fold(w, f->d->arena, &part, INT64_MAX / 4, NULL, &folded, &map, e);
    if (!good || !nothing_overflows(f, &part, &folded, e)) return false;
    for (int k = 0; k < f->n; k++) {
        Value fill = as_fill(w, folded.out[k]);
        f->to[k] = fill ? fill : folded.out[k];
    }
    f->d->nfolded = f->n;
    f->d->folded = arena_copy(f->d->arena, f->from, sizeof *f->from * (size_t)f->n);
    f->d->constant = arena_copy(f->d->arena, f->to, sizeof *f->to * (size_t)f->n);
    return replace_values(f, e);
}

/* Restores the values of the file that were computed before the search. */
static bool restore_constants(Finish *f, Error *e) {
    World *w = f->w;
    Arena *a = w->scratch;
    NodeList live = graph_live(w, a, &f->d->graph), old = graph_live(w, a, &f->source->original);
    /* By value: a live constant that is not yet replaced. */
    bool *open = ARENA_NEW(a, bool, value_last(w) + 1);
    for (int k = 0; k < live.n; k++) open[live.v[k]] = constant_get(w, live.v[k], NULL, NULL);
    f->from = ARENA_NEW(a, Value, live.n);
    f->to = ARENA_NEW(a, Value, live.n);
    f->n = 0;
    for (int k = 0; k < old.n; k++) {
        const Value now = map_value(&f->source->prefold, old.v[k]);
        if (now == old.v[k] || !open[now]) continue;
        open[now] = false;
        f->from[f->n] = now;
        f->to[f->n++] = old.v[k];
    }
    return replace_values(f, e);
}

int64_t graph_constant_bytes(World *w, const Graph *g) {
    NodeList live = graph_live(w, w->scratch, g);
    int64_t sum = 0, n;
    for (int k = 0; k < live.n; k++) {
        Type t;
        if (!constant_get(w, live.v[k], &t, NULL) || !poly_constant(w, type_count(w, &t), &n))
            continue;
        sum += (int64_t)element_bytes(t.dtype, n);
    }
    return sum;
}

typedef struct ByteSum {
    World *w;
    double bytes;
} ByteSum;

static void add_bytes(void *user, Value v) {
    ByteSum *sum = user;
    sum->bytes += fmax(constant_bytes(sum->w, v), 0);
}

double graph_finished_bytes(World *w, const Graph *g, const bool given[],
                            const FinishLimits *limits) {
    const ArenaMark mark = arena_mark(w->scratch);
    ByteSum sum = {w, 0};
    walk_constants(&(ConstantWalk){.w = w, .limits = limits, .take = add_bytes, .user = &sum}, g,
                   given);
    arena_reset(w->scratch, mark);
    return sum.bytes;
}

bool derivation_finish(Derivation *d, const RunSource *s, const FinishLimits *limits, Error *e) {
    Arena *a = d->w->scratch;
    ArenaMark mark = arena_mark(a);
    Finish f = {.source = s, .limits = limits, .w = d->w, .d = d};
    const uint32_t room = value_last(d->w) + 1;
    f.from = ARENA_NEW(a, Value, room);
    f.to = ARENA_NEW(a, Value, room);
    d->unfolded = d->graph;
    d->nfolded = 0;
    walk_constants(&(ConstantWalk){.w = d->w, .limits = limits, .take = want_value, .user = &f},
                   &d->graph, NULL);
    bool good = compute_wanted(&f, e) && restore_constants(&f, e);
    arena_reset(a, mark);
    return good;
}

FinishLimits run_finish_limits(const Run *r) {
    /* 256 MiB: small files leave room for rules, too, and any machine that runs models has as much
       memory. */
    enum { LARGE = 1 << 28 };
    const double file = (double)r->stats.bytes_before + (double)r->growth_limit;
    return (FinishLimits){.file = r->in, .constant = r->o->fold_limit, .all = (double)LARGE + file};
}

/* Returns the bytes by which the file grows: by constants, and by additional nodes with their names
   and attributes. */
static double bytes_added(const Run *r, const Derivation *d, const FinishLimits *limits) {
    /* About what a node takes in the file, with its names, its attributes and the note that names
       the rule. It need not be exact: run_fits counts the bytes to be written. */
    const double node_bytes = 200;
    const ArenaMark mark = arena_mark(d->w->scratch);
    const int nodes = graph_live(d->w, d->w->scratch, &d->graph).n -
                      graph_live(d->w, d->w->scratch, &r->source.original).n;
    arena_reset(d->w->scratch, mark);
    return graph_finished_bytes(d->w, &d->graph, NULL, limits) -
           graph_finished_bytes(d->w, &r->source.original, NULL, limits) +
           node_bytes * fmax(nodes, 0);
}

/* Whether the target has room for the constants that it computes as it loads the file. Rules that
   enlarge weights, applied to weights that others enlarged, can make them many times as large as
   the file. */
static bool target_can_hold(const Run *r, const Derivation *d, const FinishLimits *limits,
                            Error *e) {
    const double bytes = graph_finished_bytes(d->w, &d->graph, NULL, limits);
    return bytes <= limits->all ||
           error_set(e, E_LIMIT, r->in,
                     "the target would have to compute and hold constants of %.3g bytes; at most "
                     "%.3g are left to it",
                     bytes, limits->all);
}

/* If constants computed now would make the file grow too much, as the weights of Winograd's
   convolutions do, a measuring command is left to compute the larger ones. Most runtimes do so when
   they load the model; one that computes them in each run is timed doing that. */
bool run_finish(const Run *r, Derivation *d, Error *e) {
    /* Bytes. Smaller constants are computed all the same: even hundreds of them hardly make the
       file larger, and nodes in their place would each cost the target a call. */
    enum { LEFT_TO_TARGET = 4096 };
    FinishLimits limits = run_finish_limits(r);
    if (r->o->measure_with && limits.constant < 0 &&
        bytes_added(r, d, &limits) > (double)r->growth_limit) {
        if (!target_can_hold(r, d, &limits, e)) return false;
        limits.constant = LEFT_TO_TARGET;
    }
    return derivation_finish(d, &r->source, &limits, e);
}

bool run_pieces(Run *r, const Derivation *d, Arena *a, Pieces *file, Error *e) {
    const ModelWrite x = run_model_write(r, d);
    if (!model_pieces(r->source.model, &x, a, file, e)) return false;
    r->stats.growth = (int64_t)file->size - r->stats.bytes_before;
    return r->stats.growth <= r->growth_limit ||
           error_set(e, E_LIMIT, r->in,
                     "the file would grow by %lld bytes; %lld are allowed (--max-growth)",
                     (long long)r->stats.growth, (long long)r->growth_limit);
}

bool run_fits(Run *r, const Derivation *d, Error *e) {
    Arena *a = arena_new(r->escape, 0);
    Pieces file;
    bool fits = run_pieces(r, d, a, &file, e);
    if (fits) r->stats.bytes_after = (int64_t)file.size;
    arena_free(a);
    return fits;
}
