/* control_body.c -- reads a subgraph of the file, and makes its nodes anew for each time that it
   runs. Invariant: a body sees its own names and, through the captured inputs of its node, those of
   the surrounding graphs; the names that it defines are not seen outside. */
#include "graphs/onnx/import/control_body.h"

typedef struct IterationScope { /* the names of one iteration and their values */
    int n, room;
    NameId *name;
    Value *value;
} IterationScope;

static bool body_failed(Body *b) {
    return import_fail(b->s, "%s", b->error.kind ? b->error.reason : "an unreadable subgraph");
}
static Wire body_wire(Body *b, Slice s) { return model_wire(b->s->m, s, &b->error); }

static void scope_bind(Import *s, IterationScope *c, NameId name, Value v) {
    int room = c->room;
    ARENA_GROW(s->w->arena, c->name, room, c->n + 1);
    ARENA_GROW(s->w->arena, c->value, c->room, c->n + 1);
    c->name[c->n] = name, c->value[c->n++] = v;
}

static bool scope_find(Import *s, const IterationScope *c, NameId name, Value *out) {
    *out = 0;
    for (int k = c->n; name && k-- > 0;)
        if (c->name[k] == name) return *out = c->value[k], true;
    return !name ||
           import_fail(s, "a subgraph uses '%s', which nothing defines", s->m->name[name].text);
}

/* ---- reading */

static NameId used_name(Body *b, Slice text) {
    NameId id = name_id(b->s->m, text, &b->error);
    if (id) b->s->m->name[id].used = true;
    return id;
}

static bool info_names(Body *b, const SliceList *list, NameId **out) {
    *out = ARENA_NEW(b->s->w->arena, NameId, list->n);
    for (int k = 0; k < list->n; k++) {
        Slice name;
        if (!wire_read_bytes(body_wire(b, list->v[k]), VALUE_INFO_NAME, &name) ||
            !((*out)[k] = used_name(b, name)))
            return body_failed(b);
    }
    return true;
}

static bool read_weights(Body *b) {
    int n = b->g.initializer.n;
    if (b->g.sparse.n) return import_fail(b->s, "a subgraph with sparse tensors");
    b->weight = ARENA_NEW(b->s->w->arena, NameId, n),
    b->content = ARENA_NEW(b->s->w->arena, Value, n);
    for (int k = 0; k < n; k++) {
        FileTensor t;
        if (!tensor_read(b->s->w->arena, body_wire(b, b->g.initializer.v[k]), &t))
            return body_failed(b);
        b->weight[k] = name_id(b->s->m, t.name, &b->error);
        if (!tensor_constant(b->s->m, &t, &b->content[k], &b->error)) return body_failed(b);
        if (!b->content[k])
            return import_fail(b->s, "a subgraph with a tensor of an unsupported kind");
    }
    return true;
}

static bool read_body_node(Body *b, int k) {
    Model *m = b->s->m;
    OnnxNode *n = &b->node[k];
    if (!node_read(m, body_wire(b, b->g.node.v[k]), n)) return body_failed(b);
    n->of_subgraph = true;
    for (int j = 0; j < n->x.nin; j++) n->in[j] = used_name(b, n->x.in[j]);
    for (int j = 0; j < n->x.nout; j++) n->out[j] = name_id(m, n->x.out[j], &b->error);
    if (!subgraph_captures(m, n, &b->error)) return body_failed(b);
    for (int j = 0; j < n->ncapture; j++) m->name[n->capture[j]].used = true;
    return b->error.kind == E_NONE || body_failed(b);
}

bool body_read(Import *s, const char *attribute, Body *b) {
    const Slice graph = index_subgraph(&s->n->x, attribute);
    *b = (Body){.s = s};
    if (!graph.at) return import_fail(s, "it has no subgraph %s", attribute);
    Wire w = body_wire(b, graph);
    if (!index_graph(s->w->arena, &w, 1, &b->g)) return body_failed(b);
    b->node = ARENA_NEW(s->w->arena, OnnxNode, b->g.node.n);
    if (!info_names(b, &b->g.input, &b->in) || !info_names(b, &b->g.output, &b->out) ||
        !read_weights(b))
        return false;
    for (int k = 0; k < b->g.node.n; k++)
        if (!read_body_node(b, k)) return false;
    return true;
}

/* ---- one iteration */

static bool iteration_node(Body *b, IterationScope *c, const OnnxNode *read) {
    Import *s = b->s;
    OnnxNode *n = arena_copy(s->w->arena, read, sizeof *read);
    int nin = node_input_count(n);
    Value *in = ARENA_NEW(s->w->arena, Value, nin), *out = ARENA_NEW(s->w->arena, Value, n->x.nout);
    const char *why;
    for (int k = 0; k < nin; k++)
        if (!scope_find(s, c, node_input(n, k), &in[k])) return false;
    normalize_node(s->m, n, in, out, &why);
    if (why)
        return import_fail(s, "inside: %s%s%s: %s", n->name, n->name[0] ? " " : "", n->type, why);
    for (int k = 0; k < n->x.nout; k++)
        if (n->out[k]) scope_bind(s, c, n->out[k], out[k]);
    return true;
}

bool body_run(Body *b, int nin, const Value in[], Value out[]) {
    Import *s = b->s;
    IterationScope c = {0};
    if (nin != b->g.input.n)
        return import_fail(s, "a subgraph with %d inputs is given %d", b->g.input.n, nin);
    for (int k = 0; k < s->n->ncapture; k++) scope_bind(s, &c, s->n->capture[k], s->in[s->nin + k]);
    for (int k = 0; k < b->g.initializer.n; k++) scope_bind(s, &c, b->weight[k], b->content[k]);
    for (int k = 0; k < nin; k++) scope_bind(s, &c, b->in[k], in[k]);
    for (int k = 0; k < b->g.node.n; k++)
        if (!iteration_node(b, &c, &b->node[k])) return false;
    for (int k = 0; k < b->g.output.n; k++)
        if (!scope_find(s, &c, b->out[k], &out[k])) return false;
    return true;
}
