/* inline_function.c -- replaces calls of functions that the model defines by the functions' nodes,
   in the bytes of the file, wherever a call stands.

   The inputs and outputs of the function become those of the call, and its other names become names
   that nothing else has. An attribute that refers to an attribute of the call gets the value that
   the call gives, or the function's default (FunctionProto in onnx.proto). A function that imports
   another version of an operator set than the model does is not inlined. */
#include "graphs/onnx/model.h"
#include "ops/base/file.h"
#include <string.h>

enum { CALLS_DEEP = 64, NODES_MOST = 1 << 20 };

typedef struct LocalFunction {
    Slice name, domain, overload;
    SliceList in, out, node, attribute; /* attribute: those with defaults */
    bool inlined;                       /* it can be inlined, so its calls are */
} LocalFunction;
typedef struct Inlining {
    Arena *a;
    const FileIndex *file;
    const char *path;
    Error *error;
    LocalFunction *function;
    int nopset, nnode; /* the operator sets that the result imports; the number of nodes written */
    Opset *opset;
    Intern *taken;     /* names of values that are in use */
    Intern *node_name; /* names of nodes: ONNX Runtime wants them to be unique within a graph */
    bool failed, inlined;
} Inlining;
/* The renaming of names in the body of one call: `from` numbers the old names, and `to` has the new
   ones. Functions that take NULL instead of a FunctionCall then keep all names. */
typedef struct FunctionCall {
    const NodeIndex *node;
    const LocalFunction *function;
    const char *prefix;
    Intern *from;
    Slice *to;
    uint32_t room;
} FunctionCall;

static Wire inlining_wire(const Inlining *x, Slice s) {
    return wire_new(s, x->file->bytes.at, x->path, x->error);
}

/* ---- the model's functions */

/* Whether the model has the version of the operator set that the function imports. If the model
   does not import the operator set at all, the import is added. */
static bool import_opset(Inlining *x, Slice message) {
    Opset o;
    if (!index_opset(inlining_wire(x, message), &o)) return false;
    for (int k = 0; k < x->nopset; k++)
        if (slice_equal(x->opset[k].domain, o.domain)) return x->opset[k].version == o.version;
    Opset *old = x->opset;
    x->opset = ARENA_NEW(x->a, Opset, x->nopset + 1);
    if (x->nopset) memcpy(x->opset, old, sizeof *old * (size_t)x->nopset);
    x->opset[x->nopset++] = o;
    return true;
}

/* Whether functions of this domain are named like operators. They define what a runtime that
   implements the operator computes by its own kernel. */
static bool names_an_operator(Slice domain) {
    return !domain.n || slice_is(domain, "ai.onnx.ml") || slice_is(domain, "com.microsoft");
}

static bool read_function(Inlining *x, Slice message, bool all, LocalFunction *out) {
    const int nopset = x->nopset;
    Wire w = inlining_wire(x, message);
    *out = (LocalFunction){.inlined = true};
    for (Field f; wire_next(&w, &f);) {
        if (f.kind != WIRE_BYTES) continue;
        switch (f.number) {
        case FUNCTION_NAME: out->name = f.bytes; break;
        case FUNCTION_DOMAIN: out->domain = f.bytes; break;
        case FUNCTION_OVERLOAD: out->overload = f.bytes; break;
        case FUNCTION_INPUT: slices_push(x->a, &out->in, f.bytes); break;
        case FUNCTION_OUTPUT: slices_push(x->a, &out->out, f.bytes); break;
        case FUNCTION_NODE: slices_push(x->a, &out->node, f.bytes); break;
        case FUNCTION_ATTRIBUTE_PROTO: slices_push(x->a, &out->attribute, f.bytes); break;
        case FUNCTION_OPSET_IMPORT: out->inlined &= import_opset(x, f.bytes); break;
        default: break;
        }
    }
    out->domain = index_domain(out->domain);
    out->inlined &= all || !names_an_operator(out->domain);
    if (!out->inlined) x->nopset = nopset;
    return !w.failed;
}

