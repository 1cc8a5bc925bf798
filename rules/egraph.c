/* egraph.c -- a union-find over values. The least value of a class represents it, so that the
   inputs of a node represent their classes.

   A node is known if its values are. A node is outdated if one of its inputs no longer represents
   its class. When that happens, the node over the representatives is made; it becomes known, and
   its results are in the same classes. Invariant after egraph_rebuild: nodes that are not outdated
   have only representatives as inputs, and every user of a class is in the list of its
   representative. */
#include "rules/egraph_inner.h"
#include <string.h>

EGraph *egraph_new(World *w, Arena *a, Facts *facts) {
    EGraph *g = ARENA_NEW(a, EGraph, 1);
    *g = (EGraph){.w = w, .arena = a, .facts = facts};
    return g;
}

static ClassEntry *class_entry(EGraph *g, Value v) {
    if (v >= g->room) {
        uint32_t room = 2 * (v > value_last(g->w) ? v : value_last(g->w)) + 64;
        ClassEntry *more = ARENA_NEW(g->arena, ClassEntry, room);
        if (g->room) memcpy(more, g->v, g->room * sizeof *more);
        g->v = more;
        g->room = room;
    }
    return &g->v[v];
}

Value egraph_find(EGraph *g, Value v) {
    while (v && g->v[v].parent != v) {
        g->v[v].parent = g->v[g->v[v].parent].parent;
        v = g->v[v].parent;
    }
    return v;
}

int egraph_nodes(const EGraph *g) { return g->live; }
void egraph_record(EGraph *g) { g->record = true; }
const EGraphApplication *egraph_applications(const EGraph *g, int *n) {
    *n = g->napplication;
    return g->application;
}
bool egraph_given(const EGraph *g, NodeId id) { return !g->v[id].made; }
NodeList egraph_live(EGraph *g, Arena *a) {
    NodeList list = {0, ARENA_NEW(a, NodeId, g->nnode)};
    for (Value v = 1; v < g->room; v++)
        if (g->v[v].known && value_node(g->w, v) == v && !g->v[v].outdated) list.v[list.n++] = v;
    return list;
}

/* ---- union */

static bool same_type(EGraph *g, Value a, Value b) {
    const Type *s = value_type(g->w, a), *t = value_type(g->w, b);
    if (value_type_id(g->w, a) == value_type_id(g->w, b)) return true;
    if (!s->known || !t->known || s->dtype != t->dtype || s->dim.n != t->dim.n) return false;
    for (int k = 0; k < s->dim.n; k++)
        if (facts_reduce(g->facts, s->dim.v[k]) != facts_reduce(g->facts, t->dim.v[k]))
            return false;
    return true;
}

/* Makes v the root of its tree of reasons by reversing the edges on the way to the old root. */
static void reroot(EGraph *g, Value v) {
    Value to = 0;
    int reason = GIVEN;
    bool flipped = false;
    while (v) {
        ClassEntry *x = &g->v[v];
        Value up = x->proof_parent;
        int r = x->reason;
        bool f = x->flipped;
        x->proof_parent = to;
        x->reason = reason;
        x->flipped = flipped;
        to = v;
        reason = r;
        flipped = !f;
        v = up;
    }
}

static bool unite_classes(EGraph *g, Value a, Value b, int reason) {
    Value x = egraph_find(g, a), y = egraph_find(g, b), t;
    if (x == y) return true;
    if (!same_type(g, x, y)) return false;
    reroot(g, a);
    g->v[a].proof_parent = b;
    g->v[a].reason = reason;
    g->v[a].flipped = false;
    if (y < x) t = x, x = y, y = t;
    ClassEntry *r = &g->v[x], *s = &g->v[y];
    s->parent = x;
    t = r->next, r->next = s->next, s->next = t;
    if (r->last_use) g->use[r->last_use - 1].next = s->first_use;
    else r->first_use = s->first_use;
    if (s->last_use) r->last_use = s->last_use;
    ARENA_GROW(g->arena, g->dirty, g->dirty_room, g->ndirty + 1);
    g->dirty[g->ndirty++] = x;
    return true;
}

