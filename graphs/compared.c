/* compared.c -- follows each `equal` with a constant back to an input, through nodes that only move
   or convert elements. */
#include "graphs/compared.h"
#include "ops/core/element.h"

/* The value whose elements v's elements are, moved or converted; 0 if v is computed otherwise. */
static Value moved_from(World *w, Value v) {
    const Node node = node_get(w, value_node(w, v));
    const Ex define = sig_define(w, node.sig, value_port(w, v));
    ExNode x;
    if (!define) return node.op->flags & OP_PASSES && v == node.out ? node.in[0] : 0;
    ex_get(w, define, &x);
    return x.kind == EX_AT ? node.in[x.word] : 0;
}

/* The index of the graph input whose elements v has, moved or converted; -1 if there is none. */
static int input_of(World *w, const Graph *g, Value v) {
    for (; v; v = moved_from(w, v))
        for (int k = 0; k < g->nin; k++)
            if (g->in[k] == v) return k;
    return -1;
}

/* The number of a constant with one integer element, perhaps moved or converted. Returns false if v
   is not such a constant. */
static bool number_of(World *w, Value v, int64_t *number) {
    Type t;
    const void *bytes;
    for (; v && !constant_get(w, v, &t, &bytes); v = moved_from(w, v)) {}
    int64_t n;
    if (!v || !dtype_is_integer(t.dtype) || !poly_constant(w, type_count(w, &t), &n) || n != 1)
        return false;
    return *number = element_integer(t.dtype, bytes, 0), true;
}

static void add_number(Compared *c, int64_t number) {
    for (int k = 0; k < c->n; k++)
        if (c->number[k] == number) return;
    if (c->n < COMPARED_MOST) c->number[c->n++] = number;
}

Compared *graph_compared(World *w, Arena *a, const Graph *g) {
    Compared *all = ARENA_NEW(a, Compared, g->nin);
    const NodeList live = graph_live(w, a, g);
    for (int k = 0; k < live.n; k++) {
        const Node node = node_get(w, live.v[k]);
        for (int side = 0; node.op == &op_equal && side < 2; side++) {
            int64_t number;
            const int input = input_of(w, g, node.in[side]);
            if (input >= 0 && number_of(w, node.in[1 - side], &number))
                add_number(&all[input], number);
        }
    }
    return all;
}