static const LocalFunction *called(const Inlining *x, const NodeIndex *n) {
    for (int k = 0; k < x->file->function.n; k++) {
        const LocalFunction *f = &x->function[k];
        if (slice_equal(f->name, n->type) && slice_equal(f->domain, n->domain) &&
            slice_equal(f->overload, wire_bytes(inlining_wire(x, n->whole), NODE_OVERLOAD)))
            return f->inlined && n->nin <= f->in.n && n->nout <= f->out.n ? f : NULL;
    }
    return NULL;
}

/* ---- names */

static void take_name(void *inlining, Slice name, bool defined) {
    (void)defined;
    if (name.n) intern_put(((Inlining *)inlining)->taken, name.at, name.n);
}

static void take_node_names(Inlining *x, Slice graph) {
    Wire w = inlining_wire(x, graph);
    for (Field f; wire_next(&w, &f);) {
        if (f.number != GRAPH_NODE || f.kind != WIRE_BYTES) continue;
        NodeIndex n;
        Wire node = inlining_wire(x, f.bytes);
        if (!index_node(x->a, &node, &n)) return;
        if (n.name.n) intern_put(x->node_name, n.name.at, n.name.n);
        for (int k = 0; k < n.nattr; k++)
            for (int j = 0; j < n.attr[k].graph.n; j++) take_node_names(x, n.attr[k].graph.v[j]);
    }
}

static Slice fresh_name(Inlining *x, Intern *taken, const FunctionCall *c, Slice name) {
    return slice_of(index_free_name(
        x->a, taken, arena_format(x->a, "%s/%.*s", c->prefix, (int)name.n, (const char *)name.at)));
}
static void map_name(Inlining *x, FunctionCall *c, Slice from, Slice to) {
    const uint32_t id = intern_put(c->from, from.at, from.n);
    ARENA_GROW(x->a, c->to, c->room, id + 1);
    c->to[id] = to;
}
static Slice renamed(Inlining *x, FunctionCall *c, Slice name) {
    if (!c || !name.n) return name;
    if (!intern_find(c->from, name.at, name.n))
        map_name(x, c, name, fresh_name(x, x->taken, c, name));
    return c->to[intern_find(c->from, name.at, name.n)];
}
/* Copies the message with the name in its field `number` replaced. If `inside` is not 0, the name
   is in the message in field `inside`. */
static void put_renamed(Inlining *x, FunctionCall *c, Slice message, uint32_t number,
                        uint32_t inside, Pieces *out) {
    Wire w = inlining_wire(x, message);
    for (Field f; wire_next(&w, &f);) {
        if (inside && f.number == inside && f.kind == WIRE_BYTES) {
            Pieces inner = pieces_new(x->a);
            put_renamed(x, c, f.bytes, number, 0, &inner);
            wire_put_pieces(out, inside, &inner);
        } else if (!inside && f.number == number && f.kind == WIRE_BYTES) {
            const Slice name = renamed(x, c, f.bytes);
            wire_put_slice(out, number, name.at, name.n);
        } else pieces_add(out, f.whole.at, f.whole.n);
    }
    x->failed |= w.failed;
}

/* ---- nodes */

static void put_nodes(Inlining *, const SliceList *, FunctionCall *, int depth, Pieces *);

