/* bodies.c -- turns a body of control flow (a branch of an If, the body of a Loop or Scan) into a
   model of its own, and puts an optimized body back into the file.

   Such a model has the body's own inputs, followed by the values of the surrounding graph that the
   body uses; of these, constants become initializers of the model. Sizes keep their names, or are
   named after their value, so that equal sizes stay equal. Whatever else the surrounding graph
   knows about the sizes is lost, which only makes the model more general. */
#include "graphs/onnx/model.h"
#include "ops/base/file.h"
#include <string.h>

static Slice body_graph(const Model *m, const ModelBody *b) {
    return m->node[b->node].x.attr[b->attr].graph.v[0];
}

int model_bodies(Model *m, Arena *a, ModelBody **out) {
    int n = 0, room = 0;
    ModelBody *list = NULL;
    for (int i = 0; i < m->nnode; i++)
        for (int k = 0; k < m->node[i].x.nattr; k++) {
            const AttrSlice *attr = &m->node[i].x.attr[k];
            Error ignored = {0};
            GraphIndex g;
            if (attr->graph.n != 1) continue;
            Wire w = model_wire(m, attr->graph.v[0], &ignored);
            if (!index_graph(a, &w, 1, &g)) continue;
            const OnnxNode *x = &m->node[i];
            ARENA_GROW(a, list, room, n + 1);
            list[n++] =
                (ModelBody){.node = i,
                            .attr = k,
                            .nodes = g.node.n,
                            .name = arena_format(a, "%s of %s '%s'", slice_text(a, attr->name),
                                                 x->type, node_display_name(a, x))};
        }
    *out = list;
    return n;
}

/* ---- a body as a model */

typedef struct BodyNames {
    Model *m;
    Arena *a;
    Error error;
    uint8_t *defined; /* by NameId: the body defines this name */
    int room, nused, used_room;
    NameId *used; /* all names that the body uses, in order, possibly repeated */
} BodyNames;

static void see_name(void *names, Slice text, bool defined) {
    BodyNames *x = names;
    const NameId id = name_id(x->m, text, &x->error);
    if (!id) return;
    ARENA_GROW(x->a, x->defined, x->room, (int)id + 1);
    if (defined) {
        x->defined[id] = 1;
        return;
    }
    ARENA_GROW(x->a, x->used, x->used_room, x->nused + 1);
    x->used[x->nused++] = id;
}

static bool defines(const BodyNames *x, NameId id) { return (int)id < x->room && x->defined[id]; }

/* Collects the names that the body defines and those that it uses; its outputs count as used. */
static bool body_names(Model *m, Arena *a, Slice graph, BodyNames *x) {
    *x = (BodyNames){.m = m, .a = a};
    GraphIndex g;
    Wire w = model_wire(m, graph, &x->error), names = w;
    if (!index_graph(a, &w, 1, &g) || !index_names(a, names, 1, true, see_name, x)) return false;
    for (int k = 0; k < g.output.n; k++)
        see_name(x, wire_bytes(wire_inner(&w, g.output.v[k]), VALUE_INFO_NAME), false);
    return x->error.kind == E_NONE;
}

/* Writes an input. An axis gets a name unless its size is a number (then name[k] is NULL). */
static void put_typed_input(Model *m, Arena *a, NameId id, const Type *t, Pieces *graph) {
    const char **name = ARENA_NEW(a, const char *, t->dim.n);
    int64_t *dim = ARENA_NEW(a, int64_t, t->dim.n);
    Text info = text_new(a);
    for (int k = 0; k < t->dim.n; k++) {
        Text text = text_new(a);
        if (poly_constant(m->w, t->dim.v[k], &dim[k])) continue;
        poly_print(m->w, t->dim.v[k], &text);
        name[k] = text.data;
    }
    value_info_put(a, &info, m->name[id].text, t->dtype, t->dim.n, dim, name);
    wire_put_slice(graph, GRAPH_INPUT, info.data, info.size);
}

