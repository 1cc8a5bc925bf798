/* captures.c -- finds the names that the subgraphs of a node (If, Loop, Scan) use without defining
   them, the captures of the node, and reserves the names that the subgraphs define
   (NameInfo.defined_in_subgraph). */
#include "graphs/onnx/model.h"

typedef struct NameScope {
    Model *m;
    Error *error;
    NameId *defined;
    int ndefined, room;
    OnnxNode *node;
} NameScope;

static void scope_define(NameScope *c, Slice text) {
    NameId id = name_id(c->m, text, c->error);
    ARENA_GROW(c->m->w->arena, c->defined, c->room, c->ndefined + 1);
    c->defined[c->ndefined++] = id;
    if (id && c->m->name[id].source == FROM_NOTHING) c->m->name[id].defined_in_subgraph = true;
}

static void scope_use(NameScope *c, Slice text) {
    NameId id = name_id(c->m, text, c->error);
    OnnxNode *n = c->node;
    for (int k = 0; k < c->ndefined; k++)
        if (c->defined[k] == id) return;
    for (int k = 0; k < n->ncapture; k++)
        if (n->capture[k] == id) return;
    if (!id) return;
    ARENA_APPEND(c->m->w->arena, n->capture, n->ncapture, id);
}

/* Defines the name of each entry of a list. The name is the field `name` of the entry or, if
   `inside` is not 0, of the message in its field `inside`. */
static bool scope_defines(NameScope *c, Wire w, const SliceList *list, uint32_t name,
                          uint32_t inside) {
    for (int k = 0; k < list->n; k++) {
        Slice entry = list->v[k], text;
        if ((inside && !wire_read_bytes(wire_inner(&w, entry), inside, &entry)) ||
            !wire_read_bytes(wire_inner(&w, entry), name, &text))
            return false;
        scope_define(c, text);
    }
    return true;
}

static bool scope_graph(NameScope *c, Wire w, int depth) {
    Arena *a = c->m->w->arena;
    GraphIndex g;
    int before = c->ndefined;
    Wire start = w;
    if (!index_graph(a, &w, depth, &g)) return false;
    if (!scope_defines(c, start, &g.input, VALUE_INFO_NAME, 0) ||
        !scope_defines(c, start, &g.initializer, TENSOR_NAME, 0) ||
        !scope_defines(c, start, &g.sparse, TENSOR_NAME, SPARSE_TENSOR_VALUES))
        return false;
    for (int i = 0; i < g.node.n; i++) {
        NodeIndex x;
        Wire node = wire_inner(&start, g.node.v[i]);
        if (!index_node(a, &node, &x)) return false;
        for (int k = 0; k < x.nin; k++) scope_use(c, x.in[k]);
        for (int j = 0; j < x.nattr; j++)
            for (int k = 0; k < x.attr[j].graph.n; k++)
                if (!scope_graph(c, wire_inner(&start, x.attr[j].graph.v[k]), depth + 1))
                    return false;
        for (int k = 0; k < x.nout; k++) scope_define(c, x.out[k]);
    }
    for (int k = 0; k < g.output.n; k++) {
        Slice text;
        if (!wire_read_bytes(wire_inner(&start, g.output.v[k]), VALUE_INFO_NAME, &text))
            return false;
        scope_use(c, text);
    }
    c->ndefined = before;
    return c->error->kind == E_NONE;
}

bool subgraph_uses(Model *m, OnnxNode *n, Slice graph, Error *e) {
    Error local = {0};
    NameScope scope = {.m = m, .error = &local, .node = n};
    return scope_graph(&scope, model_wire(m, graph, &local), 1) ||
           error_set(e, E_INVALID, local.place, "%s", local.reason);
}

bool subgraph_captures(Model *m, OnnxNode *n, Error *e) {
    Error local = {0};
    NameScope scope = {.m = m, .error = &local, .node = n};
    Wire w = wire_new(n->x.whole, m->x.bytes.at, node_place(m, n), &local);
    for (int j = 0; j < n->x.nattr; j++)
        for (int k = 0; k < n->x.attr[j].graph.n; k++)
            if (!scope_graph(&scope, wire_inner(&w, n->x.attr[j].graph.v[k]), 1))
                return error_set(e, E_INVALID, local.place, "%s", local.reason);
    return true;
}
