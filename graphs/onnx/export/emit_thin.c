/* emit_thin.c -- finds the values that an operator can read instead of its broadcast inputs if it
   broadcasts by itself in ONNX. `broadcast`, and reshapes that only drop or add leading axes of
   size 1, are skipped. */
#include "graphs/onnx/export/export.h"
#include <string.h>

/* NumPy's broadcast of two lists of sizes; false if it is not decided. */
bool emit_joined(World *w, Dims a, Dims b, Dims *out) {
    *out = a.n >= b.n ? a : b;
    for (int k = 1; k <= a.n && k <= b.n; k++) {
        Poly x = a.v[a.n - k], y = b.v[b.n - k];
        if (x != y && !poly_is(w, x, 1) && !poly_is(w, y, 1)) return false;
        out->v[out->n - k] = poly_is(w, x, 1) ? y : x;
    }
    return true;
}

static bool leading_ones_only(World *w, Dims a, Dims b) {
    Dims longer = a.n > b.n ? a : b, shorter = a.n > b.n ? b : a;
    for (int k = 0; k < longer.n - shorter.n; k++)
        if (!poly_is(w, longer.v[k], 1)) return false;
    for (int k = 0; k < shorter.n; k++)
        if (shorter.v[k] != longer.v[longer.n - shorter.n + k]) return false;
    return true;
}

Value emit_thin(World *w, Value v, int rank, const EmitContext *context) {
    for (;;) {
        Node n = node_get(w, value_node(w, v));
        if (n.nin != 1 || context->named(context->user, v)) return v;
        Dims y = value_type(w, v)->dim, x = value_type(w, n.in[0])->known
                                                ? value_type(w, n.in[0])->dim
                                                : (Dims){.n = RANK_MAX + 1};
        bool reshape = n.op == &op_reshape && leading_ones_only(w, x, y),
             broadcast = n.op == &op_broadcast;
        if (x.n > rank || !(reshape || broadcast)) return v;
        v = n.in[0];
    }
}

/* Whether the sizes that ONNX gives to the result of these inputs are the wanted ones, the last
   `tail` axes left aside. */
bool emit_same_sizes(World *w, int n, const Value v[], Dims want, int tail) {
    Dims all = {0};
    for (int k = 0; k < n; k++) {
        Dims d = value_type(w, v[k])->dim;
        d.n -= tail;
        if (d.n < 0 || !emit_joined(w, all, d, &all)) return false;
    }
    want.n -= tail;
    return dims_equal(&all, &want);
}
