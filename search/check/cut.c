/* cut.c -- decides which nodes of two models are cut, and builds the graphs that remain. */
#include "search/check/cut.h"
#include <stdio.h>
#include <string.h>

/* Returns the value of this name in the model of side `s`; 0: there is none. */
static Value find_name(const Side *s, World *w, const char *name) {
    for (Value v = value_last(w); name && v > 0; v--) {
        const char *other = model_value_name(s->model, v);
        if (other && !strcmp(other, name)) return v;
    }
    return 0;
}

/* Cuts a node on one side: its results become inputs, its inputs outputs. */
static void cut_side(Cut *c, Side *s, const Node *n) {
    char name[48];
    for (int k = 0; k < n->nin; k++)
        if (n->in[k]) ARENA_APPEND(c->arena, s->taken, s->ntaken, n->in[k]);
    for (int port = 0; port < n->nout; port++) {
        const Value result = n->out + (Value)port;
        int nin = s->ncut; /* one input for each value that is cut */
        snprintf(name, sizeof name, "result %d of side %d", s->ncut, (int)(s - c->side));
        ARENA_APPEND(c->arena, s->in, nin, graph_input(c->w, name, value_type(c->w, result)));
        ARENA_APPEND(c->arena, s->cut, s->ncut, result);
    }
}

static bool is_cut(const Side *s, Value v) {
    for (int k = 0; k < s->ncut; k++)
        if (s->cut[k] == v) return true;
    return false;
}

/* Cuts a node of one side and the node of that name on the other side. Returns false if it has no
   counterpart or is already cut. */
static bool cut_node(Cut *c, int side, NodeId id) {
    Side *here = &c->side[side], *there = &c->side[1 - side];
    const char *name = model_value_name(here->model, id);
    Value other = find_name(there, c->w, name);
    if (!other || is_cut(here, id)) return false;
    Node a = node_get(c->w, id), b = node_get(c->w, value_node(c->w, other));
    if (a.op != b.op || a.nin != b.nin || a.nout != b.nout) return false;
    cut_side(c, here, &a);
    cut_side(c, there, &b);
    return true;
}

bool cut_remaining(Cut *c, int side, Graph *out, ValueMap *map, Error *e) {
    const Side *s = &c->side[side];
    const Graph *g = &s->graph;
    Value *in = ARENA_NEW(c->arena, Value, g->nin + s->ncut),
          *outs = ARENA_NEW(c->arena, Value, g->nout + s->ntaken);
    if (g->nin) memcpy(in, g->in, sizeof *in * (size_t)g->nin);
    if (s->ncut) memcpy(in + g->nin, s->in, sizeof *in * (size_t)s->ncut);
    if (g->nout) memcpy(outs, g->out, sizeof *outs * (size_t)g->nout);
    if (s->ntaken) memcpy(outs + g->nout, s->taken, sizeof *outs * (size_t)s->ntaken);
    const Graph all = {g->nin + s->ncut, g->nout + s->ntaken, in, outs};
    return graph_substitute(c->w, c->arena, &all, &(Substitution){s->ncut, s->cut, s->in}, out, map,
                            e);
}

/* Returns whether the built-in runtime can compute with values of this type, so that they can be
   compared. */
static bool comparable(World *w, Value v) {
    const Type *t = value_type(w, v);
    char class = dtype_class(t->dtype);
    return t->known && dtype_bits(t->dtype) >= 8 && class && strchr("FIUB", class);
}

static bool all_comparable(World *w, const Node *n) {
    bool all = true;
    for (int k = 0; k < n->nin; k++) all &= !n->in[k] || comparable(w, n->in[k]);
    for (int port = 0; port < n->nout; port++) all &= comparable(w, n->out + (Value)port);
    return all;
}

bool cut_opaque(Cut *c, const char **why) {
    NodeList live = graph_live(c->w, c->arena, &c->side[0].graph);
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(c->w, live.v[k]);
        if (input_name(c->w, n.out) || constant_get(c->w, n.out, NULL, NULL)) continue;
        if ((op_algebraic(n.op) || n.op->kernel || n.op->steps) && all_comparable(c->w, &n))
            continue;
        if (!cut_node(c, 0, n.out))
            return *why =
                       arena_format(c->arena, "%s does not run and has no counterpart", n.op->name),
                   false;
    }
    return true;
}

