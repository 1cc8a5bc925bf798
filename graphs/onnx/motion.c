/* motion.c -- writes a model in which loop-invariant nodes stand in front of their loop instead of
   in its body.

   A moved node keeps its bytes except for names. Where it reads a state, it now reads the value
   with which the state starts. Its results keep their names if nothing else in the file has the
   same name and the body does not return them; the body then reads them from outside. Otherwise
   they get new names outside, and an Identity in the body gives them their old names there. A light
   node whose result is also read in the body is copied, not moved. */
#include "graphs/onnx/motion.h"
#include "ops/base/file.h"
#include <string.h>

typedef struct Mover {
    Model *m;
    Arena *a;
    Error error;
    int *times; /* by NameId: how many graphs of the model define the name */
    int room;
    Intern *value, *node; /* new names of values; names of the nodes of the graph */
    Motion *motion;       /* by node of the model; n is NULL if nothing is moved out of its body */
} Mover;

/* ---- names */

static void count_name(void *mover, Slice text, bool defined) {
    Mover *x = mover;
    const NameId id = defined ? name_id(x->m, text, &x->error) : 0;
    if (!id) return;
    ARENA_GROW(x->a, x->times, x->room, (int)id + 1);
    x->times[id]++;
}

static const char *fresh_name(Mover *x, const char *name) {
    for (int k = 0;; k++) {
        const char *text =
            k ? arena_format(x->a, "%s/once_%d", name, k) : arena_format(x->a, "%s/once", name);
        const size_t n = strlen(text);
        if (intern_find(x->m->name_numbers, text, n) || intern_find(x->value, text, n)) continue;
        intern_put(x->value, text, n);
        return text;
    }
}

/* Chooses the name of a moved value outside. keeps: its node is no longer in the body, so the body
   does not define the name any more. */
static void name_outside(Mover *x, Motion *o, NameId id, bool keeps) {
    MotionName *name = &o->name[id];
    const char *text = x->m->name[id].text;
    const bool own = keeps && !name->output && (int)id < x->room && x->times[id] == 1;
    name->outside = own ? text : fresh_name(x, text);
}

static void name_all(Mover *x, Motion *o) {
    const Body *b = &o->body;
    for (int k = 0; k < b->g.initializer.n; k++)
        if (o->name[b->weight[k]].taken) name_outside(x, o, b->weight[k], true);
    for (int i = 0; i < b->g.node.n; i++)
        for (int k = 0; o->node[i].taken && k < b->node[i].x.nout; k++)
            if (b->node[i].out[k]) name_outside(x, o, b->node[i].out[k], !o->node[i].stays);
}

/* Whether a moved value has the same name outside as it had in the body. */
static bool same_name(const Motion *o, NameId id) {
    return !strcmp(o->name[id].outside, o->m->name[id].text);
}

/* ---- in front of the loop */

static const char *outer_name(const Motion *o, NameId id) {
    const char *outside = id < o->nname && o->name[id].local ? o->name[id].outside : NULL;
    return outside ? outside : id ? o->m->name[id].text : "";
}

static void put_name(Pieces *out, uint32_t number, const char *name) {
    wire_put_slice(out, number, name, strlen(name));
}

/* Names of nodes have no meaning, but ONNX Runtime wants them to be unique within a graph. Returns
   whether the name is free, and reserves it. */
static bool name_free(Mover *x, Slice name) {
    if (!name.n || intern_find(x->node, name.at, name.n)) return false;
    return intern_put(x->node, name.at, name.n) != 0;
}

static void put_outside(Mover *x, const Motion *o, const OnnxNode *n, Pieces *out) {
    Pieces node = pieces_new(x->a);
    int in = 0, to = 0;
    Wire w = model_wire(x->m, n->x.whole, &x->error);
    for (Field f; wire_next(&w, &f);)
        if (f.number == NODE_INPUT) put_name(&node, NODE_INPUT, outer_name(o, n->in[in++]));
        else if (f.number == NODE_OUTPUT) put_name(&node, NODE_OUTPUT, outer_name(o, n->out[to++]));
        else if (f.number != NODE_NAME || name_free(x, f.bytes))
            pieces_add(&node, f.whole.at, f.whole.n);
    wire_put_pieces(out, GRAPH_NODE, &node);
}

/* Writes those initializers of the body that moved nodes read. */
static void put_weights(Mover *x, const Motion *o, Pieces *out) {
    const Body *b = &o->body;
    for (int k = 0; k < b->g.initializer.n; k++)
        if (o->name[b->weight[k]].taken)
            wire_put_renamed(out, GRAPH_INITIALIZER,
                             model_wire(x->m, b->g.initializer.v[k], &x->error), TENSOR_NAME,
                             o->name[b->weight[k]].outside);
}

/* ---- in the body */

/* Writes the Identity that gives a moved value its old name in the body. */
static void put_again(Mover *x, const Motion *o, NameId id, Pieces *out) {
    index_put_identity(x->a, slice_of(o->name[id].outside), slice_of(o->m->name[id].text), "", out);
}

static void put_inner_nodes(Mover *x, const Motion *o, Pieces *out) {
    const Body *b = &o->body;
    for (int i = 0; i < b->g.node.n; i++)
        for (int k = 0; !o->node[i].stays && k < b->node[i].x.nout; k++) {
            const NameId id = b->node[i].out[k];
            if (id && o->name[id].read && !same_name(o, id)) put_again(x, o, id, out);
        }
    for (int i = 0; i < b->g.node.n; i++)
        if (o->node[i].stays) wire_put_slice(out, GRAPH_NODE, b->g.node.v[i].at, b->g.node.v[i].n);
}

