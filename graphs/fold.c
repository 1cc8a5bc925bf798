/* fold.c -- folds constants in two passes. The first pass finds, from inputs to outputs, the nodes
   that depend on constants only. The second one goes back from the outputs: if such a node is
   needed, it becomes a constant if its size allows this; otherwise its inputs are needed.

   Only what is needed is computed: floats, and long lists of integers if doubles hold everything
   that occurs, by the oracle; few integers as shape values. So the result does not depend on the
   machine. */
#include "graphs/fold.h"
#include "graphs/constants.h"
#include "graphs/oracle.h"
#include "graphs/shapevalue.h"
#include "ops/backend/view.h"
#include "ops/base/random.h"
#include "ops/core/element.h"
#include <string.h>

typedef struct Fold {
    World *w;
    Arena *arena;
    int64_t growth;
    int64_t drawn;         /* float32 constants of at least this many bytes are drawn; 0: none is */
    const ValueMap *known; /* the map of an earlier folding; NULL: there was none */
    Constants constants;   /* values that depend on constants only and can be computed */
    bool *needed; /* indexed by value - constants.least: a node that stays, or an output, uses it */
    int n, room;
    Value *from, *to; /* the substitution: n values and the constants that replace them */
} Fold;

typedef struct Extent { /* the size of a value whose sizes are numbers */
    int64_t count, bytes;
} Extent;
static bool numeric_type(World *w, Value v, Extent *out) {
    const Type *t = value_type(w, v);
    int64_t dim[RANK_MAX];
    if (!element_readable(t->dtype) || !oracle_dims(w, t, (Sizes){0}, dim, &out->count))
        return false;
    out->bytes = (int64_t)element_bytes(t->dtype, out->count);
    return true;
}

static bool computable(World *w, const Node *n) {
    Extent size;
    if (constant_get(w, n->out, NULL, NULL)) return true;
    if (!op_algebraic(n->op) && !n->op->kernel) return false;
    for (int port = 0; port < n->nout; port++)
        if (!numeric_type(w, n->out + (Value)port, &size)) return false;
    return true;
}

/* Bytes of the constants from which a value is computed. */
static int64_t source_bytes(Fold *f, Value v) {
    ArenaMark mark = arena_mark(f->w->scratch);
    NodeList live = graph_live(f->w, f->w->scratch, &(Graph){0, 1, NULL, &v});
    int64_t sum = 0;
    Extent size;
    for (int k = 0; k < live.n; k++)
        if (constant_get(f->w, live.v[k], NULL, NULL) && numeric_type(f->w, live.v[k], &size))
            sum += size.bytes;
    arena_reset(f->w->scratch, mark);
    return sum;
}

/* Stores contents. If the World has them already, the copy is discarded. */
static Blob keep_contents(World *w, const void *data, size_t n) {
    ArenaMark mark = arena_mark(w->arena);
    const void *copy = arena_copy(w->arena, data, n);
    Blob blob = blob_put(w, copy, n);
    if (n && blob_get(w, blob, NULL) != copy) arena_reset(w->arena, mark);
    return blob;
}

/* Whether an expression is exact in doubles for integers of 32 bits: it consists of sums,
   differences, moves and choices of a few of them. */
static bool exact_in_doubles(World *w, Ex e) {
    ExNode x;
    if (!e) return false;
    ex_get(w, e, &x);
    switch (x.kind) {
    case EX_AT: return true;
    case EX_NUM: return x.q == 1 && x.p == (int32_t)x.p;
    case EX_MUL:
        return (ex_is(w, x.a, -1) && exact_in_doubles(w, x.b)) ||
               (ex_is(w, x.b, -1) && exact_in_doubles(w, x.a));
    case EX_ADD:
    case EX_IF: return exact_in_doubles(w, x.a) && (!x.b || exact_in_doubles(w, x.b));
    default: return false;
    }
}
static bool short_integers(const Type *t) {
    return dtype_is_integer(t->dtype) && dtype_bits(t->dtype) <= 32;
}
/* Whether all values from which v is computed are integers that doubles hold exactly. */
static bool integers_in_doubles(Fold *f, Value v) {
    ArenaMark mark = arena_mark(f->w->scratch);
    const NodeList live = graph_live(f->w, f->w->scratch, &(Graph){0, 1, NULL, &v});
    bool good = true;
    for (int k = 0; k < live.n && good; k++) {
        const Node n = node_get(f->w, live.v[k]);
        good = n.nout == 1 && short_integers(value_type(f->w, n.out)) &&
               (constant_get(f->w, n.out, NULL, NULL) ||
                exact_in_doubles(f->w, sig_define(f->w, n.sig, 0)));
    }
    arena_reset(f->w->scratch, mark);
    return good;
}

/* Computes v by moving bytes, if its node only moves elements of constants. The oracle would read a
   transposed matrix number by number. */
static bool move_elements(Fold *f, Value v, void *out) {
    World *w = f->w;
    const Node n = node_get(w, value_node(w, v));
    const Type *type = value_type(w, v);
    if (dtype_bits(type->dtype) % 8 || !n.nin || !op_algebraic(n.op)) return false;
    const void **slot = ARENA_NEW(w->scratch, const void *, n.nin);
    View *in = ARENA_NEW(w->scratch, View, n.nin), moved;
    int64_t dim[RANK_MAX], count;
    for (int k = 0; k < n.nin; k++) {
        Type t;
        if (!n.in[k] || !constant_get(w, n.in[k], &t, &slot[k]) ||
            !oracle_dims(w, &t, (Sizes){0}, dim, &count))
            return false;
        in[k] = view_dense(k, (int32_t)t.dtype, t.dim.n, dim);
    }
    if (!oracle_dims(w, type, (Sizes){0}, dim, &count)) return false;
    const View like = view_dense(0, (int32_t)type->dtype, type->dim.n, dim);
    if (!sig_lower_view(w, n.sig, (int)(v - n.out), (Sizes){0}, in, &like, &moved)) return false;
    view_gather(&moved, slot[moved.slot], element_bytes(type->dtype, 1), out);
    return true;
}

