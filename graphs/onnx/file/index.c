/* index.c -- indexes an ONNX file in one pass over ModelProto, its GraphProto and the headers of
   its nodes. */
#include "graphs/onnx/file/index.h"
#include "ops/base/file.h"
#include <string.h>

void slices_push(Arena *a, SliceList *list, Slice s) {
    ARENA_GROW(a, list->v, list->room, list->n + 1);
    list->v[list->n++] = s;
}

Slice index_domain(Slice domain) { return slice_is(domain, "ai.onnx") ? (Slice){0} : domain; }

static SliceList *list_of(GraphIndex *g, uint32_t number) {
#define X(member, field) \
    if (number == field) return &g->member;
    GRAPH_LISTS(X)
#undef X
    return NULL;
}

bool index_graph(Arena *a, Wire *w, int depth, GraphIndex *g) {
    *g = (GraphIndex){0};
    if (depth > WIRE_DEPTH) return wire_fail(w, w->rest.at, "subgraphs are nested too deeply");
    for (Field f; wire_next(w, &f);) {
        SliceList *list = list_of(g, f.number);
        if (list && wire_want(w, &f, WIRE_BYTES)) slices_push(a, list, f.bytes);
        if (f.number == GRAPH_NAME && wire_want(w, &f, WIRE_BYTES)) g->name = f.bytes;
    }
    return !w->failed;
}

bool index_opset(Wire w, Opset *out) {
    *out = (Opset){.version = 0};
    for (Field f; wire_next(&w, &f);) {
        if (f.number == OPERATOR_SET_ID_DOMAIN && wire_want(&w, &f, WIRE_BYTES))
            out->domain = f.bytes;
        if (f.number == OPERATOR_SET_ID_VERSION && wire_want(&w, &f, WIRE_VARINT))
            out->version = (int64_t)f.value;
    }
    out->domain = index_domain(out->domain);
    return !w.failed;
}

bool index_file(Arena *a, Slice file, const char *place, FileIndex *x, Error *e) {
    *x = (FileIndex){.bytes = file};
    Wire w = wire_new(file, file.at, place, e);
    SliceList opsets = {0};
    bool found = false;
    for (Field f; wire_next(&w, &f);) {
        if (f.number == MODEL_IR_VERSION && wire_want(&w, &f, WIRE_VARINT))
            x->ir_version = (int64_t)f.value;
        if (f.number == MODEL_OPSET_IMPORT && wire_want(&w, &f, WIRE_BYTES))
            slices_push(a, &opsets, f.bytes);
        if (f.number == MODEL_TRAINING_INFO && wire_want(&w, &f, WIRE_BYTES))
            slices_push(a, &x->training, f.bytes);
        if (f.number == MODEL_FUNCTIONS && wire_want(&w, &f, WIRE_BYTES))
            slices_push(a, &x->function, f.bytes);
        if (f.number == MODEL_GRAPH && wire_want(&w, &f, WIRE_BYTES) && wire_once(&w, &f, &found))
            x->graph = f.bytes;
    }
    if (w.failed) return false;
    if (!x->graph.at)
        return error_set(e, E_INVALID, place,
                         "no graph found: not an ONNX model, or a truncated one");
    x->opset = ARENA_NEW(a, Opset, opsets.n);
    for (x->nopset = 0; x->nopset < opsets.n; x->nopset++)
        if (!index_opset(wire_inner(&w, opsets.v[x->nopset]), &x->opset[x->nopset])) return false;
    Wire g = wire_inner(&w, x->graph);
    return index_graph(a, &g, 0, &x->g);
}

void index_put_graph(const FileIndex *x, const Pieces *graph, Pieces *file) {
    Wire w = wire_new(x->bytes, x->bytes.at, "", NULL);
    for (Field f; wire_next(&w, &f);)
        if (f.number == MODEL_GRAPH) wire_put_pieces(file, MODEL_GRAPH, graph);
        else pieces_add(file, f.whole.at, f.whole.n);
}

bool index_has_subgraph(const NodeIndex *n) {
    for (int k = 0; k < n->nattr; k++)
        if (n->attr[k].graph.n) return true;
    return false;
}

Slice index_subgraph(const NodeIndex *n, const char *attribute) {
    for (int k = 0; k < n->nattr; k++)
        if (slice_is(n->attr[k].name, attribute) && n->attr[k].graph.n == 1)
            return n->attr[k].graph.v[0];
    return (Slice){0};
}

void index_put_subgraph(Wire w, const Pieces *graph, Pieces *node) {
    Pieces attribute = pieces_new(node->arena);
    for (Field f; wire_next(&w, &f);)
        if (f.number == ATTRIBUTE_G) wire_put_pieces(&attribute, ATTRIBUTE_G, graph);
        else pieces_add(&attribute, f.whole.at, f.whole.n);
    wire_put_pieces(node, NODE_ATTRIBUTE, &attribute);
}

Slice index_entry_name(Wire entry, uint32_t number) {
    switch (number) {
    case GRAPH_INITIALIZER: return wire_bytes(entry, TENSOR_NAME);
    case GRAPH_SPARSE_INITIALIZER:
        return wire_bytes(wire_inner(&entry, wire_bytes(entry, SPARSE_TENSOR_VALUES)), TENSOR_NAME);
    case GRAPH_QUANTIZATION_ANNOTATION: return wire_bytes(entry, TENSOR_ANNOTATION_TENSOR_NAME);
    default: return wire_bytes(entry, VALUE_INFO_NAME);
    }
}