/* ---- known states */

static Slice info_name(const Model *m, Slice info) {
    Error ignored = {0};
    return wire_bytes(model_wire(m, info, &ignored), VALUE_INFO_NAME);
}

static const char *state_name(Arena *a, const char *name) {
    return arena_format(a, "%s/state", name);
}

/* Returns the tensor of a name that is an initializer or the result of a Constant node; absent for
   other names. */
static Slice given_tensor(const Model *m, NameId id) {
    const NameInfo *name = &m->name[id];
    if (name->index < 0 || name->trained) return (Slice){0};
    if (name->source == FROM_INITIALIZER) return m->x.g.initializer.v[name->index];
    if (name->source != FROM_NODE) return (Slice){0};
    const NodeIndex *n = &m->node[name->index].x;
    const bool constant = slice_is(n->type, "Constant") && !n->domain.n && n->nattr == 1 &&
                          slice_is(n->attr[0].name, "value");
    return constant ? n->attr[0].tensor : (Slice){0};
}

Slice body_known_state(const Model *m, Arena *a, const OnnxNode *n, const GraphIndex *g, int k) {
    if (strcmp(n->type, "Loop") || n->x.domain.n || k < 2 || k >= n->x.nin || k >= g->input.n ||
        k > g->output.n || !n->in[k])
        return (Slice){0};
    const Slice name = info_name(m, g->input.v[k]);
    const char *other = state_name(a, slice_text(a, name));
    int times = 0;
    for (int j = 0; j < g->output.n; j++) times += slice_equal(info_name(m, g->output.v[j]), name);
    if (times != 1 || !slice_equal(info_name(m, g->output.v[k - 1]), name) ||
        intern_find(m->name_numbers, other, strlen(other)))
        return (Slice){0};
    return given_tensor(m, n->in[k]);
}

/* Whether the body has a known state that is named like the initializer outside with which it
   starts, namely `id` (PaddlePaddle's exporter writes such files). Once the state is renamed, this
   name in the body refers to the initializer outside. */
static bool starts_as_named(const Model *m, Arena *a, const OnnxNode *n, const GraphIndex *g,
                            NameId id) {
    for (int k = 2; k < n->x.nin && k < g->input.n; k++)
        if (n->in[k] == id && slice_is(info_name(m, g->input.v[k]), m->name[id].text) &&
            body_known_state(m, a, n, g, k).at)
            return true;
    return false;
}

/* An iterator over the fields of a body's graph that says of each input and output whether it is a
   known state. */
typedef struct BodyFields {
    const Model *m;
    Arena *a;
    const ModelBody *b;
    GraphIndex g;
    Wire rest;
    /* Index of the next input, and index of the input whose value the next output returns. */
    int input, passed;
    Field field;
    Slice tensor;     /* of a known state: its initializer; else absent */
    const char *name; /* of a known state: its name; else NULL */
} BodyFields;

static bool body_fields(const Model *m, Arena *a, const ModelBody *b, Slice graph, BodyFields *x,
                        Error *e) {
    *x = (BodyFields){.m = m, .a = a, .b = b, .rest = model_wire(m, graph, e), .passed = 1};
    Wire whole = x->rest;
    return index_graph(a, &whole, 1, &x->g);
}
static bool next_field(BodyFields *x) {
    if (!wire_next(&x->rest, &x->field)) return false;
    const uint32_t number = x->field.number;
    x->tensor = number == GRAPH_INPUT
                    ? body_known_state(x->m, x->a, &x->m->node[x->b->node], &x->g, x->input++)
                : number == GRAPH_OUTPUT
                    ? body_known_state(x->m, x->a, &x->m->node[x->b->node], &x->g, x->passed++)
                    : (Slice){0};
    x->name = x->tensor.at ? slice_text(x->a, info_name(x->m, x->field.bytes)) : NULL;
    return true;
}

/* Writes the fields of a body's graph for its model: known states become initializers, and their
   outputs are dropped. Adds their number to *known. */
