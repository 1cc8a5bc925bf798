/* disturb.c -- makes a graph with disturbed roundings: each node, in order, is rebuilt on its
   disturbed inputs, and its results are disturbed in turn. */
#include "graphs/disturb.h"
#include "graphs/oracle.h"
#include "graphs/rewrite.h"
#include "ops/base/random.h"
#include "ops/core/element.h"
#include <assert.h>
#include <string.h>

enum { MANY = 1 << 20 };

/* One random number serves this many elements: one bit for each says whether it moves up or
   down. */
enum { DRAWN = 64 };

/* A loop of its own for float, since all values of a model are moved many times. In a file, x may
   lie unaligned. */
static void move_floats(float *out, const void *x, int64_t n, const float factor[2], uint64_t up) {
    float held[DRAWN];
    memcpy(held, x, (size_t)n * sizeof *held);
    for (int64_t i = 0; i < n; i++) out[i] = held[i] * factor[up >> i & 1];
}

void data_nearby(uint64_t seed, int input, DType t, int64_t n, const void *data, void *out) {
    Random r = {random_at(seed, (uint64_t)input), 0};
    const double by = 2 * dtype_roundoff(t), factor[2] = {1 - by, 1 + by};
    const float near[2] = {(float)factor[0], (float)factor[1]}; /* exact in float */
    for (int64_t i = 0; i < n && dtype_class(t) == 'F'; i += DRAWN) {
        const uint64_t up = random_next(&r);
        const int64_t end = n - i < DRAWN ? n - i : DRAWN;
        if (t == DT_FLOAT)
            move_floats((float *)out + i, (const char *)data + i * (int64_t)sizeof(float), end,
                        near, up);
        for (int64_t k = 0; k < end && t != DT_FLOAT; k++)
            element_set_real(t, out, i + k, element_real(t, data, i + k) * factor[up >> k & 1]);
    }
}

typedef struct Disturb {
    World *w;
    Sizes sizes;
    uint64_t seed;
    ValueMap map;
    void *pool[DT_COUNT]; /* by type: the factors of computed values; NULL: not drawn yet */
} Disturb;

/* Whether v is moved: its elements are floats, and not too many. *t becomes its type, whose sizes
   must be numbers, and *n its number of elements. */
static bool moves(const Disturb *d, Value v, Type *t, int64_t *n) {
    int64_t dim[RANK_MAX];
    *t = *value_type(d->w, v);
    if (dtype_class(t->dtype) != 'F' || dtype_bits(t->dtype) < 16 ||
        !oracle_dims(d->w, t, d->sizes, dim, n) || *n > MANY)
        return false;
    for (int k = 0; k < t->dim.n; k++)
        if (t->dim.v[k] != poly_int(d->w, dim[k])) return false;
    return true;
}

static Value moved_constant(Disturb *d, Value v, const Type *t, int64_t n, const void *bytes) {
    void *data = arena_alloc_raw(d->w->arena, element_bytes(t->dtype, n));
    data_nearby(d->seed, (int)v, t->dtype, n, bytes, data);
    return constant_make(d->w, t, blob_put(d->w, data, element_bytes(t->dtype, n)));
}

/* The factors, numbers near 1, for a value of n elements. All values of a type take their factors
   from one pool, each starting at another place: a model has so many values that separate factors
   would not fit into memory. */
static const void *factors(Disturb *d, Value y, DType t, int64_t n) {
    enum { PLACES = 1024, APART = 64 };
    if (!d->pool[t]) {
        const int64_t all = MANY + PLACES * APART;
        d->pool[t] = arena_alloc_raw(d->w->arena, element_bytes(t, all));
        for (int64_t i = 0; i < all; i++) element_set_real(t, d->pool[t], i, 1);
        data_nearby(d->seed, -1, t, all, d->pool[t], d->pool[t]);
    }
    assert(n <= MANY);
    const uint64_t place = random_at(d->seed, y) % PLACES;
    return (const char *)d->pool[t] + element_bytes(t, (int64_t)place * APART);
}

static Value moved_value(Disturb *d, Value y, const Type *t, int64_t n) {
    const char *why;
    const Blob by = blob_put(d->w, factors(d, y, t->dtype, n), element_bytes(t->dtype, n));
    const Value in[2] = {y, constant_make(d->w, t, by)};
    return node_make(d->w, &op_mul, NULL, 2, in, 1, &why);
}

static bool disturb_node(Disturb *d, NodeId id, Error *e) {
    World *w = d->w;
    const Node n = node_get(w, id);
    const void *bytes;
    Type t;
    int64_t count;
    if (input_name(w, id)) return true;
    if (constant_get(w, id, NULL, &bytes)) {
        if (moves(d, id, &t, &count)) d->map.to[id] = moved_constant(d, id, &t, count, bytes);
        return true;
    }
    const Value y = node_mapped(w, w->scratch, id, &d->map, e);
    if (!y) return false;
    for (int port = 0; port < n.nout; port++) {
        const Value v = y + (Value)port;
        const Value moved = moves(d, v, &t, &count) ? moved_value(d, v, &t, count) : 0;
        d->map.to[id + (Value)port] = moved ? moved : v;
    }
    return true;
}

bool graph_disturbed(World *w, Arena *a, const Graph *g, Sizes sizes, uint64_t seed, Graph *out,
                     Error *e) {
    const uint32_t n = value_last(w) + 1;
    const NodeList live = graph_live(w, a, g);
    Disturb d = {.w = w, .sizes = sizes, .seed = seed, .map = {n, ARENA_NEW(a, Value, n)}};
    Value *to = ARENA_NEW(a, Value, g->nout);
    for (int k = 0; k < live.n; k++)
        if (!disturb_node(&d, live.v[k], e)) return false;
    for (int k = 0; k < g->nout; k++) to[k] = map_value(&d.map, g->out[k]);
    *out = (Graph){g->nin, g->nout, g->in, to};
    return true;
}
