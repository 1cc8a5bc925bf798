/* cost_model.c -- sums the operations and the memory traffic of each node by itself. Views are
   free, and so is what depends on constants alone. */
#include "search/cost_model.h"
#include "graphs/constants.h"
#include "graphs/plan/choose.h"
#include "graphs/plan/machine.h"

static double type_bytes(World *w, Value v, Sizes sizes) {
    const Type *t = value_type(w, v);
    double bytes = dtype_bits(t->dtype) / 8.0;
    int64_t n;
    for (int k = 0; t->known && k < t->dim.n; k++)
        bytes *= poly_eval(w, t->dim.v[k], sizes, &n) ? (double)n : 16;
    return bytes;
}

static StepKind node_kind(World *w, const Node *n, double flops) {
    if (!op_algebraic(n->op)) return S_OP;
    SigKind kind = sig_kind(w, n->sig, 0);
    if (kind == SIG_ELEMENTWISE) return S_EWISE;
    if (kind == SIG_REDUCTION) return S_REDUCE;
    return flops > 0 ? S_CONV : S_COPY;
}

/* Returns the bytes that a node reads and writes. */
static double node_bytes(World *w, const Node *n, Sizes sizes) {
    double bytes = 0;
    for (int k = 0; k < n->nin; k++)
        if (n->in[k]) bytes += type_bytes(w, n->in[k], sizes);
    for (int port = 0; port < n->nout; port++) bytes += type_bytes(w, n->out + (Value)port, sizes);
    return bytes;
}

static bool is_view(World *w, const Node *n) {
    const SigKind kind = sig_kind(w, n->sig, 0);
    return kind == SIG_VIEW || kind == SIG_RESHAPE;
}

static double node_price(World *w, const Node *n, Sizes sizes) {
    const double flops = sig_work(w, n->sig, sizes);
    if (is_view(w, n)) return 0;
    return choose_model(node_kind(w, n, flops), flops > 0 ? flops : 0, node_bytes(w, n, sizes));
}

static double sum_nodes(World *w, const Graph *g, Sizes sizes, const bool constant[], bool flops) {
    Arena *a = arena_new(arena_escape(w->arena), 0);
    Constants c = constants_find(w, a, g, constant, NULL);
    double sum = 0;
    for (int k = 0; k < c.live.n; k++) {
        Node n = node_get(w, c.live.v[k]);
        if (constants_hold(&c, n.out) || n.op->flags & OP_NO_COST || n.op->flags & OP_RANDOM)
            continue;
        double one = flops ? sig_work(w, n.sig, sizes) : node_price(w, &n, sizes);
        sum += one > 0 ? one : 0;
    }
    arena_free(a);
    return sum;
}

double cost_model(World *w, const Graph *g, Sizes sizes, const bool constant[]) {
    return sum_nodes(w, g, sizes, constant, false);
}
double cost_flops(World *w, const Graph *g, Sizes sizes, const bool constant[]) {
    return sum_nodes(w, g, sizes, constant, true);
}

double cost_weights(World *w, const Graph *g, Sizes sizes) {
    Arena *a = arena_new(arena_escape(w->arena), 0);
    const Constants c = constants_find(w, a, g, NULL, NULL);
    double bytes = 0;
    for (int k = 0; k < c.live.n; k++) {
        const Node n = node_get(w, c.live.v[k]);
        if (constants_hold(&c, n.out) || node_kind(w, &n, sig_work(w, n.sig, sizes)) != S_CONV)
            continue;
        for (int j = 0; j < n.nin; j++)
            if (constants_hold(&c, n.in[j])) bytes += type_bytes(w, n.in[j], sizes);
    }
    arena_free(a);
    return bytes;
}

double cost_node(World *w, const Node *n, Sizes sizes) {
    if (n->op->flags & (OP_NO_COST | OP_RANDOM)) return 0;
    double price = node_price(w, n, sizes);
    return price > 0 ? price : 0;
}

double cost_roofline(World *w, const Node *n, Sizes sizes, double flops, double bytes) {
    if (n->op->flags & (OP_NO_COST | OP_RANDOM) || is_view(w, n)) return 0;
    const Machine m = {.flops = flops, .n = 1, .level = {{.bandwidth = bytes}}};
    return machine_least(&m, sig_work(w, n->sig, sizes), node_bytes(w, n, sizes));
}