static void put_subgraph(Inlining *x, Slice graph, FunctionCall *c, int depth, Pieces *out) {
    Wire w = inlining_wire(x, graph);
    for (Field f; wire_next(&w, &f);) {
        Pieces inner = pieces_new(x->a);
        SliceList one = {.n = 1, .v = &f.bytes};
        if (f.number == GRAPH_NODE) {
            put_nodes(x, &one, c, depth, out);
            continue;
        }
        if (c && f.number == GRAPH_QUANTIZATION_ANNOTATION) continue;
        if (c &&
            (f.number == GRAPH_INPUT || f.number == GRAPH_OUTPUT || f.number == GRAPH_VALUE_INFO))
            put_renamed(x, c, f.bytes, VALUE_INFO_NAME, 0, &inner);
        else if (c && f.number == GRAPH_INITIALIZER)
            put_renamed(x, c, f.bytes, TENSOR_NAME, 0, &inner);
        else if (c && f.number == GRAPH_SPARSE_INITIALIZER)
            put_renamed(x, c, f.bytes, TENSOR_NAME, SPARSE_TENSOR_VALUES, &inner);
        else {
            pieces_add(out, f.whole.at, f.whole.n);
            continue;
        }
        wire_put_pieces(out, f.number, &inner);
    }
    x->failed |= w.failed;
}

/* Returns the attribute of the call, or else the default of the function; absent if there is
   neither. */
static Slice given_attribute(const Inlining *x, const FunctionCall *c, Slice name) {
    for (int k = 0; k < c->node->nattr; k++)
        if (slice_equal(c->node->attr[k].name, name)) return c->node->attr[k].whole;
    for (int k = 0; k < c->function->attribute.n; k++)
        if (slice_equal(wire_bytes(inlining_wire(x, c->function->attribute.v[k]), ATTRIBUTE_NAME),
                        name))
            return c->function->attribute.v[k];
    return (Slice){0};
}
static void put_attribute(Inlining *x, const AttrSlice *attr, FunctionCall *c, int depth,
                          Pieces *out) {
    const Slice refers = c ? wire_bytes(inlining_wire(x, attr->whole), ATTRIBUTE_REF_ATTR_NAME)
                           : (Slice){0},
                from = refers.n ? given_attribute(x, c, refers) : attr->whole;
    Pieces inner = pieces_new(x->a);
    if (!from.at) return;
    wire_put_slice(&inner, ATTRIBUTE_NAME, attr->name.at, attr->name.n);
    Wire w = inlining_wire(x, from);
    for (Field f; wire_next(&w, &f);) {
        const bool graph = f.number == ATTRIBUTE_G || f.number == ATTRIBUTE_GRAPHS;
        if (f.number == ATTRIBUTE_NAME) continue;
        /* Subgraphs of the call's own attributes were renamed when the call was written. */
        if (graph && !refers.n) {
            Pieces g = pieces_new(x->a);
            put_subgraph(x, f.bytes, c, depth + 1, &g);
            wire_put_pieces(&inner, f.number, &g);
        } else pieces_add(&inner, f.whole.at, f.whole.n);
    }
    x->failed |= w.failed;
    wire_put_pieces(out, NODE_ATTRIBUTE, &inner);
}

static void put_node(Inlining *x, const NodeIndex *n, FunctionCall *c, int depth, Pieces *out) {
    Pieces node = pieces_new(x->a);
    Wire w = inlining_wire(x, n->whole);
    int attribute = 0;
    for (Field f; wire_next(&w, &f);) {
        if (f.number == NODE_ATTRIBUTE) put_attribute(x, &n->attr[attribute++], c, depth, &node);
        else if (c && (f.number == NODE_INPUT || f.number == NODE_OUTPUT)) {
            const Slice name = renamed(x, c, f.bytes);
            wire_put_slice(&node, f.number, name.at, name.n);
        } else if (c && f.number == NODE_NAME && f.bytes.n) {
            const Slice name = fresh_name(x, x->node_name, c, f.bytes);
            wire_put_slice(&node, NODE_NAME, name.at, name.n);
        } else pieces_add(&node, f.whole.at, f.whole.n);
    }
    x->failed |= w.failed;
    wire_put_pieces(out, GRAPH_NODE, &node);
}

