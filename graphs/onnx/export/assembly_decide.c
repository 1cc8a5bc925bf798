/* assembly_decide.c -- what stands of the old file: each node is normalized again on the values
   that its inputs have now; it can be copied if the result is what its outputs should be. Then
   which node makes which value, and which name carries it. */
#include "graphs/onnx/export/assembly.h"
#include "graphs/constants.h"
#include "graphs/shapevalue.h"

/* live[v], for v < n: the value is live in the graph. */
static const bool *live_values(Assembly *p, const Graph *g, uint32_t n) {
    NodeList list = graph_live(p->w, p->a, g);
    bool *live = ARENA_NEW(p->a, bool, n);
    for (int k = 0; k < list.n; k++) {
        Node node = node_get(p->w, list.v[k]);
        for (int j = 0; j < node.nout; j++) live[node.out + (Value)j] = true;
    }
    return live;
}

/* The value that takes the place of one of the old graph. Two candidates compute the same: what the
   map says, and `again`, what its node makes of what its inputs are now. Where rules replaced all
   users of a value but those that read its sizes, the map leads into the graph as it was then, and
   would keep all of that graph alive; `again` stands on what is live anyway. */
static Value value_now(const Assembly *p, const bool *before, Value was, Value again) {
    if (!assembly_live(before, p->nlive, was)) return again;
    Value now = map_value(p->write->map, was);
    return assembly_live(p->live, p->nlive, now) || !again ? now : again;
}

/* Whether a node reads sizes of values that are not live any more (stale, by name): written anew,
   it reads them elsewhere. */
static bool reads_stale(const OnnxNode *n, const bool *stale) {
    bool reads = false;
    for (int k = 0; k < n->x.nin; k++) reads |= n->in[k] && stale[n->in[k]];
    return reads;
}

/* The file computes it with nodes, although its elements are known numbers. */
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
/* Marks the results of node i that are gone (live before, but not any more) and those that are
   stale sizes, and the node as costly if it is live and reads such. */
static void mark_costly(Assembly *p, int i, const bool *before, bool *stale, bool *gone) {
    OnnxNode *n = &p->m->node[i];
    const bool reads = reads_stale(n, stale);
    for (int k = 0; k < n->x.nout; k++) {
        const NameId id = n->out[k];
        const Value now = id ? p->now[id] : 0;
        if (!now) continue;
        const bool live = assembly_live(p->live, p->nlive, now);
        const bool shape = node_get(p->w, value_node(p->w, now)).op == &op_shape;
        gone[id] = !live && assembly_live(before, p->nlive, p->m->name[id].value);
        stale[id] = !live && (reads || (shape && n->x.nin && n->in[0] && gone[n->in[0]]) ||
                              (p->write->known_sizes && known_size(p, id, now)));
        p->costly[i] |= reads && live;
    }
}

/* An input of a broadcasting operator is broadcast by a node that the old file does not have:
   written anew, the operator broadcasts it itself. */
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
static void decide_node(Assembly *p, int i, const bool *before, bool *stale, bool *gone) {
    Model *m = p->m;
    OnnxNode *node = &m->node[i];
    int nin = node_input_count(node), nout = node->x.nout;
    Value *in = ARENA_NEW(p->a, Value, nin + 1), *out = ARENA_NEW(p->a, Value, nout + 1);
    const char *reason;
    bool same = true, passes = false;
    for (int k = 0; k < nin; k++) in[k] = p->now[node_input(node, k)];
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
    mark_costly(p, i, before, stale, gone);
    p->costly[i] |= nout == 1 && takes_stretched(p, before, node, in, out[0]);
    if ((p->write->regenerate || p->costly[i]) && !node->reason) same = false;
    p->copy[i] = same && !passes && !p->banned[i], p->alias[i] = same && passes;
}

