/* constants.c -- finds the values that depend on constants only, in one pass over the live nodes.
   Their ascending order is topological: the results of a node depend on constants only if all its
   inputs do. */
#include "graphs/constants.h"
#include "graphs/tables.h"
#include "ops/core/element.h"

bool constants_hold(const Constants *c, Value v) {
    return v >= c->least && v < c->past && c->is[v - c->least];
}

static bool made_of_constants(const Constants *c, const Node *n) {
    if (n->op->flags & OP_RANDOM) return false;
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] && !constants_hold(c, n->in[k])) return false;
    return true;
}

Constants constants_find(World *w, Arena *a, const Graph *g, const bool given[],
                         bool (*can)(World *, const Node *)) {
    Constants c = {.live = graph_live(w, a, g)};
    graph_span(w, g, c.live, &c.least, &c.past);
    c.is = ARENA_NEW(a, bool, c.past - c.least);
    for (int k = 0; k < g->nin && given; k++) c.is[g->in[k] - c.least] = given[k];
    for (int k = 0; k < c.live.n; k++) {
        Node n = node_get(w, c.live.v[k]);
        if (input_name(w, n.out)) continue;
        bool all = made_of_constants(&c, &n) && (!can || can(w, &n));
        for (int port = 0; port < n.nout; port++) c.is[n.out + (Value)port - c.least] |= all;
    }
    return c;
}

bool constant_unpacks(World *w, const Node *n) {
    if (n->nin < 2 || n->nout != 1 || !n->in[0]) return false;
    const DType from = value_type(w, n->in[0])->dtype;
    return dtype_is_integer(from) && dtype_bits(from) <= 8 &&
           dtype_class(value_type(w, n->out)->dtype) == 'F';
}

bool constant_plain(World *w, Value v) {
    Type t;
    const void *bytes;
    int64_t n;
    if (!constant_get(w, v, &t, &bytes) || !element_readable(t.dtype) ||
        !poly_constant(w, type_count(w, &t), &n))
        return false;
    return n > 0 && elements_same(t.dtype, bytes, n);
}
