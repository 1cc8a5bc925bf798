/* infinities.c -- one pass over the values in the order in which they were made: inputs of a node
   come before it. */
#include "graphs/infinities.h"
#include "ops/core/element.h"
#include <float.h>
#include <math.h>

static double greatest(DType t) {
    if (t == DT_DOUBLE) return DBL_MAX;
    return element_greatest(t) > 0 ? element_greatest(t) : (double)FLT_MAX;
}
static bool holds_infinity(World *w, Value v) {
    Type t;
    const void *data;
    int64_t n = 0;
    if (!constant_get(w, v, &t, &data) || dtype_class(t.dtype) != 'F' ||
        !poly_constant(w, type_count(w, &t), &n) || !element_readable(t.dtype))
        return false;
    const double limit = sqrt(greatest(t.dtype));
    for (int64_t k = 0; k < n; k++)
        if (!(fabs(element_real(t.dtype, data, k)) <= limit)) return true;
    return false;
}
static bool node_reached(const Infinities *s, World *w, NodeId id) {
    const Node node = node_get(w, id);
    bool reached = holds_infinity(w, id);
    for (int k = 0; k < node.nin && !(node.op->flags & OP_BOUNDED); k++)
        reached |= node.in[k] && s->reached[node.in[k]];
    return reached;
}

bool infinity_reaches(Infinities *s, World *w, Arena *a, Value v) {
    ARENA_GROW(a, s->reached, s->room, v + 1);
    for (; s->done < v; s->done++) {
        const Value next = s->done + 1;
        const NodeId id = value_node(w, next);
        s->reached[next] = id == next ? node_reached(s, w, id) : s->reached[id];
    }
    return s->reached[v];
}
