/* read.c -- opens a model: indexes the file, reads names and constants, puts the nodes in
   topological order, and translates each of them (normalize.c). All structure that other files rely
   on is checked here, once: names are defined once and before they are used, and the sizes of
   tensors fit their data. Weights stay in the mapped file. */
#include "graphs/onnx/model.h"
#include "graphs/onnx/order.h"
#include "ops/base/file.h"
#include <string.h>

static bool define(Model *m, Slice text, Source source, int index, const char *place, Error *e,
                   NameId *out) {
    NameId id = name_id(m, text, e);
    *out = id;
    if (!id)
        return source == FROM_NODE && !text.n
                   ? true
                   : error_set(e, E_INVALID, place, "a value without a name");
    NameInfo *name = &m->name[id];
    if (name->source != FROM_NOTHING)
        return error_set(e, E_INVALID, place, "the name '%s' is defined twice", name->text);
    name->source = source, name->index = index;
    return true;
}

/* Reads an initializer. One that cannot be a constant becomes the result of an opaque node without
   inputs. */
static bool read_initializer(Model *m, int i, Error *e) {
    FileTensor t;
    Wire w = model_wire(m, m->x.g.initializer.v[i], e);
    NameId id;
    if (!tensor_read(m->w->arena, w, &t)) return false;
    const char *place =
        arena_format(m->w->arena, "%s: initializer '%s'", m->path, slice_text(m->w->arena, t.name));
    if (!define(m, t.name, FROM_INITIALIZER, i, place, e, &id)) return false;
    w.place = place;
    if (!m->name[id].trained && !tensor_constant(m, &t, &m->name[id].value, e)) return false;
    if (m->name[id].value) return true;
    Type type;
    if (!tensor_type(m->w, &t, &type)) type.known = false;
    m->name[id].value = normalize_source(m, m->x.g.initializer.v[i], &type);
    return true;
}

static bool read_initializers(Model *m, Error *e) {
    for (int i = 0; i < m->x.g.initializer.n; i++)
        if (!read_initializer(m, i, e)) return false;
    for (int i = 0; i < m->x.g.sparse.n; i++) {
        Slice values, name;
        NameId id;
        Wire w = model_wire(m, m->x.g.sparse.v[i], e);
        if (!wire_read_bytes(w, SPARSE_TENSOR_VALUES, &values) ||
            !wire_read_bytes(wire_inner(&w, values), TENSOR_NAME, &name))
            return false;
        if (!define(m, name, FROM_SPARSE, i, m->path, e, &id)) return false;
        m->name[id].value = normalize_source(m, m->x.g.sparse.v[i], &(Type){0});
    }
    return true;
}

/* Reads an input. Old IR versions list initializers among the inputs. In later ones, an initializer
   that is an input may be replaced by a caller, so it is an input here, not a constant. */
static bool read_input(Model *m, int i, Error *e) {
    Slice text, info = m->x.g.input.v[i];
    if (!wire_read_bytes(model_wire(m, info, e), VALUE_INFO_NAME, &text)) return false;
    NameId id = name_id(m, text, e);
    Source was = id ? m->name[id].source : FROM_NOTHING;
    if (was == FROM_INITIALIZER && m->x.ir_version < IR_FREE_INITIALIZERS) return true;
    if (was == FROM_INITIALIZER) m->name[id].source = FROM_NOTHING;
    const char *place =
        arena_format(m->w->arena, "%s: input '%s'", m->path, slice_text(m->w->arena, text));
    if (!define(m, text, FROM_INPUT, i, place, e, &id)) return false;
    Type type;
    if (!value_info_type(m, info, m->name[id].text, true, &type, e)) return false;
    m->name[id].type = info;
    if (was == FROM_INITIALIZER) m->name[id].fallback = m->name[id].value;
    m->name[id].value = graph_input(m->w, m->name[id].text, &type);
    m->input[m->ninput++] = id;
    return true;
}

/* Asks the caller for the size of every axis before any input is read, since a size that is given
   for one input holds for all sizes of the same name. In a second pass, first_is_one is in
   effect. */
static bool learn_sizes(Model *m, Error *e) {
    for (int pass = 0; m->open.size && pass < 2; pass++, m->first_is_one = m->open.first_is_one)
        for (int i = 0; i < m->x.g.input.n; i++) {
            Slice text, info = m->x.g.input.v[i];
            Type type;
            if (!wire_read_bytes(model_wire(m, info, e), VALUE_INFO_NAME, &text) ||
                !value_info_type(m, info, slice_text(m->w->arena, text), true, &type, e))
                return false;
        }
    return true;
}

static bool read_infos(Model *m, Error *e) {
    const SliceList *lists[] = {&m->x.g.output, &m->x.g.value_info};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < lists[k]->n; i++) {
            Slice text;
            if (!wire_read_bytes(model_wire(m, lists[k]->v[i], e), VALUE_INFO_NAME, &text))
                return false;
            NameId id = name_id(m, text, e);
            if (id && !m->name[id].type.at) m->name[id].type = lists[k]->v[i];
            if (!id && text.n) return false;
            if (k == 0) m->output[i] = id, m->name[id].used = true;
        }
    return true;
}