/* Returns whether a size of the node's results depends on data and on nothing that it reads. */
static bool counts(World *w, const Node *n) {
    for (int port = 0; port < n->nout; port++) {
        const Type *t = value_type(w, n->out + (Value)port);
        for (int axis = 0; axis < t->dim.n; axis++) {
            const Symbol size = poly_is_symbol(w, t->dim.v[axis]);
            bool own = size && symbol_def(w, size).kind == SYM_DATA;
            for (int k = 0; k < n->nin && own; k++) {
                const Type *read = n->in[k] ? value_type(w, n->in[k]) : NULL;
                for (int j = 0; read && j < read->dim.n; j++)
                    own &= !poly_mentions(w, read->dim.v[j], size);
            }
            if (own) return true;
        }
    }
    return false;
}

bool cut_counted(Cut *c) {
    const NodeList live = graph_live(c->w, c->arena, &c->side[0].graph);
    bool any = false;
    for (int k = 0; k < live.n; k++) {
        const Node n = node_get(c->w, live.v[k]);
        if (n.op->kernel && !is_cut(&c->side[0], n.out) && counts(c->w, &n))
            any |= cut_node(c, 0, n.out);
    }
    return any;
}

bool cut_obstacle(Cut *c, int side, Value at, const ValueMap *map) {
    Side *s = &c->side[side];
    NodeList live = graph_live(c->w, c->arena, &s->graph);
    bool input = input_name(c->w, at) != NULL, any = false;
    for (int k = 0; k < s->ncut; k++)
        if (s->in[k] == at) at = s->cut[k];
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(c->w, live.v[k]);
        bool takes = false;
        for (int j = 0; j < n.nin; j++) takes |= n.in[j] == at;
        if (input ? takes && !is_cut(s, n.out) : map_value(map, n.out) == at && !is_cut(s, n.out))
            any |= cut_node(c, side, n.out);
    }
    return any;
}

static int input_index(const Graph *g, Value v) {
    for (int k = 0; k < g->nin; k++)
        if (g->in[k] == v) return k;
    return -1;
}

/* Removes inputs that neither side reads. */
static void drop_unread(Cut *c, Graph g[2]) {
    int n = 0;
    Value *in[2] = {ARENA_NEW(c->arena, Value, g[0].nin), ARENA_NEW(c->arena, Value, g[1].nin)};
    const NodeList live[2] = {graph_live(c->w, c->arena, &g[0]), graph_live(c->w, c->arena, &g[1])};
    for (int k = 0; k < g[0].nin; k++) {
        bool used = false;
        for (int side = 0; side < 2; side++)
            for (int j = 0; j < live[side].n && !used; j++) used = live[side].v[j] == g[side].in[k];
        if (used) in[0][n] = g[0].in[k], in[1][n++] = g[1].in[k];
    }
    for (int side = 0; side < 2; side++) g[side].nin = n, g[side].in = in[side];
}

bool cut_prune(Cut *c, Graph g[2]) {
    int n = 0;
    Value *out[2] = {ARENA_NEW(c->arena, Value, g[0].nout), ARENA_NEW(c->arena, Value, g[1].nout)};
    c->output = ARENA_NEW(c->arena, int, g[0].nout);
    for (int k = 0; k < g[0].nout; k++) {
        Value a = g[0].out[k], b = g[1].out[k];
        int i = input_index(&g[0], a);
        bool fine = comparable(c->w, a) && comparable(c->w, b);
        if ((i >= 0 && i == input_index(&g[1], b)) || (a == b && !fine)) continue;
        if (!fine) return false;
        c->output[n] = k;
        out[0][n] = a, out[1][n++] = b;
    }
    for (int side = 0; side < 2; side++) g[side].nout = n, g[side].out = out[side];
    drop_unread(c, g);
    c->ncompared = n;
    return true;
}