/* Writes a call, whose names are those of the result already, as the nodes of its function. */
static void put_call(Inlining *x, const LocalFunction *f, const NodeIndex *n, int depth,
                     Pieces *out) {
    FunctionCall c = {.node = n, .function = f, .from = intern_new(x->a)};
    Slice base = n->name.n ? n->name : f->name;
    c.prefix = arena_format(x->a, "%.*s", (int)base.n, (const char *)base.at);
    for (int k = 0; k < f->in.n; k++)
        map_name(x, &c, f->in.v[k], k < n->nin ? n->in[k] : (Slice){0});
    for (int k = 0; k < n->nout; k++)
        if (n->out[k].n && !intern_find(c.from, f->out.v[k].at, f->out.v[k].n))
            map_name(x, &c, f->out.v[k], n->out[k]);
    put_nodes(x, &f->node, &c, depth, out);
    for (int k = 0; k < n->nout; k++) {
        const Slice have = renamed(x, &c, f->out.v[k]);
        if (n->out[k].n && !slice_equal(have, n->out[k]))
            index_put_identity(x->a, have, n->out[k], "", out);
    }
    intern_free(c.from);
    x->inlined = true;
}

/* Writes nodes, and calls as nodes of their functions. A call inside of a function's body is first
   written as a node with its names in the result, and then read again like any other call. */
static void put_nodes(Inlining *x, const SliceList *nodes, FunctionCall *c, int depth,
                      Pieces *out) {
    for (int k = 0; k < nodes->n && !x->failed; k++) {
        NodeIndex n;
        Wire w = inlining_wire(x, nodes->v[k]);
        if (++x->nnode > NODES_MOST || depth > CALLS_DEEP || !index_node(x->a, &w, &n)) {
            x->failed = true;
            return;
        }
        const LocalFunction *f = called(x, &n);
        if (!f) {
            put_node(x, &n, c, depth, out);
            continue;
        }
        Pieces node = pieces_new(x->a);
        put_node(x, &n, c, depth, &node);
        char *bytes = pieces_join(&node, x->a);
        Wire field = wire_new((Slice){(unsigned char *)bytes, node.size}, x->file->bytes.at,
                              x->path, x->error);
        Field message;
        if (wire_next(&field, &message)) w = inlining_wire(x, message.bytes);
        if (field.failed || !index_node(x->a, &w, &n)) x->failed = true;
        else put_call(x, f, &n, depth + 1, out);
    }
}

/* ---- the file */

static void put_opsets(const Inlining *x, Pieces *out) {
    for (int k = x->file->nopset; k < x->nopset; k++)
        index_put_opset(x->a, x->opset[k].domain, x->opset[k].version, out);
}
static bool read_functions(Inlining *x, bool all) {
    x->function = ARENA_NEW(x->a, LocalFunction, x->file->function.n);
    x->opset = x->file->opset, x->nopset = x->file->nopset;
    for (int k = 0; k < x->file->function.n; k++)
        if (!read_function(x, x->file->function.v[k], all, &x->function[k])) return false;
    if (!index_names(x->a, inlining_wire(x, x->file->graph), 0, true, take_name, x)) return false;
    take_node_names(x, x->file->graph);
    return true;
}

bool inline_functions(const FileIndex *file, const char *path, bool all, Arena *a, Pieces *out) {
    Error e = {0};
    Inlining x = {.a = a, .file = file, .path = path, .error = &e};
    Pieces graph = pieces_new(a);
    if (!file->function.n) return false;
    x.taken = intern_new(a), x.node_name = intern_new(a);
    if (read_functions(&x, all)) put_subgraph(&x, file->graph, NULL, 0, &graph);
    intern_free(x.taken), intern_free(x.node_name);
    if (!x.inlined || x.failed || e.kind) return false;
    bool kept = false;
    for (int k = 0; k < file->function.n; k++) kept |= !x.function[k].inlined;
    *out = pieces_new(a);
    Wire w = inlining_wire(&x, file->bytes);
    for (Field f; wire_next(&w, &f);) {
        if (f.number == MODEL_GRAPH) put_opsets(&x, out), wire_put_pieces(out, MODEL_GRAPH, &graph);
        else if (f.number != MODEL_FUNCTIONS || kept) pieces_add(out, f.whole.at, f.whole.n);
    }
    return !w.failed;
}
