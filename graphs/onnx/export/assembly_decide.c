/* assembly_decide.c -- decides which nodes of the old file are copied. Each node is normalized
   again, given the new values of its inputs, and can be copied if this gives what its outputs
   should be. After that, each value is assigned a name and, if there is one, an old node that
   computes it. */
#include "graphs/onnx/export/assembly.h"
#include "graphs/constants.h"
#include "graphs/shapevalue.h"

/* Returns, for the values below n, whether they are live in the graph. */
static const bool *live_values(Assembly *p, const Graph *g, uint32_t n) {
    NodeList list = graph_live(p->w, p->a, g);
    bool *live = ARENA_NEW(p->a, bool, n);
    for (int k = 0; k < list.n; k++) {
        Node node = node_get(p->w, list.v[k]);
        for (int j = 0; j < node.nout; j++) live[node.out + (Value)j] = true;
    }
    return live;
}

/* Returns the value that replaces the value `was` of the old graph. There are two candidates with
   the same meaning: the one that the map gives, and `again`, which is what its node computes from
   the new values of its inputs. If rules have replaced all users of a value except those that read
   its sizes, the map leads to a value that is not live, and using it would keep all that it is
   computed from alive. `again` depends only on what is live anyway. */
static Value value_now(const Assembly *p, const bool *before, Value was, Value again) {
    if (!assembly_live(before, p->nlive, was)) return again;
    Value now = map_value(p->write->map, was);
    return assembly_live(p->live, p->nlive, now) || !again ? now : again;
}

/* Whether a node reads sizes of values that are not live any more (`stale`, by NameId). If it is
   written anew, it reads these sizes elsewhere. */
static bool reads_stale(const OnnxNode *n, const bool *stale) {
    bool reads = false;
    for (int k = 0; k < n->x.nin; k++) reads |= n->in[k] && stale[n->in[k]];
    return reads;
}

/* Whether the file computes this value by nodes although its elements are known numbers. */
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
/* Marks those results of node i that were live but are not any more (`gone`) and those that are
   stale sizes (`stale`). Marks the node as costly if it reads stale sizes and one of its results is
   live. */
static void mark_costly(Assembly *p, int i, const bool *before, bool *stale, bool *gone) {
    OnnxNode *n = &p->m->node[i];
    const bool reads = reads_stale(n, stale);
    for (int k = 0; k < n->x.nout; k++) {
        const NameId id = n->out[k];
        const Value now = id ? p->new_value[id] : 0;
        if (!now) continue;
        const bool live = assembly_live(p->live, p->nlive, now);
        const bool shape = node_get(p->w, value_node(p->w, now)).op == &op_shape;
        gone[id] = !live && assembly_live(before, p->nlive, p->m->name[id].value);
        stale[id] = !live && (reads || (shape && n->x.nin && n->in[0] && gone[n->in[0]]) ||
                              (p->write->known_sizes && known_size(p, id, now)));
        p->costly[i] |= reads && live;
    }
}

/* Whether the node's operator broadcasts its inputs in ONNX, but one of them is the result of a
   `broadcast` that the old file does not have. Written anew, the operator broadcasts that input
   itself. */
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

/* Normalizes the node, given the new values of its inputs, and decides whether it can be copied as
   it is. */
static void decide_node(Assembly *p, int i, const bool *before, bool *stale, bool *gone) {
    Model *m = p->m;
    OnnxNode *node = &m->node[i];
    int nin = node_input_count(node), nout = node->x.nout;
    Value *in = ARENA_NEW(p->a, Value, nin + 1), *out = ARENA_NEW(p->a, Value, nout + 1);
    const char *reason;
    bool same = true, passes = false;
    for (int k = 0; k < nin; k++) in[k] = p->new_value[node_input(node, k)];
    /* The node made here is only used while this file is written. */
    const NodeId made = node->serial_node;
    normalize_node(m, node, in, out, &reason);
    node->serial_node = made;
    p->in[i] = in, p->out[i] = out;
    for (int k = 0; k < nout; k++) {
        Value was = node->out[k] ? m->name[node->out[k]].value : 0;
        Value is = value_now(p, before, was, out[k]);
        if (node->out[k]) p->new_value[node->out[k]] = is;
        same &= is == out[k] && (is || !node->out[k] || !m->name[node->out[k]].used);
        for (int j = 0; j < nin; j++) passes |= is && in[j] == is;
    }
    mark_costly(p, i, before, stale, gone);
    p->costly[i] |= nout == 1 && takes_stretched(p, before, node, in, out[0]);
    if ((p->write->regenerate || p->costly[i]) && !node->reason) same = false;
    p->can_copy[i] = same && !passes && !p->banned[i], p->alias[i] = same && passes;
}