static bool put_model_fields(const Model *m, Arena *a, const ModelBody *b, int *known,
                             Pieces *out) {
    Error e = {0};
    BodyFields x;
    if (!body_fields(m, a, b, body_graph(m, b), &x, &e)) return false;
    while (next_field(&x)) {
        if (!x.name) pieces_add(out, x.field.whole.at, x.field.whole.n);
        if (!x.name || x.field.number != GRAPH_INPUT) continue;
        ++*known;
        wire_put_renamed(out, GRAPH_INITIALIZER, model_wire(m, x.tensor, &e), TENSOR_NAME, x.name);
    }
    return e.kind == E_NONE;
}
/* Writes the fields of a body's graph for putting it back, except for nodes, initializers and
   value_info, which come from the result. Known states are renamed: the body still has to pass them
   on, but the new nodes read the initializers outside. */
static bool put_own_fields(const Model *m, Arena *a, const ModelBody *b, Pieces *out) {
    Error e = {0};
    BodyFields x;
    if (!body_fields(m, a, b, body_graph(m, b), &x, &e)) return false;
    while (next_field(&x)) {
        const uint32_t number = x.field.number;
        const bool computed = number == GRAPH_NODE || number == GRAPH_INITIALIZER ||
                              number == GRAPH_SPARSE_INITIALIZER || number == GRAPH_VALUE_INFO;
        if (x.name)
            wire_put_renamed(out, number, model_wire(m, x.field.bytes, &e), VALUE_INFO_NAME,
                             state_name(a, x.name));
        else if (!computed) pieces_add(out, x.field.whole.at, x.field.whole.n);
    }
    return e.kind == E_NONE;
}

/* Writes a value of the surrounding graph as an initializer or, if it is not constant, as an
   input. */
static bool put_captured(Model *m, Arena *a, NameId id, ModelBody *b, Pieces *graph,
                         const char **why) {
    const NameInfo *name = &m->name[id];
    const Slice tensor = given_tensor(m, id);
    Error e = {0};
    if (tensor.at)
        return wire_put_renamed(graph, GRAPH_INITIALIZER, model_wire(m, tensor, &e), TENSOR_NAME,
                                name->text),
               e.kind == E_NONE;
    const Type *t = name->value ? value_type(m->w, name->value) : NULL;
    if (!t || !t->known || dtype_bits(t->dtype) <= 0)
        return *why = arena_format(a, "the type of '%s', which it uses, is not known", name->text),
               false;
    put_typed_input(m, a, id, t, graph);
    b->input[b->ninput++] = (BodyInput){name->text, t};
    return true;
}

bool model_body(Model *m, ModelBody *b, Arena *a, Pieces *file, const char **why) {
    const Slice body = body_graph(m, b);
    BodyNames x;
    *why = "its names cannot be read";
    if (m->external || m->x.ir_version < IR_FREE_INITIALIZERS)
        return *why = "its weights lie in other files, or its IR version is too old", false;
    if (!body_names(m, a, body, &x)) return false;
    Pieces graph = pieces_new(a);
    b->known = 0;
    if (!put_model_fields(m, a, b, &b->known, &graph)) return false;
    b->ninput = 0, b->input = ARENA_NEW(a, BodyInput, x.nused);
    for (int k = 0; k < x.nused; k++) {
        const NameId id = x.used[k];
        if (defines(&x, id)) continue;
        ARENA_GROW(a, x.defined, x.room, (int)id + 1);
        x.defined[id] = 1;
        if (!put_captured(m, a, id, b, &graph, why)) return false;
    }
    model_around(m, a, &graph, file);
    return true;
}

const char *body_input_shape(World *w, Arena *a, const BodyInput *x, Sizes sizes) {
    Text t = text_new(a);
    bool open = false;
    text_add(&t, "%s:", x->name);
    for (int k = 0; k < x->type->dim.n; k++) {
        int64_t dim, number;
        if (!poly_eval(w, x->type->dim.v[k], sizes, &dim)) return NULL;
        open |= !poly_constant(w, x->type->dim.v[k], &number);
        text_add(&t, k ? ",%lld" : "%lld", (long long)dim);
    }
    return open ? t.data : NULL;
}