static void decide_nodes(Assembly *p) {
    Model *m = p->m;
    uint32_t n = node_count(p->w) + 1, names = intern_count(m->names) + 1;
    const bool *before = live_values(p, model_graph(m), n);
    p->live = live_values(p, p->write->graph, n), p->nlive = n;
    p->now = ARENA_NEW(p->a, Value, names);
    p->in = ARENA_NEW(p->a, Value *, m->nnode), p->out = ARENA_NEW(p->a, Value *, m->nnode);
    p->costly = ARENA_NEW(p->a, bool, m->nnode);
    bool *stale = ARENA_NEW(p->a, bool, names), *gone = ARENA_NEW(p->a, bool, names);
    for (uint32_t id = 1; id < names; id++)
        if (m->name[id].source != FROM_NODE) p->now[id] = m->name[id].value;
    for (int i = 0; i < m->nnode; i++) decide_node(p, i, before, stale, gone);
}

/* Whether a result of a node is one of its inputs: then it makes nothing. old: by the values that
   they had in the old file, else by those they have now. */
static bool passes_input(const Assembly *p, int i, bool old) {
    const OnnxNode *n = &p->m->node[i];
    bool passes = false;
    for (int k = 0; k < n->x.nout; k++)
        for (int j = 0; j < n->x.nin; j++) {
            const Value y = old ? assembly_was(p, n->out[k]) : p->out[i][k];
            passes |= y && y == (old ? assembly_was(p, n->in[j]) : p->in[i][j]);
        }
    return passes;
}

/* Which old node makes a value, as passes_input: the first that does. */
static void find_makers(Assembly *p, bool old) {
    for (int i = 0; i < p->m->nnode; i++) {
        const OnnxNode *n = &p->m->node[i];
        if (p->banned[i] || passes_input(p, i, old)) continue;
        for (int k = 0; k < n->x.nout; k++) {
            const Value v = old ? assembly_was(p, n->out[k]) : p->out[i][k];
            if (v && !table_get(&p->maker, v) && !table_get(&p->old_maker, v))
                table_set(p->a, old ? &p->old_maker : &p->maker, v, 1 + (uint32_t)i);
        }
    }
}

static bool is_given(const Assembly *p, const NameInfo *n) {
    (void)p;
    return source_is_given(n->source);
}
static bool is_copied(const Assembly *p, const NameInfo *n) {
    return n->source == FROM_NODE && p->copy[n->index];
}
/* A name of the old file that nothing gives any more: free for the value that takes its place. */
static bool is_free(const Assembly *p, const NameInfo *n) {
    return n->source == FROM_NODE && !p->alias[n->index];
}

/* For each value without a name the first of these names: as its name or, for free ones, as the
   name that it gets once it is written. */
static void name_values(Assembly *p, bool (*fits)(const Assembly *, const NameInfo *), bool free) {
    const uint32_t names = intern_count(p->m->names) + 1;
    for (uint32_t id = 1; id < names; id++) {
        const NameInfo *n = &p->m->name[id];
        const Value v = p->now[id];
        if (!v || !fits(p, n) || table_get(&p->name, v) || (free && table_get(&p->old, v)))
            continue;
        table_set(p->a, free ? &p->old : &p->name, v, id);
        if (free) table_set(p->a, &p->place, v, (uint32_t)n->index);
    }
}

/* Outputs that a rule replaced are not what their old nodes make. */
static void set_outputs(Assembly *p) {
    Model *m = p->m;
    for (int k = 0; k < m->graph.nout; k++) {
        const NameInfo *n = &m->name[m->output[k]];
        if (n->source != FROM_NODE || p->now[m->output[k]] == p->write->graph->out[k]) continue;
        p->now[m->output[k]] = p->write->graph->out[k];
        p->copy[n->index] = p->alias[n->index] = false;
    }
}

void assembly_decide(Assembly *p) {
    decide_nodes(p);
    set_outputs(p);
    find_makers(p, false);
    find_makers(p, true);
    name_values(p, is_given, false);
    name_values(p, is_copied, false);
    name_values(p, is_free, true);
}
