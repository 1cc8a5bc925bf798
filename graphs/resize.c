/* resize.c -- makes a graph with other sizes or another element type. The
   nodes are made again in order, with symbols and element types replaced in their attributes and in
   the types of inputs. */
#include "graphs/resize.h"

typedef struct Resize {
    World *w;
    Arena *arena;
    NewSizes size;
    DType from, to; /* the element types to replace; DT_NONE: none */
    NodeList live;
    Value *made; /* the first value of what replaces each live node */
} Resize;

/* The value that replaces a value of the old graph. */
static Value resized_value(const Resize *r, Value v) {
    const NodeId node = value_node(r->w, v);
    return r->made[nodes_find(r->live, node)] + (v - node);
}

static Poly resized_poly(const Resize *r, Poly p) {
    return poly_subst(r->w, p, r->size.n, r->size.from, r->size.to);
}

static Value input_resized(Resize *r, Value v) {
    Type t = *value_type(r->w, v);
    for (int k = 0; k < t.dim.n; k++) t.dim.v[k] = resized_poly(r, t.dim.v[k]);
    if (t.dtype == r->from) t.dtype = r->to;
    return graph_input(r->w, input_name(r->w, v), &t);
}

static Value node_resized(Resize *r, const Node *node, const char **why) {
    Attr attr[ATTRS_MAX];
    Value *in = ARENA_NEW(r->arena, Value, node->nin);
    sig_attr(r->w, node->sig, attr);
    for (int k = 0; k < attrs_count(node->op->attrs); k++) {
        Poly *list = ARENA_NEW(r->arena, Poly, attr[k].ints.n);
        for (int j = 0; j < attr[k].ints.n; j++) list[j] = resized_poly(r, attr[k].ints.v[j]);
        attr[k].ints.v = list;
        if (attr[k].real)
            attr[k].real =
                ex_subst(r->w, attr[k].real, r->size.n, r->size.from, r->size.to, NULL, 0);
        if (node->op->attrs[k].kind == A_DTYPE && attr[k].enum_value == (int)r->from)
            attr[k].enum_value = (int)r->to;
    }
    for (int k = 0; k < node->nin; k++) in[k] = node->in[k] ? resized_value(r, node->in[k]) : 0;
    return node_make(r->w, node->op, attr, node->nin, in, node->nout, why);
}

static bool resize_node(Resize *r, int k, Error *e) {
    Node node = node_get(r->w, r->live.v[k]);
    const char *why = "";
    if (constant_blob(r->w, node.out) && value_type(r->w, node.out)->dtype == r->from)
        return error_set(e, E_INVALID, node.op->name, "keeps its element type %s",
                         dtype_name(r->from)); /* because its bytes have that type */
    Value y =
        input_name(r->w, node.out) ? input_resized(r, node.out) : node_resized(r, &node, &why);
    if (!y)
        return error_set(e, E_INVALID, node.op->name, "does not accept these %s: %s",
                         r->from ? "element types" : "sizes", why);
    r->made[k] = y;
    return true;
}

static bool resize_all(Resize *r, const Graph *g, Graph *out, Error *e) {
    r->live = graph_live(r->w, r->arena, g);
    r->made = ARENA_NEW(r->arena, Value, r->live.n);
    for (int k = 0; k < r->live.n; k++)
        if (!resize_node(r, k, e)) return false;
    Value *in = ARENA_NEW(r->arena, Value, g->nin), *result = ARENA_NEW(r->arena, Value, g->nout);
    for (int k = 0; k < g->nin; k++) in[k] = input_resized(r, g->in[k]);
    for (int k = 0; k < g->nout; k++) result[k] = resized_value(r, g->out[k]);
    *out = (Graph){g->nin, g->nout, in, result};
    return true;
}

bool graph_resize(World *w, Arena *a, const Graph *g, NewSizes size, Graph *out, Error *e) {
    Resize r = {.w = w, .arena = a, .size = size};
    return resize_all(&r, g, out, e);
}

bool graph_retype(World *w, Arena *a, const Graph *g, DType from, DType to, Graph *out,
                  NodePairs *pairs, Error *e) {
    Resize r = {.w = w, .arena = a, .from = from, .to = to};
    if (!resize_all(&r, g, out, e)) return false;
    if (pairs) *pairs = (NodePairs){r.live, r.made};
    return true;
}
