/* extract.c -- chooses a graph by local search. It starts from two choices: the nodes that no rule
   made, with the cheapest trees elsewhere (computed bottom-up, until nothing changes); and the
   cheapest trees everywhere. Each choice is improved by moves. A move chooses a node for the
   classes of all its results at once, since the results of a split belong together, and is kept if
   the graph, with shared parts counted once, becomes cheaper. The cost of a cyclic choice is
   infinite. */
#include "search/runtime/extract.h"
#include <math.h>
#include <string.h>

enum { MOVES = 40000 };    /* at most, for each of the two starts */
typedef struct Selection { /* a node chosen for each class */
    const Extract *x;
    Arena *arena;
    NodeList nodes;
    Value room;
    double *price;  /* by node: its price */
    bool *constant; /* by class: it depends on constants alone */
    double *tree;   /* by class: price of the cheapest tree */
    NodeId *cheap;  /* by class: root of that tree */
    NodeId *choice; /* by class: the chosen node */
    Value *built;   /* by node: its first result in the chosen graph */
    /* By node, while a graph is traversed: 1 entered, 2 done; `reached` is the same for the best
       choice so far. */
    uint8_t *state, *reached;
} Selection;

static Value value_class(const Selection *c, Value v) { return egraph_find(c->x->g, v); }

static bool inputs_constant(const Selection *c, const Node *n) {
    bool all = !(n->op->flags & OP_RANDOM) && !input_name(c->x->w, n->out);
    for (int k = 0; k < n->nin; k++) all &= !n->in[k] || c->constant[value_class(c, n->in[k])];
    return all;
}

static void find_constants(Selection *c) {
    for (bool change = true; change;) {
        change = false;
        for (int k = 0; k < c->nodes.n; k++) {
            Node n = node_get(c->x->w, c->nodes.v[k]);
            if (!inputs_constant(c, &n)) continue;
            for (int j = 0; j < n.nout; j++) {
                Value v = value_class(c, n.out + (Value)j);
                if (c->constant[v]) continue;
                c->constant[v] = change = true;
                c->tree[v] = 0;
                c->cheap[v] = n.out;
            }
        }
    }
}

static double tree_price(const Selection *c, const Node *n) {
    double sum = c->price[n->out];
    for (int k = 0; k < n->nin; k++)
        if (n->in[k]) sum += c->tree[value_class(c, n->in[k])];
    return sum;
}

static void find_trees(Selection *c) {
    for (bool change = true; change;) {
        change = false;
        for (int k = 0; k < c->nodes.n; k++) {
            Node n = node_get(c->x->w, c->nodes.v[k]);
            double price = tree_price(c, &n);
            for (int j = 0; j < n.nout; j++) {
                Value v = value_class(c, n.out + (Value)j);
                if (c->constant[v] || !(price < c->tree[v])) continue;
                c->tree[v] = price;
                c->cheap[v] = n.out;
                change = true;
            }
        }
    }
}

/* ---- a choice as a graph */

static double place_tree(Selection *c, Value v) {
    NodeId id = c->choice[value_class(c, v)];
    if (!id || c->state[id] == 1) return INFINITY;
    if (c->state[id] == 2) return 0;
    Node n = node_get(c->x->w, id);
    double sum = c->price[id];
    c->state[id] = 1;
    for (int k = 0; k < n.nin && isfinite(sum); k++)
        if (n.in[k]) sum += place_tree(c, n.in[k]);
    c->state[id] = 2;
    return sum;
}

static double graph_price(Selection *c, int nout, const Value out[]) {
    double sum = 0;
    memset(c->state, 0, c->room);
    for (int k = 0; k < nout && isfinite(sum); k++) sum += place_tree(c, out[k]);
    return sum;
}

/* ---- choices */

static void choose_cheap(Selection *c) { memcpy(c->choice, c->cheap, sizeof *c->choice * c->room); }

static void choose_given(Selection *c) {
    choose_cheap(c);
    for (int k = c->nodes.n - 1; k >= 0; k--) { /* so that the first node of a class is chosen */
        Node n = node_get(c->x->w, c->nodes.v[k]);
        for (int j = 0; j < n.nout && egraph_given(c->x->g, n.out); j++)
            c->choice[value_class(c, n.out + (Value)j)] = n.out;
    }
}

