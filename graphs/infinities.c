/* infinities.c -- one pass over the values in the order in which they were made: inputs of a node
   come before it. */
#include "graphs/infinities.h"
#include "graphs/tables.h"
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
typedef enum Reach { UNKNOWN, FINITE, REACHED } Reach;
static uint8_t *row(World *w, Value v) { return column_at(w, &graph_tables(w)->infinity, v); }
static Reach reach_of(World *w, NodeId id) {
    const Node node = node_get(w, id);
    bool reached = holds_infinity(w, id);
    for (int k = 0; k < node.nin && !(node.op->flags & OP_BOUNDED); k++)
        reached |= node.in[k] && *row(w, node.in[k]) == REACHED;
    return reached ? REACHED : FINITE;
}

bool infinity_reaches(World *w, Value v) {
    Value known = v;
    while (known && *row(w, known) == UNKNOWN) known--;
    for (Value next = known + 1; next <= v; next++) {
        const NodeId id = value_node(w, next);
        *row(w, next) = (uint8_t)(id == next ? reach_of(w, id) : *row(w, id));
    }
    return *row(w, v) == REACHED;
}
