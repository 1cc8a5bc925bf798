/* assembly_decide.c -- what stands of the old file: each node is normalized again on the values
   that its inputs have now; it can be copied if the result is what its outputs should be. Then
   which node makes which value, and which name carries it. */
#include "graphs/onnx/export/assembly.h"
#include "graphs/constants.h"
#include "graphs/shapevalue.h"

/* By value below n: it is live in the graph. */
static const bool *live_values(Assembly *p, const Graph *g, uint32_t n) {
    NodeList list = graph_live(p->w, p->a, g);
    bool *live = ARENA_NEW(p->a, bool, n);
    for (int k = 0; k < list.n; k++) {
        Node node = node_get(p->w, list.v[k]);
        for (int j = 0; j < node.nout; j++) live[node.out + (Value)j] = true;
    }
    return live;
}

/* What a value of the old graph is now; `again`: what its node makes of what its inputs are now,
   which is the same. What a rule dissolved, so that only sizes are read off it, is mapped to what
   it was when that happened, and would keep all of that graph alive; made again, it stands on what
   is there anyway. */
static Value value_now(const Assembly *p, const bool *before, Value was, Value again) {
    if (!assembly_live(before, p->nlive, was)) return again;
    Value now = map_value(p->x->map, was);
    return assembly_live(p->live, p->nlive, now) || !again ? now : again;
}

/* Sizes that old names carry (keeps) are read off values that no longer exist; what takes them
   and is live can be written with sizes read elsewhere. */
static bool takes_costly(const OnnxNode *n, const bool *keeps) {
    bool takes = false;
    for (int k = 0; k < n->x.nin; k++) takes |= n->in[k] && keeps[n->in[k]];
    return takes;
}
/* Nodes of the file compute it, and it is known all the same. */
static bool known_size(const Assembly *p, NameId id, Value v) {
    PolyList elements;
    int64_t n;
    if (p->m->name[id].source != FROM_NODE || constant_get(p->w, v, NULL, NULL) ||
        !value_elements(p->w, v, &elements))
        return false;
    for (int k = 0; k < elements.n; k++)
        if (!poly_constant(p->w, elements.v[k], &n)) return false;
    return true;
}
static void mark_costly(Assembly *p, int i, const bool *before, bool *keeps, bool *gone) {
    OnnxNode *n = &p->m->node[i];
    const bool takes = takes_costly(n, keeps);
    for (int k = 0; k < n->x.nout; k++) {
        const NameId id = n->out[k];
        const Value now = id ? p->now[id] : 0;
        if (!now) continue;
        const bool live = assembly_live(p->live, p->nlive, now);
        const bool shape = node_get(p->w, value_node(p->w, now)).op == &op_shape;
        gone[id] = !live && assembly_live(before, p->nlive, p->m->name[id].value);
        keeps[id] = !live && (takes || (shape && n->x.nin && n->in[0] && gone[n->in[0]]) ||
                              (p->x->known_sizes && known_size(p, id, now)));
        p->costly[i] |= takes && live;
    }
}

/* An input is stretched by what was made in the place of a node of the file: written anew, the node
   stretches it itself. */
static bool takes_stretched(const Assembly *p, const bool *before, const OnnxNode *n,
                            const Value in[], Value out) {
    bool takes = false;
    if (n->reason || !out || !(node_get(p->w, value_node(p->w, out)).op->flags & OP_BROADCASTS))
        return false;
    for (int k = 0; k < n->x.nin; k++)
        takes |= in[k] && node_get(p->w, value_node(p->w, in[k])).op == &op_broadcast &&
                 !assembly_live(before, p->nlive, in[k]);
    return takes;
}

/* The node on what its inputs are now: what it makes, and whether it can be copied as it is. */
static void decide_node(Assembly *p, int i, const bool *before, bool *keeps, bool *gone) {
    Model *m = p->m;
    OnnxNode *node = &m->node[i];
    int nin = node->x.nin + node->ncapture, nout = node->x.nout;
    Value *in = ARENA_NEW(p->a, Value, nin + 1), *out = ARENA_NEW(p->a, Value, nout + 1);
    const char *reason;
    bool same = true, passes = false;
    for (int k = 0; k < nin; k++)
        in[k] = p->now[k < node->x.nin ? node->in[k] : node->capture[k - node->x.nin]];
    const NodeId made = node->random; /* what is made here lasts as long as this writing */
    normalize_node(m, node, in, out, &reason);
    node->random = made;
    p->in[i] = in, p->out[i] = out;
    for (int k = 0; k < nout; k++) {
        Value was = node->out[k] ? m->name[node->out[k]].value : 0;
        Value is = value_now(p, before, was, out[k]);
        if (node->out[k]) p->now[node->out[k]] = is;
        same &= is == out[k] && (is || !node->out[k] || !m->name[node->out[k]].used);
        for (int j = 0; j < nin; j++) passes |= is && in[j] == is;
    }
    mark_costly(p, i, before, keeps, gone);
    p->costly[i] |= nout == 1 && takes_stretched(p, before, node, in, out[0]);
    if ((p->x->regenerate || p->costly[i]) && !node->reason) same = false;
    p->copy[i] = same && !passes && !p->banned[i], p->alias[i] = same && passes;
}

