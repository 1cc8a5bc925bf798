/* edges.c -- collects the numbers of definitions, and draws data near them. */
#include "verifier/edges.h"
#include "graphs/graph.h"
#include <math.h>

enum { VISITS_MAX = 4096, WRAPPED_BITS = 32, SMALL = 3 };

static void note_number(Edges *x, Ratio v) {
    for (int k = 0; k < x->n; k++)
        if (x->v[k].p == v.p && x->v[k].q == v.q) return;
    if (x->n < EDGES_MAX) x->v[x->n++] = v;
}
/* Visits a tree, whose parts may occur many times, up to a number of steps. */
static void note_numbers(Edges *x, World *w, Ex e, int *visits) {
    ExNode n;
    if (!e || --*visits < 0) return;
    ex_get(w, e, &n);
    if (n.kind == EX_NUM) note_number(x, (Ratio){n.p, n.q});
    x->takes |= n.kind == EX_TAKE;
    for (int k = 0; k < ex_children(n.kind); k++) note_numbers(x, w, n.child[k], visits);
}
static void note_side(Edges *x, World *w, Arena *a, const Graph *g) {
    const NodeList live = graph_live(w, a, g);
    for (int k = 0; k < live.n; k++) {
        const Node node = node_get(w, live.v[k]);
        const void *bytes;
        if (input_name(w, node.out) || constant_get(w, node.out, NULL, &bytes)) continue;
        for (int j = 0; j < node.nout; j++)
            note_numbers(x, w, sig_define(w, node.sig, j), &(int){VISITS_MAX});
    }
}
static bool narrow(DType t) { return dtype_is_integer(t) && dtype_bits(t) <= WRAPPED_BITS; }

Edges edges_of(World *w, Arena *a, const Instance *i) {
    Edges x = {0};
    note_side(&x, w, a, &i->from);
    note_side(&x, w, a, &i->to);
    for (int k = 0; k < i->ninput; k++) x.integers |= narrow(value_type(w, i->input[k])->dtype);
    return x;
}
bool edges_any(const Edges *x) {
    bool any = x->integers;
    for (int k = 0; k < x->n; k++)
        any |= x->v[k].p > SMALL * x->v[k].q || x->v[k].p < -SMALL * x->v[k].q;
    return any;
}

static int64_t limited(int64_t v, IntegerRange to) {
    return v < to.low ? to.low : v > to.high ? to.high : v;
}
/* Draws a number of the definitions or its negative, or a limit of a type of integers. */
static Ratio drawn_edge(const Edges *x, Random *random, uint64_t edges, DType t) {
    const uint64_t k = random_below(random, edges), n = (uint64_t)x->n;
    if (k >= n) return (Ratio){k == n ? dtype_range(t).low : dtype_range(t).high, 1};
    return (Ratio){random_below(random, 4) ? x->v[k].p : -x->v[k].p, x->v[k].q};
}
static int64_t drawn_whole(const Edges *x, Random *random, DType t, int64_t small) {
    const uint64_t edges = (uint64_t)x->n + (narrow(t) ? 2 : 0), how = random_below(random, 4);
    if (!edges || !how) return small;
    if (how == 1 && narrow(t))
        return dtype_range(t).low + (int64_t)(random_next(random) >> (64 - dtype_bits(t)));
    const Ratio edge = drawn_edge(x, random, edges, t);
    return edge.p / edge.q + (int64_t)random_below(random, 3) - 1;
}
Number edges_draw(const Edges *x, Random *random, const Numbers *num, DType t) {
    const int64_t small = (int64_t)random_below(random, 2 * SMALL + 1) - SMALL;
    if (t == DT_BOOL) return num->ratio(small > 0, 1);
    if (dtype_is_integer(t)) {
        const int64_t v = drawn_whole(x, random, t, small);
        if (narrow(t)) return num->ratio(limited(v, dtype_range(t)), 1);
        return num->ratio(dtype_class(t) == 'U' && v < 0 ? 0 : v, 1);
    }
    if (!x->n || !random_below(random, 4)) return num->ratio(small, 1);
    const Ratio edge = drawn_edge(x, random, (uint64_t)x->n, t);
    return num->add(num->ratio(edge.p, edge.q), num->ratio(small, SMALL));
}

bool edges_wrap(const Edges *x, const Numbers *num, DType t, Number *v) {
    const double value = num->known(*v) ? num->approx(*v) : NAN, end = ldexp(1, dtype_bits(t));
    if (!narrow(t) || !(fabs(value) < 0x1p53) || floor(value) != value) return false;
    double rest = value - floor(value / end) * end;
    if (dtype_class(t) == 'I' && rest >= end / 2) rest -= end;
    if (rest != value && x->takes && dtype_class(t) == 'I' && dtype_bits(t) == WRAPPED_BITS)
        return false;
    *v = num->ratio((int64_t)rest, 1);
    return true;
}