/* ---- putting bodies back */

typedef struct Splice {
    Model *m;
    Arena *a;
    int n;
    const ModelBody *body;
    FileIndex *result; /* by body; without bytes: the body stays as it is */
    NameId known;      /* the last name of the file itself; names after it come from results */
    Intern *read;      /* names that something in the new file reads */
    const char **why;
} Splice;

static bool uses(const BodyNames *x, NameId id) {
    for (int k = 0; k < x->nused; k++)
        if (x->used[k] == id) return true;
    return false;
}
/* Whether an initializer of a result is a tensor of the surrounding graph that the old body read,
   so that the new one can read it there instead of containing a copy. A new weight may have the
   name of another tensor there. */
static bool is_captured(const Splice *x, int k, const GraphIndex *g, const BodyNames *old,
                        NameId id) {
    const OnnxNode *n = &x->m->node[x->body[k].node];
    return defines(old, id) ? starts_as_named(x->m, x->a, n, g, id)
                            : uses(old, id) && given_tensor(x->m, id).at != NULL;
}
/* Checks that the names which a new body defines do not hide names of the surrounding graph. */
static bool names_fit(Splice *x, const FileIndex *result, const BodyNames *old) {
    BodyNames now = {.m = x->m, .a = x->a};
    Wire w = wire_new(result->graph, result->bytes.at, "", &now.error);
    if (!index_names(x->a, w, 1, true, see_name, &now) || now.error.kind)
        return *x->why = "a result cannot be read", false;
    for (NameId id = 1; (int)id < now.room && id <= x->known; id++) {
        if (!now.defined[id] || defines(old, id) || uses(old, id)) continue;
        return *x->why = arena_format(x->a, "the name '%s' is taken", x->m->name[id].text), false;
    }
    return true;
}

static void put_list(const SliceList *list, uint32_t number, Pieces *out) {
    for (int k = 0; k < list->n; k++) wire_put_slice(out, number, list->v[k].at, list->v[k].n);
}

/* Writes the new graph of a body: nodes, initializers and value_info of the result, all other
   fields as they were. */
static bool put_body(Splice *x, int k, Pieces *out) {
    const FileIndex *r = &x->result[k];
    const Slice graph = body_graph(x->m, &x->body[k]);
    BodyNames old;
    GraphIndex g;
    Error e = {0};
    Wire whole = model_wire(x->m, graph, &e);
    if (!index_graph(x->a, &whole, 1, &g) || !body_names(x->m, x->a, graph, &old) ||
        !names_fit(x, r, &old))
        return false;
    put_list(&r->g.node, GRAPH_NODE, out);
    for (int j = 0; j < r->g.initializer.n; j++) {
        const Slice tensor = r->g.initializer.v[j];
        const Slice name = wire_bytes(wire_new(tensor, r->bytes.at, "", &e), TENSOR_NAME);
        const NameId id = name_id(x->m, name, &e);
        if (!is_captured(x, k, &g, &old, id))
            wire_put_slice(out, GRAPH_INITIALIZER, tensor.at, tensor.n);
    }
    put_list(&r->g.sparse, GRAPH_SPARSE_INITIALIZER, out);
    put_list(&r->g.value_info, GRAPH_VALUE_INFO, out);
    return put_own_fields(x->m, x->a, &x->body[k], out) && e.kind == E_NONE;
}

static int body_of(const Splice *x, int node, int attr) {
    for (int k = 0; k < x->n; k++)
        if (x->body[k].node == node && x->body[k].attr == attr && x->result[k].bytes.at) return k;
    return -1;
}