static Value computed_constant(Fold *f, Value v, Extent size) {
    Type t = *value_type(f->w, v);
    Error ignored = {0};
    void *data;
    if (dtype_class(t.dtype) != 'F') {
        const Value few = value_constant(f->w, v);
        if (few || !integers_in_doubles(f, v)) return few;
    }
    ArenaMark mark = arena_mark(f->w->scratch);
    data = arena_alloc_raw(f->w->scratch, (size_t)size.bytes);
    Value y = 0;
    const Graph alone = {0, 1, NULL, &v};
    const bool done = move_elements(f, v, data) ||
                      oracle_run(f->w, &alone, (Sizes){0}, false, NULL, &data, &ignored);
    if (done &&
        (size.bytes <= f->growth || size.count < 2 || !elements_same(t.dtype, data, size.count)))
        y = constant_make(f->w, &t, keep_contents(f->w, data, (size_t)size.bytes));
    arena_reset(f->w->scratch, mark);
    return y;
}

/* Draws a constant from numbers that differ for each value, since equal constants would become one
   node. */
static Value drawn_constant(Fold *f, Value v, Extent size) {
    const ArenaMark mark = arena_mark(f->w->scratch);
    float *data = ARENA_NEW(f->w->scratch, float, size.count);
    for (int64_t k = 0; k < size.count; k++)
        data[k] = 0.5F + (float)(random_at(v, (uint64_t)k) >> 40) * 0x1p-24F;
    const Value y =
        constant_make(f->w, value_type(f->w, v), keep_contents(f->w, data, (size_t)size.bytes));
    arena_reset(f->w->scratch, mark);
    return y;
}

static bool is_drawn(const Fold *f, Value v, int64_t bytes) {
    return f->drawn && bytes >= f->drawn && value_type(f->w, v)->dtype == DT_FLOAT;
}

/* The constant that an earlier folding made of v; 0 if it made none. */
static Value known_constant(const Fold *f, Value v) {
    const Value y = f->known ? map_value(f->known, v) : v;
    return y != v && constant_get(f->w, y, NULL, NULL) ? y : 0;
}

static bool fold_value(Fold *f, Value v) {
    Extent size;
    if (!numeric_type(f->w, v, &size) || size.bytes > source_bytes(f, v) + f->growth) return false;
    Value y = known_constant(f, v);
    if (!y)
        y = is_drawn(f, v, size.bytes) ? drawn_constant(f, v, size) : computed_constant(f, v, size);
    if (!y) return false;
    f->from[f->n] = v;
    f->to[f->n++] = y;
    return true;
}

static bool needed(const Fold *f, Value v) { return f->needed[v - f->constants.least]; }

/* Makes constants of all needed results of a node, or of none. */
static bool fold_node(Fold *f, const Node *n) {
    int before = f->n;
    if (!constants_hold(&f->constants, n->out)) return false;
    for (int port = 0; port < n->nout; port++)
        if (needed(f, n->out + (Value)port) && !fold_value(f, n->out + (Value)port)) {
            f->n = before;
            return false;
        }
    return true;
}

static bool node_needed(const Fold *f, const Node *n) {
    for (int port = 0; port < n->nout; port++)
        if (needed(f, n->out + (Value)port)) return true;
    return false;
}

static void fold_all(Fold *f, const Graph *g) {
    const NodeList live = f->constants.live;
    for (int k = 0; k < g->nout; k++) f->needed[g->out[k] - f->constants.least] = true;
    for (int k = live.n; k-- > 0;) {
        Node n = node_get(f->w, live.v[k]);
        if (!n.nin && (constant_get(f->w, n.out, NULL, NULL) || input_name(f->w, n.out))) continue;
        if (!node_needed(f, &n) || fold_node(f, &n)) continue;
        for (int j = 0; j < n.nin; j++)
            if (n.in[j]) f->needed[n.in[j] - f->constants.least] = true;
    }
}

static bool fold(Fold f, const Graph *g, Graph *out, ValueMap *map, Error *e) {
    f.constants = constants_find(f.w, f.arena, g, NULL, computable);
    const uint32_t n = f.constants.past - f.constants.least;
    f.needed = ARENA_NEW(f.arena, bool, n);
    f.from = ARENA_NEW(f.arena, Value, n);
    f.to = ARENA_NEW(f.arena, Value, n);
    fold_all(&f, g);
    return graph_substitute(f.w, f.arena, g, &(Substitution){f.n, f.from, f.to}, out, map, e);
}

bool graph_fold(World *w, Arena *a, const Graph *g, int64_t growth, const ValueMap *known,
                Graph *out, ValueMap *map, Error *e) {
    return fold((Fold){.w = w, .arena = a, .growth = growth, .known = known}, g, out, map, e);
}

bool graph_fold_drawn(World *w, Arena *a, const Graph *g, int64_t drawn, Graph *out, ValueMap *map,
                      Error *e) {
    return fold((Fold){.w = w, .arena = a, .growth = INT64_MAX / 4, .drawn = drawn}, g, out, map,
                e);
}