static bool read_graph_node(Model *m, int i, Error *e) {
    OnnxNode *n = &m->node[i];
    const Wire w = wire_new(m->x.g.node.v[i], m->x.bytes.at,
                            arena_format(m->w->arena, "%s: node %d", m->path, i), e);
    if (!node_read(m, w, n)) return false;
    n->number = i;
    const char *place = node_place(m, n);
    if (!n->x.type.n) return error_set(e, E_INVALID, place, "a node without an operator");
    for (int k = 0; k < n->x.nout; k++)
        if (!define(m, n->x.out[k], FROM_NODE, i, place, e, &n->out[k])) return false;
    for (int k = 0; k < n->x.nin; k++)
        if (!(n->in[k] = name_id(m, n->x.in[k], e)) && n->x.in[k].n) return false;
    if (!subgraph_captures(m, n, e)) return false;
    for (int k = 0; k < n->x.nin; k++) m->name[n->in[k]].used = true;
    for (int k = 0; k < n->ncapture; k++) m->name[n->capture[k]].used = true;
    return true;
}

/* Whether the name is computed only by this node itself or a later one. The nodes are in order by
   now, so there is a cycle. */
static bool is_later(const Model *m, const OnnxNode *n, NameId id) {
    return m->name[id].source == FROM_NODE && m->name[id].index >= n - m->node;
}

/* Sorts nodes that are out of order, which ONNX forbids but ONNX Runtime accepts. If there is a
   cycle, all nodes stay where they are. */
static void order_nodes(Model *m) {
    Arena *a = m->w->arena;
    OnnxNode *node = ARENA_NEW(a, OnnxNode, m->nnode);
    Slice *bytes = ARENA_NEW(a, Slice, m->nnode);
    int *order = ARENA_NEW(a, int, m->nnode);
    if (!nodes_order(a, m->nnode, m->node, order)) return;
    for (int i = 0; i < m->nnode; i++) {
        node[i] = m->node[order[i]], bytes[i] = m->x.g.node.v[order[i]];
        for (int k = 0; k < node[i].x.nout; k++) m->name[node[i].out[k]].index = i;
    }
    m->node = node, m->x.g.node.v = bytes;
}

/* Checks that the name is defined when the node uses it. */
static bool name_usable(Model *m, const OnnxNode *n, NameId id, Error *e) {
    const NameInfo *name = &m->name[id];
    if (!id || (name->source != FROM_NOTHING && !is_later(m, n, id))) return true;
    if (name->source == FROM_NODE)
        return error_set(e, E_INVALID, node_place(m, n),
                         "it uses '%s', which the later node %d computes, and reordering the nodes "
                         "does not help: there is a cycle",
                         name->text, m->node[name->index].number);
    return error_set(
        e, E_INVALID, node_place(m, n),
        "it uses '%s', which is neither an input nor an initializer nor the output of a node",
        name->text);
}

static void set_origin(Model *m, NodeId from, NodeId to, uint32_t origin) {
    ARENA_GROW(m->w->arena, m->origin, m->norigin, to + 1);
    for (NodeId k = from; k <= to; k++)
        if (!m->origin[k]) m->origin[k] = origin;
}

static bool import_node(Model *m, int i, Error *e) {
    OnnxNode *n = &m->node[i];
    int nin = node_input_count(n);
    Value *in = ARENA_NEW(m->w->arena, Value, nin), *out = ARENA_NEW(m->w->arena, Value, n->x.nout);
    for (int k = 0; k < nin; k++) {
        NameId id = node_input(n, k);
        if (!name_usable(m, n, id, e)) return false;
        in[k] = id ? m->name[id].value : 0;
    }
    NodeId before = value_last(m->w);
    normalize_node(m, n, in, out, &n->reason);
    set_origin(m, before + 1, value_last(m->w), (uint32_t)i + 1);
    for (int k = 0; k < n->x.nout; k++) {
        if (n->out[k]) m->name[n->out[k]].value = out[k];
        if (out[k])
            set_origin(m, value_node(m->w, out[k]), value_node(m->w, out[k]), (uint32_t)i + 1);
    }
    return true;
}

static void set_inputs(Model *m) {
    Value *in = ARENA_NEW(m->w->arena, Value, m->ninput);
    for (int i = 0; i < m->ninput; i++) in[i] = m->name[m->input[i]].value;
    m->graph = (Graph){.nin = m->ninput, .in = in};
}