bool egraph_unite(EGraph *g, Value a, Value b, const EquationUse *use) {
    if (!use) return unite_classes(g, a, b, GIVEN);
    ARENA_GROW(g->arena, g->reason, g->reason_room, g->nreason + 1);
    g->reason[g->nreason++] = (Reason){use, g->now - 1};
    return unite_classes(g, a, b, g->nreason - 1);
}

/* ---- nodes */

static void add_use(EGraph *g, Value class, NodeId node) {
    ClassEntry *x = &g->v[class];
    ARENA_GROW(g->arena, g->use, g->use_room, g->nuse + 1);
    g->use[g->nuse++] = (Use){node, 0};
    if (x->last_use) g->use[x->last_use - 1].next = g->nuse;
    else x->first_use = g->nuse;
    x->last_use = g->nuse;
}

static void make_known(EGraph *g, const Node *n) {
    for (int k = 0; k < n->nout; k++) {
        Value v = n->out + (Value)k;
        *class_entry(g, v) =
            (ClassEntry){.known = true, .parent = v, .next = v, .made = g->now > 0};
    }
    ARENA_GROW(g->arena, g->node, g->node_room, g->nnode + 1);
    g->node[g->nnode++] = n->out;
    g->live++;
}

/* Sets in[] to the representatives of the inputs, sorted for a commutative operator. Returns
   whether the node has exactly these inputs already. */
static bool canonical_inputs(EGraph *g, const Node *n, Value in[], int *reason) {
    bool all = true;
    *reason = CONGRUENT;
    for (int k = 0; k < n->nin; k++) all &= (in[k] = egraph_find(g, n->in[k])) == n->in[k];
    if (!(n->op->flags & OP_COMMUTATIVE) || n->nin != 2 || in[0] <= in[1]) return all;
    Value first = in[0];
    in[0] = in[1];
    in[1] = first;
    *reason = SWAPPED;
    return false;
}

static void use_inputs(EGraph *g, const Node *n) {
    for (int k = 0; k < n->nin; k++)
        if (n->in[k]) add_use(g, n->in[k], n->out);
}

/* Updates `made` of node a and of node b, which was made as a's replacement or known before. */
static void share_made(ClassEntry *a, ClassEntry *b, bool known) {
    b->made = a->made && (b->made || !known);
    a->made = b->made;
}

/* Replaces a known node by the node over the representatives of its inputs, unless it is that node.
   Both are equal. */
static void settle_node(EGraph *g, NodeId id) {
    Node n = node_get(g->w, id);
    const char *why = "";
    int reason;
    Value *in = ARENA_NEW(g->w->scratch, Value, n.nin);
    if (canonical_inputs(g, &n, in, &reason)) {
        use_inputs(g, &n);
        return;
    }
    Value y = node_rebuild(g->w, id, in, &why);
    if (!y && reason == SWAPPED) { /* it is kept as it is */
        use_inputs(g, &n);
        return;
    }
    g->v[id].outdated = true;
    g->live--;
    if (!y) return;
    Node m = node_get(g->w, value_node(g->w, y));
    bool known = class_entry(g, m.out)->known;
    if (!known) {
        make_known(g, &m);
        use_inputs(g, &m);
    }
    share_made(&g->v[id], &g->v[m.out], known);
    for (int k = 0; k < n.nout; k++) unite_classes(g, n.out + (Value)k, m.out + (Value)k, reason);
}

Value egraph_add(EGraph *g, Value v) {
    ArenaMark mark = arena_mark(g->w->scratch);
    if (v < g->room && g->v[v].known) return egraph_find(g, v);
    NodeList live = graph_live(g->w, g->w->scratch, &(Graph){0, 1, NULL, &v});
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(g->w, live.v[k]);
        if (class_entry(g, n.out)->known) continue;
        make_known(g, &n);
        settle_node(g, n.out);
    }
    arena_reset(g->w->scratch, mark);
    return egraph_find(g, v);
}