static void decide_nodes(Assembly *p) {
    Model *m = p->m;
    uint32_t n = node_count(p->w) + 1, names = intern_count(m->names) + 1;
    const bool *before = live_values(p, model_graph(m), n);
    p->live = live_values(p, p->x->graph, n), p->nlive = n;
    p->now = ARENA_NEW(p->a, Value, names);
    p->in = ARENA_NEW(p->a, Value *, m->nnode), p->out = ARENA_NEW(p->a, Value *, m->nnode);
    p->costly = ARENA_NEW(p->a, bool, m->nnode);
    bool *keeps = ARENA_NEW(p->a, bool, names), *gone = ARENA_NEW(p->a, bool, names);
    for (uint32_t id = 1; id < names; id++)
        if (m->name[id].source != FROM_NODE) p->now[id] = m->name[id].value;
    for (int i = 0; i < m->nnode; i++) decide_node(p, i, before, keeps, gone);
}

/* Which old node makes a value, from new inputs or from the old ones; what only passes an input on
   makes nothing. */
static void find_makers(Assembly *p) {
    Model *m = p->m;
    for (int old = 0; old < 2; old++)
        for (int i = 0; i < m->nnode; i++) {
            OnnxNode *n = &m->node[i];
            bool passes = false;
            for (int k = 0; k < n->x.nout; k++)
                for (int j = 0; j < n->x.nin; j++) {
                    Value y = old ? assembly_was(p, n->out[k]) : p->out[i][k];
                    passes |= y && y == (old ? assembly_was(p, n->in[j]) : p->in[i][j]);
                }
            if (passes || p->banned[i]) continue;
            for (int k = 0; k < n->x.nout; k++) {
                Value v = old ? assembly_was(p, n->out[k]) : p->out[i][k];
                if (v && !*table32_at(p->a, &p->maker, v))
                    *table32_at(p->a, &p->maker, v) = 1 + 2 * (uint32_t)i + (uint32_t)old;
            }
        }
}

/* Names for values: of inputs, initializers and copied nodes first; then names that are free to be
   taken over. */
static void name_values(Assembly *p) {
    Model *m = p->m;
    uint32_t names = intern_count(m->names) + 1;
    for (int pass = 0; pass < 3; pass++)
        for (uint32_t id = 1; id < names; id++) {
            const NameInfo *n = &m->name[id];
            bool file = n->source == FROM_INPUT || n->source == FROM_INITIALIZER ||
                        n->source == FROM_SPARSE,
                 copied = n->source == FROM_NODE && p->copy[n->index];
            if (!p->now[id] || n->source == FROM_NOTHING || *table32_at(p->a, &p->name, p->now[id]))
                continue;
            if ((pass == 0 && file) || (pass == 1 && copied))
                *table32_at(p->a, &p->name, p->now[id]) = id;
            if (pass < 2 || file || p->alias[n->index] || *table32_at(p->a, &p->old, p->now[id]))
                continue;
            *table32_at(p->a, &p->old, p->now[id]) = id, *table32_at(p->a, &p->place, p->now[id]) =
                                                             (uint32_t)n->index;
        }
}

/* Outputs that a rule replaced are not what their old nodes make. */
static void set_outputs(Assembly *p) {
    Model *m = p->m;
    for (int k = 0; k < m->graph.nout; k++) {
        const NameInfo *n = &m->name[m->output[k]];
        if (n->source != FROM_NODE || p->now[m->output[k]] == p->x->graph->out[k]) continue;
        p->now[m->output[k]] = p->x->graph->out[k];
        p->copy[n->index] = p->alias[n->index] = false;
    }
}

void assembly_decide(Assembly *p) {
    decide_nodes(p);
    set_outputs(p);
    find_makers(p);
    name_values(p);
}