/* Whether the node would change the choice for a class that the outputs need. */
static bool matters(const Selection *c, const Node *n) {
    for (int j = 0; j < n->nout; j++) {
        Value v = value_class(c, n->out + (Value)j);
        if (c->choice[v] != n->out && !c->constant[v] && c->reached[c->choice[v]]) return true;
    }
    return false;
}

static bool try_choice(Selection *c, const Node *n, int nout, const Value out[], double *price) {
    NodeId *before = ARENA_NEW(c->x->w->scratch, NodeId, n->nout);
    for (int j = 0; j < n->nout; j++) {
        Value v = value_class(c, n->out + (Value)j);
        before[j] = c->choice[v];
        c->choice[v] = n->out;
    }
    double now = graph_price(c, nout, out);
    if (now < *price) {
        *price = now;
        memcpy(c->reached, c->state, c->room);
        return true;
    }
    for (int j = n->nout - 1; j >= 0; j--) c->choice[value_class(c, n->out + (Value)j)] = before[j];
    return false;
}

static double improve_choices(Selection *c, int nout, const Value out[]) {
    double price = graph_price(c, nout, out);
    int moves = 0;
    memcpy(c->reached, c->state, c->room);
    for (bool change = true; change && moves < MOVES;) {
        change = false;
        for (int k = 0; k < c->nodes.n && moves < MOVES; k++) {
            Node n = node_get(c->x->w, c->nodes.v[k]);
            if (!matters(c, &n)) continue;
            moves++;
            change |= try_choice(c, &n, nout, out, &price);
        }
    }
    return price;
}

/* ---- the whole */

static void open_selection(Selection *c) {
    World *w = c->x->w;
    c->nodes = egraph_live(c->x->g, c->arena);
    c->room = value_last(w) + 64;
    c->price = ARENA_NEW(c->arena, double, c->room);
    c->tree = ARENA_NEW(c->arena, double, c->room);
    c->constant = ARENA_NEW(c->arena, bool, c->room);
    c->cheap = ARENA_NEW(c->arena, NodeId, c->room);
    c->choice = ARENA_NEW(c->arena, NodeId, c->room);
    c->built = ARENA_NEW(c->arena, Value, c->room);
    c->state = ARENA_NEW(c->arena, uint8_t, c->room);
    c->reached = ARENA_NEW(c->arena, uint8_t, c->room);
    for (Value v = 0; v < c->room; v++) c->tree[v] = INFINITY;
    find_constants(c);
    for (int k = 0; k < c->nodes.n; k++) {
        Node n = node_get(w, c->nodes.v[k]);
        bool free = input_name(w, n.out) || inputs_constant(c, &n);
        c->price[n.out] = free ? 0 : c->x->price(c->x->user, &n);
    }
    find_trees(c);
}

/* Builds the chosen graph, which must be acyclic, in the World. Returns the value of v's class in
   it. */
static Value build_chosen(Selection *c, Value v) {
    NodeId id = c->choice[value_class(c, v)];
    Node n = node_get(c->x->w, id);
    const char *why = "";
    Value *in = ARENA_NEW(c->arena, Value, n.nin);
    int port = 0;
    while (value_class(c, id + (Value)port) != value_class(c, v)) port++;
    if (!c->built[id]) {
        for (int k = 0; k < n.nin; k++) in[k] = n.in[k] ? build_chosen(c, n.in[k]) : 0;
        c->built[id] = input_name(c->x->w, id) ? id : node_rebuild(c->x->w, id, in, &why);
    }
    return c->built[id] ? c->built[id] + (Value)port : id + (Value)port;
}

static void keep_cheapest(Selection *c, int nout, const Value out[], double price,
                          Extracted *best) {
    if (best->out && price >= best->price) return;
    Value *made = ARENA_NEW(c->x->arena, Value, nout);
    memset(c->built, 0, c->room * sizeof *c->built);
    for (int k = 0; k < nout && isfinite(price); k++) made[k] = build_chosen(c, out[k]);
    best->price = price;
    best->out = isfinite(price) ? made : out;
}

Extracted extract(const Extract *x, int nout, const Value out[]) {
    Selection c = {.x = x, .arena = arena_new(arena_escape(x->arena), 0)};
    Extracted best = {NULL, INFINITY, 0};
    open_selection(&c);
    choose_given(&c);
    best.given = graph_price(&c, nout, out);
    keep_cheapest(&c, nout, out, improve_choices(&c, nout, out), &best);
    choose_cheap(&c);
    keep_cheapest(&c, nout, out, improve_choices(&c, nout, out), &best);
    arena_free(c.arena);
    return best;
}