/* Whether the body needs no initializer or value_info of this name any more. */
static bool has_left(Mover *x, const Motion *o, Slice info, uint32_t number) {
    const NameId id =
        name_id(x->m, wire_bytes(model_wire(x->m, info, &x->error), number), &x->error);
    if (!id || id >= o->nname || !o->name[id].local || !o->name[id].taken) return false;
    const bool moved = o->name[id].outside && same_name(o, id);
    return moved || !o->name[id].read;
}

static void put_inner(Mover *x, const Motion *o, Slice graph, Pieces *out) {
    bool nodes = false;
    Wire w = model_wire(x->m, graph, &x->error);
    for (Field f; wire_next(&w, &f);)
        if (f.number == GRAPH_NODE) {
            if (!nodes) put_inner_nodes(x, o, out);
            nodes = true;
        } else if ((f.number != GRAPH_INITIALIZER || !has_left(x, o, f.bytes, TENSOR_NAME)) &&
                   (f.number != GRAPH_VALUE_INFO || !has_left(x, o, f.bytes, VALUE_INFO_NAME)))
            pieces_add(out, f.whole.at, f.whole.n);
}

/* Writes the Loop or Scan with its new body. */
static void put_loop(Mover *x, const Motion *o, Pieces *out) {
    Pieces node = pieces_new(x->a);
    int attr = 0;
    Wire w = model_wire(x->m, o->n->x.whole, &x->error);
    for (Field f; wire_next(&w, &f);) {
        const AttrSlice *a = f.number == NODE_ATTRIBUTE ? &o->n->x.attr[attr++] : NULL;
        if (!a || !slice_is(a->name, "body") || a->graph.n != 1) {
            pieces_add(&node, f.whole.at, f.whole.n);
            continue;
        }
        Pieces graph = pieces_new(x->a);
        put_inner(x, o, a->graph.v[0], &graph);
        index_put_subgraph(wire_inner(&w, f.bytes), &graph, &node);
    }
    wire_put_pieces(out, GRAPH_NODE, &node);
}

/* ---- the main graph */

static void put_nodes(Mover *x, Pieces *out) {
    const Model *m = x->m;
    for (int i = 0; i < m->nnode; i++) {
        const Motion *o = &x->motion[i];
        if (!o->n) {
            wire_put_slice(out, GRAPH_NODE, m->node[i].x.whole.at, m->node[i].x.whole.n);
            continue;
        }
        for (int k = 0; k < o->body.g.node.n; k++)
            if (o->node[k].taken) put_outside(x, o, &o->body.node[k], out);
        put_loop(x, o, out);
    }
}

static bool put_moved_graph(Mover *x, Pieces *out) {
    const Model *m = x->m;
    bool nodes = false;
    for (int i = 0; i < m->nnode; i++) name_free(x, m->node[i].x.name);
    for (int i = 0; i < m->nnode; i++)
        if (x->motion[i].n) name_all(x, &x->motion[i]), put_weights(x, &x->motion[i], out);
    Wire w = model_wire(x->m, m->x.graph, &x->error);
    for (Field f; wire_next(&w, &f);)
        if (f.number != GRAPH_NODE) pieces_add(out, f.whole.at, f.whole.n);
        else if (!nodes) put_nodes(x, out), nodes = true;
    return x->error.kind == E_NONE;
}

static MovedNodes moved_nodes(Arena *a, const Motion *o, const char *body) {
    MovedNodes list = {.body = body, .node = ARENA_NEW(a, const char *, o->body.g.node.n)};
    for (int k = 0; k < o->body.g.node.n; k++) {
        const OnnxNode *n = &o->body.node[k];
        if (!o->node[k].stays)
            list.node[list.n++] = arena_format(a, "%s '%s'", n->type, node_display_name(a, n));
    }
    return list;
}

static int find_all(Mover *x, Facts *facts, Sizes sizes, MovedNodes **moved) {
    Model *m = x->m;
    ModelBody *body;
    int n = 0;
    const int nbody = model_bodies(m, x->a, &body);
    if (!nbody) return 0;
    x->motion = ARENA_NEW(x->a, Motion, m->nnode);
    *moved = ARENA_NEW(x->a, MovedNodes, nbody);
    const MotionLimits limits = {facts, sizes, constants_find(m->w, x->a, &m->graph, NULL, NULL)};
    for (int k = 0; k < nbody; k++) {
        Motion *o = &x->motion[body[k].node];
        if (motion_find(m, &limits, body[k].node, o))
            (*moved)[n++] = moved_nodes(x->a, o, body[k].name);
        else o->n = NULL;
    }
    return n;
}

int model_move_invariants(Model *m, Facts *facts, Sizes sizes, Arena *a, MovedNodes **moved,
                          Pieces *file) {
    Mover x = {.m = m, .a = a};
    const int n = m->x.ir_version < IR_FREE_INITIALIZERS ? 0 : find_all(&x, facts, sizes, moved);
    if (!n || !index_names(a, model_wire(m, m->x.graph, &x.error), 0, true, count_name, &x))
        return 0;
    Pieces graph = pieces_new(a);
    x.value = intern_new(a), x.node = intern_new(a);
    const bool put = put_moved_graph(&x, &graph);
    intern_free(x.value), intern_free(x.node);
    if (!put) return 0;
    *file = pieces_new(a);
    index_put_graph(&m->x, &graph, file);
    return n;
}
