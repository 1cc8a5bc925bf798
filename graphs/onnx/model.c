/* model.c -- functions on an open model that both import and export need (names, operator sets,
   reading nodes), and the public queries of onnx.h. */
#include "graphs/onnx/model.h"
#include <string.h>

const char *slice_text(Arena *a, Slice s) { return arena_string(a, (const char *)s.at, s.n); }

NameId name_id(Model *m, Slice s, Error *e) {
    if (!s.n) return 0;
    if (memchr(s.at, 0, s.n))
        return error_set(e, E_INVALID, m->path, "byte %zu: a name with a zero byte",
                         (size_t)(s.at - m->x.bytes.at)),
               0;
    NameId id = intern_put(m->name_numbers, s.at, s.n);
    ARENA_GROW(m->w->arena, m->name, m->name_room, id + 1);
    if (!m->name[id].text) m->name[id].text = slice_text(m->w->arena, s);
    return id;
}

int64_t model_opset(const Model *m, Slice domain) {
    for (int i = 0; i < m->x.nopset; i++)
        if (slice_equal(m->x.opset[i].domain, domain)) return m->x.opset[i].version;
    return !domain.n && m->x.ir_version < 3 ? 1 : 0;
}

bool model_allows(const Model *m, const char *domain) {
    for (int k = 0; k < m->open.ndomain; k++)
        if (!strcmp(m->open.domain[k], domain)) return true;
    return false;
}

bool model_has_function(const Model *m, Slice domain, Slice name) {
    for (int k = 0; k < m->x.function.n; k++) {
        const Wire w = model_wire(m, m->x.function.v[k], NULL);
        if (slice_equal(wire_bytes(w, FUNCTION_NAME), name) &&
            slice_equal(index_domain(wire_bytes(w, FUNCTION_DOMAIN)), domain))
            return true;
    }
    return false;
}

bool node_read(Model *m, Wire message, OnnxNode *n) {
    Arena *a = m->w->arena;
    if (!index_node(a, &message, &n->x)) return false;
    n->name = slice_text(a, n->x.name);
    n->type = slice_text(a, n->x.type);
    n->domain = slice_text(a, n->x.domain);
    n->version = model_opset(m, n->x.domain);
    n->calls_function = model_has_function(m, n->x.domain, n->x.type);
    n->in = ARENA_NEW(a, NameId, n->x.nin), n->out = ARENA_NEW(a, NameId, n->x.nout);
    return true;
}

const char *node_display_name(Arena *a, const OnnxNode *n) {
    return n->name[0] ? n->name : n->x.nout ? slice_text(a, n->x.out[0]) : "";
}

const char *node_place(Model *m, const OnnxNode *n) {
    const char *shown = node_display_name(m->w->arena, n);
    if (n->of_subgraph)
        return arena_format(m->w->arena, "%s: node '%.60s' (%.40s) of a subgraph", m->path, shown,
                            n->type);
    return arena_format(m->w->arena, "%s: node %d '%.60s' (%.40s)", m->path, n->number, shown,
                        n->type);
}

Value node_call(World *w, const Op *o, int nin, const Value in[], const NamedList lists[]) {
    Attr attr[ATTRS_MAX] = {{.enum_value = 0}};
    bool given[ATTRS_MAX] = {0};
    const char *why;
    for (const NamedList *l = lists; l && l->attr; l++) {
        int at = attrs_find(o->attrs, l->attr);
        if (at >= 0) attr[at].ints = l->list, given[at] = true;
    }
    return node_attrs(w, o, nin ? in[0] : 0, given, attr, &why)
               ? node_make(w, o, attr, nin, in, 1, &why)
               : 0;
}

/* ---- public queries */

int64_t model_version(const Model *m) { return model_opset(m, (Slice){0}); }
const Graph *model_graph(const Model *m) { return &m->graph; }
const char *model_input_name(const Model *m, int i) { return m->name[m->input[i]].text; }
const void *model_input_default(const Model *m, int i, DType dtype, int64_t count) {
    const Value v = m->name[m->input[i]].fallback;
    Type t;
    const void *bytes;
    int64_t n;
    const bool fits = v && constant_get(m->w, v, &t, &bytes) && t.dtype == dtype &&
                      poly_constant(m->w, type_count(m->w, &t), &n) && n == count;
    return fits ? bytes : NULL;
}

const char *model_output_name(const Model *m, int i) { return m->name[m->output[i]].text; }

const char *model_value_name(const Model *m, Value v) {
    NameId id = v < m->nvalue ? m->value_name[v] : 0;
    return id ? m->name[id].text : NULL;
}

static const OnnxNode *node_of(const Model *m, NodeId id) {
    return id < m->norigin && m->origin[id] ? &m->node[m->origin[id] - 1] : NULL;
}

const char *model_node_name(const Model *m, NodeId id, const char **op_type) {
    const OnnxNode *n = node_of(m, id);
    *op_type = n ? n->type : NULL;
    return n ? n->name : NULL;
}

int model_node_index(const Model *m, NodeId id) {
    return id < m->norigin ? (int)m->origin[id] - 1 : -1;
}

/* Why an initializer that is not a constant of the graph is not; NULL: the value is none. */
static const char *initializer_reason(const Model *m, Value v) {
    const NameInfo *n = &m->name[v < m->nvalue ? m->value_name[v] : 0];
    if (node_get(m->w, v).op != &op_opaque) return NULL;
    return n->source == FROM_SPARSE        ? "a sparse initializer is not supported"
           : n->source != FROM_INITIALIZER ? NULL
           : n->trained                    ? "training changes this initializer"
                                           : "the contents of this initializer are not understood";
}

const char *model_import_reason(const Model *m, NodeId id) {
    const OnnxNode *n = node_of(m, id);
    return n ? n->reason : initializer_reason(m, id);
}

const char *model_opaque_reason(const Model *m, NodeId id) {
    const OnnxNode *n = node_of(m, id);
    if (!n) return initializer_reason(m, id);
    if (n->reason) return n->reason;
    return !op_algebraic(node_get(m->w, id).op) ? "no algebraic definition" : NULL;
}

int model_opaque_nodes(const Model *m, Arena *a, OpaqueNode **out) {
    int n = 0;
    *out = ARENA_NEW(a, OpaqueNode, model_stats(m).opaque);
    for (int i = 0; i < m->nnode; i++) {
        const OnnxNode *of = &m->node[i];
        if (of->reason) (*out)[n++] = (OpaqueNode){node_display_name(a, of), of->type, of->reason};
    }
    return n;
}

ModelStats model_stats(const Model *m) {
    ModelStats s = {.nodes = m->nnode};
    for (int i = 0; i < m->nnode; i++) s.opaque += m->node[i].reason != NULL;
    s.understood = s.nodes - s.opaque;
    for (const MappedFile *f = m->external; f; f = f->next) s.external += f->bytes.n;
    return s;
}
