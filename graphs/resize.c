/* resize.c -- a graph with other sizes: nodes are made again in order, with the symbols in their
   attributes and in the inputs' types replaced. */
#include "graphs/rewrite.h"

typedef struct Resize {
    World *w;
    Arena *arena;
    int n;
    const Symbol *from;
    const Poly *to;
    Value least, *made; /* by value of the old graph, from the least on */
} Resize;

static Value input_resized(Resize *r, Value v) {
    Type t = *value_type(r->w, v);
    for (int k = 0; k < t.dim.n; k++)
        t.dim.v[k] = poly_subst(r->w, t.dim.v[k], r->n, r->from, r->to);
    return graph_input(r->w, input_name(r->w, v), &t);
}

static Value node_resized(Resize *r, const Node *node, const char **why) {
    Attr attr[ATTRS_MAX];
    Value *in = ARENA_NEW(r->arena, Value, node->nin);
    sig_attr(r->w, node->sig, attr);
    for (int k = 0; k < attrs_count(node->op->attrs); k++) {
        Poly *list = ARENA_NEW(r->arena, Poly, attr[k].ints.n);
        for (int j = 0; j < attr[k].ints.n; j++)
            list[j] = poly_subst(r->w, attr[k].ints.v[j], r->n, r->from, r->to);
        attr[k].ints.v = list;
        if (attr[k].real)
            attr[k].real = ex_subst(r->w, attr[k].real, r->n, r->from, r->to, NULL, 0);
    }
    for (int k = 0; k < node->nin; k++) in[k] = node->in[k] ? r->made[node->in[k] - r->least] : 0;
    return node_make(r->w, node->op, attr, node->nin, in, node->nout, why);
}

static bool resized(Resize *r, NodeId id, Error *e) {
    Node node = node_get(r->w, id);
    const char *why = "";
    Value y =
        input_name(r->w, node.out) ? input_resized(r, node.out) : node_resized(r, &node, &why);
    if (!y) return error_set(e, E_INVALID, node.op->name, "does not accept these sizes: %s", why);
    for (int k = 0; k < node.nout; k++) r->made[node.out - r->least + (Value)k] = y + (Value)k;
    return true;
}

bool graph_resize(World *w, Arena *a, const Graph *g, int n, const Symbol from[], const Poly to[],
                  Graph *out, Error *e) {
    NodeList live = graph_live(w, a, g);
    const Value least = live.n ? live.v[0] : 1;
    const Node last = live.n ? node_get(w, live.v[live.n - 1]) : (Node){0};
    Resize r = {w, a, n, from, to, least, NULL};
    r.made = ARENA_NEW(a, Value, live.n ? last.out + (Value)last.nout - least : 0);
    for (int k = 0; k < live.n; k++)
        if (!resized(&r, live.v[k], e)) return false;
    Value *in = ARENA_NEW(a, Value, g->nin), *result = ARENA_NEW(a, Value, g->nout);
    for (int k = 0; k < g->nin; k++) in[k] = input_resized(&r, g->in[k]);
    for (int k = 0; k < g->nout; k++) result[k] = r.made[g->out[k] - least];
    *out = (Graph){g->nin, g->nout, in, result};
    return true;
}