/* ---- rebuilding */

/* Replaces the users of a united class whose inputs are no longer representatives. */
static void repair_class(EGraph *g, Value class) {
    ClassEntry *x = &g->v[class];
    int k = x->first_use;
    x->first_use = x->last_use = 0;
    for (int next; k; k = next) {
        NodeId node = g->use[k - 1].node;
        next = g->use[k - 1].next;
        if (g->v[node].outdated) continue;
        Node n = node_get(g->w, node);
        Value *in = ARENA_NEW(g->w->scratch, Value, n.nin);
        int reason;
        if (canonical_inputs(g, &n, in, &reason)) add_use(g, egraph_find(g, class), node);
        else settle_node(g, node);
    }
}

void egraph_rebuild(EGraph *g) {
    ArenaMark mark = arena_mark(g->w->scratch);
    for (int k = 0; k < g->ndirty; k++) { /* ndirty grows meanwhile */
        Value class = egraph_find(g, g->dirty[k]);
        repair_class(g, class);
    }
    g->ndirty = 0;
    arena_reset(g->w->scratch, mark);
}

/* ---- explanation */

typedef struct Pair {
    Value a, b;
} Pair;
typedef struct Explain {
    EGraph *g;
    Arena *arena;
    EGraphSteps out;
    int room, npair, pair_room;
    Pair *pair;
    Intern *seen; /* edges that have been explained */
} Explain;

static void explain_edge(Explain *x, Value from, bool backward) {
    const ClassEntry *e = &x->g->v[from];
    Value key[2] = {from < e->proof_parent ? from : e->proof_parent,
                    from < e->proof_parent ? e->proof_parent : from};
    uint32_t before = intern_count(x->seen);
    if (intern_put(x->seen, key, sizeof key) <= before) return;
    if (e->reason >= 0) {
        ARENA_GROW(x->arena, x->out.v, x->room, x->out.n + 1);
        x->out.v[x->out.n++] =
            (EGraphStep){x->g->reason[e->reason].use, x->g->reason[e->reason].application,
                         backward != e->flipped};
    }
    if (e->reason != CONGRUENT && e->reason != SWAPPED) return;
    Node m = node_get(x->g->w, value_node(x->g->w, from)),
         n = node_get(x->g->w, value_node(x->g->w, e->proof_parent));
    for (int k = 0; k < m.nin && k < n.nin; k++) {
        Value other = n.in[e->reason == SWAPPED ? n.nin - 1 - k : k];
        if (m.in[k] == other) continue;
        ARENA_GROW(x->arena, x->pair, x->pair_room, x->npair + 1);
        x->pair[x->npair++] = (Pair){m.in[k], other};
    }
}

/* Explains the edges on the path from a to b in the tree of reasons. */
static void explain_pair(Explain *x, Value a, Value b) {
    EGraph *g = x->g;
    uint32_t stamp = ++g->stamp;
    Value meet = b;
    for (Value v = a; v; v = g->v[v].proof_parent) g->v[v].stamp = stamp;
    while (meet && g->v[meet].stamp != stamp) meet = g->v[meet].proof_parent;
    for (Value v = a; v != meet; v = g->v[v].proof_parent) explain_edge(x, v, false);
    for (Value v = b; v != meet; v = g->v[v].proof_parent) explain_edge(x, v, true);
}

EGraphSteps egraph_explain(EGraph *g, Arena *a, Value from, Value to) {
    Explain x = {.g = g, .arena = a, .seen = intern_new(a)};
    ARENA_GROW(a, x.pair, x.pair_room, 1);
    x.pair[x.npair++] = (Pair){from, to};
    while (x.npair) {
        Pair p = x.pair[--x.npair];
        explain_pair(&x, p.a, p.b);
    }
    intern_free(x.seen);
    return x.out;
}