static bool put_node(Splice *x, int node, Pieces *out) {
    const Slice whole = x->m->node[node].x.whole;
    Pieces copy = pieces_new(x->a);
    Error e = {0};
    int attr = 0;
    Wire w = model_wire(x->m, whole, &e);
    for (Field f; wire_next(&w, &f);) {
        const int k = f.number == NODE_ATTRIBUTE ? body_of(x, node, attr++) : -1;
        if (k < 0) {
            pieces_add(&copy, f.whole.at, f.whole.n);
            continue;
        }
        Pieces graph = pieces_new(x->a);
        if (!put_body(x, k, &graph)) return false;
        index_put_subgraph(wire_inner(&w, f.bytes), &graph, &copy);
    }
    wire_put_pieces(out, GRAPH_NODE, &copy);
    return true;
}

static void note_read(void *splice, Slice text, bool defined) {
    const Splice *x = splice;
    if (!defined && text.n) intern_put(x->read, text.at, text.n);
}

/* Writes the main graph with the new bodies. Initializers that nothing reads any more are left
   out. */
static bool put_graph_of_bodies(Splice *x, Pieces *out) {
    const Model *m = x->m;
    Error e = {0};
    Pieces nodes = pieces_new(x->a);
    for (int i = 0; i < m->nnode; i++)
        if (!put_node(x, i, &nodes)) return false;
    const char *joined = pieces_join(&nodes, x->a);
    const Slice graph = {(const unsigned char *)joined, nodes.size};
    if (!index_names(x->a, wire_new(graph, graph.at, "", &e), 0, true, note_read, x)) return false;
    pieces_add(out, joined, nodes.size);
    Wire w = model_wire(m, m->x.graph, &e);
    for (Field f; wire_next(&w, &f);) {
        if (f.number == GRAPH_NODE) continue;
        const Slice name = f.number == GRAPH_INITIALIZER
                               ? wire_bytes(wire_inner(&w, f.bytes), TENSOR_NAME)
                               : (Slice){0};
        const NameId id = name.n ? intern_find(m->name_numbers, name.at, name.n) : 0;
        bool stays = !id || m->name[id].pinned || m->name[id].source != FROM_INITIALIZER ||
                     intern_find(x->read, name.at, name.n);
        for (int k = 0; k < m->graph.nout; k++) stays |= m->output[k] == id;
        if (stays) pieces_add(out, f.whole.at, f.whole.n);
    }
    return e.kind == E_NONE;
}

static bool imports(const FileIndex *x, Slice domain) {
    for (int k = 0; k < x->nopset; k++)
        if (slice_equal(x->opset[k].domain, domain)) return true;
    return false;
}

static void put_opsets(const Splice *x, Pieces *file) {
    for (int k = 0; k < x->n; k++)
        for (int j = 0; j < x->result[k].nopset; j++) {
            const Opset *o = &x->result[k].opset[j];
            bool had = imports(&x->m->x, o->domain);
            for (int i = 0; i < k; i++) had |= imports(&x->result[i], o->domain);
            if (had) continue;
            index_put_opset(x->a, o->domain, o->version, file);
        }
}

bool model_with_bodies(Model *m, int n, const ModelBody body[], const Piece result[], Arena *a,
                       Pieces *file, const char **why) {
    Splice x = {.m = m, .a = a, .n = n, .body = body, .why = why};
    Error e = {0};
    *why = "a result cannot be read";
    if (!m->own_names) m->own_names = intern_count(m->name_numbers);
    x.known = m->own_names, x.result = ARENA_NEW(a, FileIndex, n);
    for (int k = 0; k < n; k++)
        if (result[k].at &&
            !index_file(a, (Slice){result[k].at, result[k].n}, "", &x.result[k], &e))
            return false;
    x.read = intern_new(a);
    Pieces graph = pieces_new(a);
    const bool put = put_graph_of_bodies(&x, &graph);
    intern_free(x.read);
    if (!put) return false;
    *file = pieces_new(a);
    index_put_graph(&m->x, &graph, file);
    put_opsets(&x, file);
    return e.kind == E_NONE;
}