static bool read_graph(Model *m, Error *e) {
    Arena *a = m->w->arena;
    m->input = ARENA_NEW(a, NameId, m->x.g.input.n),
    m->output = ARENA_NEW(a, NameId, m->x.g.output.n);
    m->nnode = m->x.g.node.n, m->node = ARENA_NEW(a, OnnxNode, m->nnode);
    if (!extras_read(m, e) || !read_initializers(m, e)) return false;
    if (!learn_sizes(m, e)) return false;
    for (int i = 0; i < m->x.g.input.n; i++)
        if (!read_input(m, i, e)) return false;
    set_inputs(m);
    if (!read_infos(m, e)) return false;
    for (int i = 0; i < m->nnode; i++)
        if (!read_graph_node(m, i, e)) return false;
    order_nodes(m);
    for (int i = 0; i < m->nnode; i++)
        if (!import_node(m, i, e)) return false;
    return true;
}

static bool set_graph(Model *m, Error *e) {
    Arena *a = m->w->arena;
    int nout = m->x.g.output.n;
    Value *out = ARENA_NEW(a, Value, nout);
    for (int i = 0; i < nout; i++) {
        NameId id = m->output[i];
        if (!id || m->name[id].source == FROM_NOTHING)
            return error_set(
                e, E_INVALID,
                arena_format(a, "%s: output '%s'", m->path, id ? m->name[id].text : ""),
                "nothing in the graph computes it");
        out[i] = m->name[id].value;
    }
    m->graph.nout = nout, m->graph.out = out;
    return true;
}

static void name_values(Model *m) {
    NodeId last = value_last(m->w);
    m->nvalue = 1;
    for (uint32_t id = 1; id <= intern_count(m->name_numbers); id++)
        if (m->name[id].value >= m->nvalue) m->nvalue = m->name[id].value + 1;
    m->value_name = ARENA_NEW(m->w->arena, NameId, m->nvalue);
    for (uint32_t id = intern_count(m->name_numbers); id > 0; id--)
        if (m->name[id].source != FROM_NOTHING && m->name[id].value)
            m->value_name[m->name[id].value] = id;
    set_origin(m, last, last, 0); /* makes m->origin large enough for every node */
}

/* Inlines all calls of functions; only done to run a model. */
static bool inline_calls(Model *m, Error *e) {
    Arena *a = m->w->arena;
    Pieces file;
    if (!inline_functions(&m->x, m->path, true, a, &file)) return true;
    const Slice bytes = {(const unsigned char *)pieces_join(&file, a), file.size};
    return index_file(a, bytes, m->path, &m->x, e);
}

static bool model_read(Model *m, Error *e) {
    if (m->x.bytes.n > INT32_MAX)
        return error_set(e, E_LIMIT, m->path,
                         "%zu bytes, but a protobuf message has at most 2 GiB; store the weights "
                         "as external data",
                         m->x.bytes.n);
    if (!index_file(m->w->arena, m->x.bytes, m->path, &m->x, e)) return false;
    if (m->open.value && !inline_calls(m, e)) return false;
    /* External files come last, so that errors of the graph are reported first. */
    if (!read_graph(m, e) || !set_graph(m, e) || !external_open(m, e)) return false;
    name_values(m);
    return true;
}

Model *model_open(World *w, const char *path, Error *e) {
    return model_open_with(w, path, &(OpenOptions){.size = NULL}, e);
}

static void unmap(void *model) {
    Model *m = model;
    for (MappedFile *f = m->external; f; f = f->next) file_unmap(f->bytes);
    if (!m->borrowed) file_unmap(m->mapped);
    m->external = NULL, m->mapped = m->x.bytes = (Slice){0};
}

Model *model_open_with(World *w, const char *path, const OpenOptions *open, Error *e) {
    Model *m = ARENA_NEW(w->arena, Model, 1);
    const char *base_path = open->base_path ? open->base_path : path;
    m->w = w, m->path = arena_string(w->arena, path, strlen(path));
    m->folder = arena_string(w->arena, base_path, (size_t)(path_name(base_path) - base_path));
    m->borrowed = open->bytes != NULL;
    if (m->borrowed) m->x.bytes = (Slice){open->bytes, open->nbytes};
    else if (!file_map(path, &m->x.bytes, e)) return NULL;
    m->mapped = m->x.bytes;
    cleanup_add(arena_escape(w->arena), &m->cleanup, unmap, m);
    m->name_numbers = intern_new(w->arena), m->size_numbers = intern_new(w->arena);
    m->open = *open;
    m->name_room = 64, m->name = ARENA_NEW(w->arena, NameInfo, m->name_room);
    if (model_read(m, e)) return m;
    model_close(m);
    return NULL;
}

void model_close(Model *m) {
    if (!m) return;
    cleanup_cancel(&m->cleanup);
    unmap(m);
    intern_free(m->name_numbers), intern_free(m->size_numbers);
    m->name_numbers = m->size_numbers = NULL;
}

void model_release_pages(const Model *m) {
    for (const MappedFile *f = m->external; f; f = f->next) file_release_pages(f->bytes);
    file_release_pages(m->mapped);
}