static void decide_nodes(Assembly *p) {
    Model *m = p->m;
    uint32_t n = value_last(p->w) + 1, names = intern_count(m->name_numbers) + 1;
    const bool *before = live_values(p, model_graph(m), n);
    p->live = live_values(p, p->write->graph, n), p->nlive = n;
    p->new_value = ARENA_NEW(p->a, Value, names);
    p->in = ARENA_NEW(p->a, Value *, m->nnode), p->out = ARENA_NEW(p->a, Value *, m->nnode);
    p->costly = ARENA_NEW(p->a, bool, m->nnode);
    bool *stale = ARENA_NEW(p->a, bool, names), *gone = ARENA_NEW(p->a, bool, names);
    for (uint32_t id = 1; id < names; id++)
        if (m->name[id].source != FROM_NODE) p->new_value[id] = m->name[id].value;
    for (int i = 0; i < m->nnode; i++) decide_node(p, i, before, stale, gone);
}

/* Whether one of the node's results is one of its inputs, so that it computes nothing; for `old`,
   judged by their values in the old file, else by their new values. */
static bool passes_input(const Assembly *p, int i, bool old) {
    const OnnxNode *n = &p->m->node[i];
    bool passes = false;
    for (int k = 0; k < n->x.nout; k++)
        for (int j = 0; j < n->x.nin; j++) {
            const Value y = old ? assembly_old_value(p, n->out[k]) : p->out[i][k];
            passes |= y && y == (old ? assembly_old_value(p, n->in[j]) : p->in[i][j]);
        }
    return passes;
}

/* Finds the first old node that computes each value, where `old` means the same as for
   passes_input. */
static void find_makers(Assembly *p, bool old) {
    for (int i = 0; i < p->m->nnode; i++) {
        const OnnxNode *n = &p->m->node[i];
        if (p->banned[i] || passes_input(p, i, old)) continue;
        for (int k = 0; k < n->x.nout; k++) {
            const Value v = old ? assembly_old_value(p, n->out[k]) : p->out[i][k];
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
    return n->source == FROM_NODE && p->can_copy[n->index];
}
/* Whether nothing defines this name of the old file any more, so that the value that replaces the
   old one may get it. */
static bool is_free(const Assembly *p, const NameInfo *n) {
    return n->source == FROM_NODE && !p->alias[n->index];
}

/* Gives each value that has no name the first name that fits; with `free`, as the name that it will
   get if it is written. */
static void name_values(Assembly *p, bool (*fits)(const Assembly *, const NameInfo *), bool free) {
    const uint32_t names = intern_count(p->m->name_numbers) + 1;
    for (uint32_t id = 1; id < names; id++) {
        const NameInfo *n = &p->m->name[id];
        const Value v = p->new_value[id];
        if (!v || !fits(p, n) || table_get(&p->name, v) ||
            (free && table_get(&p->free_old_name, v)))
            continue;
        table_set(p->a, free ? &p->free_old_name : &p->name, v, id);
        if (free) table_set(p->a, &p->place, v, (uint32_t)n->index);
    }
}

/* Takes over outputs that a rule replaced: their old nodes do not compute them any more. */
static void set_outputs(Assembly *p) {
    Model *m = p->m;
    for (int k = 0; k < m->graph.nout; k++) {
        const NameInfo *n = &m->name[m->output[k]];
        if (n->source != FROM_NODE || p->new_value[m->output[k]] == p->write->graph->out[k])
            continue;
        p->new_value[m->output[k]] = p->write->graph->out[k];
        p->can_copy[n->index] = p->alias[n->index] = false;
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