const char *index_free_name(Arena *a, Intern *taken, const char *name) {
    const char *text = name;
    for (int k = 1; intern_find(taken, text, strlen(text)); k++)
        text = arena_format(a, "%s_%d", name, k);
    intern_put(taken, text, strlen(text));
    return text;
}

void index_put_identity(Arena *a, Slice from, Slice to, const char *node_name, Pieces *graph) {
    static const char type[] = "Identity";
    Text t = text_new(a);
    wire_put_bytes(&t, NODE_INPUT, from.at, from.n);
    wire_put_bytes(&t, NODE_OUTPUT, to.at, to.n);
    if (*node_name) wire_put_bytes(&t, NODE_NAME, node_name, strlen(node_name));
    wire_put_bytes(&t, NODE_OP_TYPE, type, strlen(type));
    wire_put_slice(graph, GRAPH_NODE, t.data, t.size);
}

void index_put_opset(Arena *a, Slice domain, int64_t version, Pieces *file) {
    Text t = text_new(a);
    wire_put_bytes(&t, OPERATOR_SET_ID_DOMAIN, domain.at, domain.n);
    wire_put_int(&t, OPERATOR_SET_ID_VERSION, (uint64_t)version);
    wire_put_slice(file, MODEL_OPSET_IMPORT, t.data, t.size);
}

static bool index_attr(Arena *a, Wire w, AttrSlice *out) {
    *out = (AttrSlice){.whole = w.rest, .small = true};
    bool has_tensor = false, has_graph = false;
    for (Field f; wire_next(&w, &f);) {
        const bool graph = f.number == ATTRIBUTE_G || f.number == ATTRIBUTE_GRAPHS,
                   heavy = graph || f.number == ATTRIBUTE_T || f.number == ATTRIBUTE_TENSORS ||
                           f.number == ATTRIBUTE_SPARSE_TENSOR ||
                           f.number == ATTRIBUTE_SPARSE_TENSORS;
        if (heavy) out->small = false;
        if ((f.number == ATTRIBUTE_NAME || heavy) && !wire_want(&w, &f, WIRE_BYTES)) return false;
        if (f.number == ATTRIBUTE_NAME) out->name = f.bytes;
        if ((f.number == ATTRIBUTE_T && !wire_once(&w, &f, &has_tensor)) ||
            (f.number == ATTRIBUTE_G && !wire_once(&w, &f, &has_graph)))
            return false;
        if (f.number == ATTRIBUTE_T) out->tensor = f.bytes;
        if (graph) slices_push(a, &out->graph, f.bytes);
        if (f.number == ATTRIBUTE_TYPE && wire_want(&w, &f, WIRE_VARINT)) out->type = f.value;
    }
    return !w.failed;
}

bool index_node(Arena *a, Wire *w, NodeIndex *x) {
    *x = (NodeIndex){.whole = w->rest};
    SliceList in = {0}, out = {0}, attr = {0};
    for (Field f; wire_next(w, &f);) {
        Slice other, *text = f.number == NODE_NAME      ? &x->name
                             : f.number == NODE_OP_TYPE ? &x->type
                             : f.number == NODE_DOMAIN  ? &x->domain
                                                        : &other;
        SliceList *list = f.number == NODE_INPUT       ? &in
                          : f.number == NODE_OUTPUT    ? &out
                          : f.number == NODE_ATTRIBUTE ? &attr
                                                       : NULL;
        if (!list && text == &other) continue;
        if (!wire_want(w, &f, WIRE_BYTES)) return false;
        if (list) slices_push(a, list, f.bytes);
        else *text = f.bytes;
    }
    x->domain = index_domain(x->domain);
    x->nin = in.n, x->nout = out.n, x->in = in.v, x->out = out.v;
    x->attr = ARENA_NEW(a, AttrSlice, attr.n);
    for (x->nattr = 0; !w->failed && x->nattr < attr.n; x->nattr++)
        if (!index_attr(a, wire_inner(w, attr.v[x->nattr]), &x->attr[x->nattr]))
            return w->failed = true, false;
    return !w->failed;
}

static void list_names(Wire w, const SliceList *list, uint32_t number, NameVisit *name,
                       void *user) {
    for (int k = 0; k < list->n; k++)
        name(user, index_entry_name(wire_inner(&w, list->v[k]), number), true);
}

bool index_names(Arena *a, Wire graph, int depth, bool deep, NameVisit *name, void *user) {
    GraphIndex g;
    Wire w = graph;
    if (!index_graph(a, &w, depth, &g)) return false;
    list_names(w, &g.input, GRAPH_INPUT, name, user);
    list_names(w, &g.initializer, GRAPH_INITIALIZER, name, user);
    list_names(w, &g.sparse, GRAPH_SPARSE_INITIALIZER, name, user);
    for (int k = 0; k < g.node.n; k++) {
        NodeIndex n;
        Wire node = wire_inner(&w, g.node.v[k]);
        if (!index_node(a, &node, &n)) return false;
        for (int j = 0; j < n.nin; j++) name(user, n.in[j], false);
        for (int j = 0; j < n.nout; j++) name(user, n.out[j], true);
        for (int j = 0; deep && j < n.nattr; j++)
            for (int i = 0; i < n.attr[j].graph.n; i++)
                if (!index_names(a, wire_inner(&w, n.attr[j].graph.v[i]), depth + 1, true, name,
                                 user))
                    return false;
    }
    return true;
}
