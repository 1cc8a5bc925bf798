/* weigh.c -- the cost model: a fixed time for each call, a time for each byte read or written, and
   a time for each operation. A broadcast costs nothing, as it is part of the operators that read
   it, and a reshape costs only a part of a call. */
#include "generator/discover/weigh.h"
#include "graphs/rewrite.h"

/* Seconds of a call, for a byte, and of an operation; operations of a root, exponential, .. */
static const double call = 2e-6, byte = 1e-10, arithmetic = 1 / 4e10, function = 20;

int64_t type_elements(World *w, const Type *t, Sizes sizes) {
    int64_t n = 1, d;
    for (int k = 0; k < t->dim.n; k++) {
        if (!poly_eval(w, t->dim.v[k], sizes, &d) || d < 0 || (d && n > INT64_MAX / 8 / d))
            return -1;
        n *= d;
    }
    return n;
}

/* Whether a function takes one instruction of a processor; the operations of the definition include
   it already. */
static bool is_short(Function f) {
    return f == FN_ABS || f == FN_SIGN || f == FN_DELTA || f == FN_FLOOR || f == FN_CEIL ||
           f == FN_ROUND;
}
/* The functions in a definition, counted at each occurrence; a power counts as four. */
static int calls_in(World *w, Ex e) {
    ExNode x;
    int n = 0;
    if (!e) return 0;
    ex_get(w, e, &x);
    for (int k = 0; k < ex_children(x.kind); k++) n += calls_in(w, x.child[k]);
    return n + (x.kind == EX_FN && !is_short((Function)x.word)) + 4 * (x.kind == EX_POW);
}

static bool listed(NodeList list, NodeId id) {
    for (int k = 0; k < list.n; k++)
        if (list.v[k] == id) return true;
    return false;
}

/* The operations of a node; those of a composite are the operations of its expansion. */
static double operations(World *w, NodeId id, Sizes sizes) {
    Node n = node_get(w, id);
    if (!n.op->expand) {
        int64_t elements = type_elements(w, value_type(w, n.out), sizes);
        return sig_work(w, n.sig, sizes) +
               (double)elements * function * calls_in(w, sig_define(w, n.sig, 0));
    }
    ArenaMark mark = arena_mark(w->scratch);
    Value *out = ARENA_NEW(w->scratch, Value, n.nout);
    Error ignored = {0};
    double total = 0;
    if (node_expand(w, w->scratch, id, out, &ignored)) {
        Graph g = {n.nin, n.nout, n.in, out};
        const Graph inputs = {0, n.nin, NULL, n.in};
        const NodeList live = graph_live(w, w->scratch, &g),
                       given = graph_live(w, w->scratch, &inputs);
        for (int k = 0; k < live.n && total >= 0; k++) {
            double one = listed(given, live.v[k]) ? 0 : operations(w, live.v[k], sizes);
            total = one < 0 ? one : total + one;
        }
    }
    arena_reset(w->scratch, mark);
    return total;
}

/* The bytes that a node reads and writes; < 0 if some size has no value. */
static double bytes_of(World *w, const Node *n, Sizes sizes) {
    double bytes = 0;
    for (int k = 0; k < n->nin + n->nout; k++) {
        Value v = k < n->nin ? n->in[k] : n->out + (Value)(k - n->nin);
        if (!v) continue;
        const Type *t = value_type(w, v);
        int64_t elements = type_elements(w, t, sizes);
        if (elements < 0) return -1;
        bytes += (double)elements * dtype_bits(t->dtype) / 8;
    }
    return bytes;
}

double node_seconds(World *w, NodeId id, Sizes sizes) {
    Node n = node_get(w, id);
    if (n.op->flags & OP_NO_COST || n.op == &op_broadcast || n.op == &op_fill) return 0;
    if (sig_kind(w, n.sig, 0) == SIG_RESHAPE) return call / 4;
    double work = operations(w, id, sizes), bytes = bytes_of(w, &n, sizes);
    return work < 0 || bytes < 0 ? -1 : call + bytes * byte + work * arithmetic;
}

double node_least(World *w, NodeId id, Sizes sizes, double flops, double bytes) {
    Node n = node_get(w, id);
    double compute = sig_work(w, n.sig, sizes) / flops, move = bytes_of(w, &n, sizes) / bytes;
    return compute > move ? compute : move > 0 ? move : 0;
}
