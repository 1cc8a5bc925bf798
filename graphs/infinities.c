/* infinities.c -- marks the values that an infinity of a constant may reach. It walks over the
   values in the order in which they were made, in which the inputs of a node come before it. */
#include "graphs/infinities.h"
#include "graphs/tables.h"
#include "ops/core/element.h"
#include <float.h>
#include <math.h>

static double greatest(DType t) {
    if (t == DT_DOUBLE) return DBL_MAX;
    return element_greatest(t) > 0 ? element_greatest(t) : (double)FLT_MAX;
}
/* The greatest number whose square the type can hold. A constant beyond it counts as infinite. */
static double limit_of(DType t) { return sqrt(greatest(t)); }
static bool holds_infinity(World *w, Value v) {
    Type t;
    const void *data;
    int64_t n = 0;
    if (!constant_get(w, v, &t, &data) || dtype_class(t.dtype) != 'F' ||
        !poly_constant(w, type_count(w, &t), &n) || !element_readable(t.dtype))
        return false;
    const double limit = limit_of(t.dtype);
    for (int64_t k = 0; k < n; k++)
        if (!(fabs(element_real(t.dtype, data, k)) <= limit)) return true;
    return false;
}
static bool writes_infinity(World *w, const Node *n) {
    const DType t = value_type(w, n->out)->dtype;
    Attr attr[ATTRS_MAX];
    double x;
    if (!(n->op->flags & OP_WRITES) || dtype_class(t) != 'F') return false;
    sig_attr(w, n->sig, attr);
    for (int k = 0; k < attrs_count(n->op->attrs); k++)
        if (n->op->attrs[k].kind == A_REAL && ex_number(w, attr[k].real, &x) &&
            !(fabs(x) <= limit_of(t)))
            return true;
    return false;
}
typedef enum InfinityReach { UNKNOWN, FINITE, REACHED } InfinityReach;
static uint8_t *row(World *w, Value v) { return column_at(w, &graph_tables(w)->infinity, v); }
static InfinityReach reach_of(World *w, NodeId id) {
    const Node node = node_get(w, id);
    bool reached = holds_infinity(w, id) || writes_infinity(w, &node);
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
