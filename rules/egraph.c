/* egraph.c -- union-find over values; the least value stands for its class, so that inputs do for
   theirs. A node is known when its values are; it is outdated when one of its inputs does not stand
   for its class any more: the node over those that do was made then, is known, and its results are
   in the same classes. Invariant after egraph_rebuild: nodes that are not outdated have only
   standing inputs, and every user of a class is in its standing value's list. */
#include "rules/egraph.h"
#include "rules/apply.h"
#include <string.h>

enum { GIVEN = -1, CONGRUENT = -2, SWAPPED = -3 }; /* SWAPPED: congruent, inputs exchanged */
typedef struct ClassEntry {                        /* of a value */
    bool known, outdated;
    Value parent, next;      /* of the union-find; the members, around */
    int first_use, last_use; /* numbers in `use` + 1; of standing values */
    Value edge;              /* towards the root of its tree of reasons; 0: it is the root */
    int reason;              /* of that edge: number of an EquationUse, or of the above */
    bool flipped;            /* that edge: the equation holds from `edge` to this value */
    bool made;               /* of a node: by an application, and no other is like it */
    uint32_t stamp;
} ClassEntry;
typedef struct Use {
    NodeId node;
    int next;
} Use;
typedef struct Reason {
    const EquationUse *use;
    int application; /* -1: they are not kept */
} Reason;
struct EGraph {
    World *w;
    Arena *arena;
    Facts *facts;
    uint32_t room, stamp;
    ClassEntry *v;
    int nuse, use_room, ndirty, dirty_room, nreason, reason_room, nnode, node_room, live;
    Use *use;
    Value *dirty;
    Reason *reason;
    NodeId *node; /* all that are known, as they came */
    Intern *applied;
    bool record;
    int napplication, application_room, now; /* now: 1 + the application that is being made */
    EGraphApplication *application;
};

EGraph *egraph_new(World *w, Arena *a, Facts *facts) {
    EGraph *g = ARENA_NEW(a, EGraph, 1);
    *g = (EGraph){.w = w, .arena = a, .facts = facts};
    return g;
}

static ClassEntry *class_entry(EGraph *g, Value v) {
    if (v >= g->room) {
        uint32_t room = 2 * (v > node_count(g->w) ? v : node_count(g->w)) + 64;
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

/* Makes v the root of its tree of reasons by turning the edges on its way up. */
static void reroot(EGraph *g, Value v) {
    Value to = 0;
    int reason = GIVEN;
    bool flipped = false;
    while (v) {
        ClassEntry *x = &g->v[v];
        Value up = x->edge;
        int r = x->reason;
        bool f = x->flipped;
        x->edge = to;
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
    g->v[a].edge = b;
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

/* The inputs by what stands for them, those of a commutative operator ascending: whether they are
   so already. */
static bool standing(EGraph *g, const Node *n, Value in[], int *reason) {
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

/* b was made for a, or was known before. */
static void share_made(ClassEntry *a, ClassEntry *b, bool known) {
    b->made = a->made && (b->made || !known);
    a->made = b->made;
}

/* A known node whose inputs do not stand is made again over what stands for them; both are
   equal. */
static void settle_node(EGraph *g, NodeId id) {
    Node n = node_get(g->w, id);
    const char *why = "";
    int reason;
    Value *in = ARENA_NEW(g->w->scratch, Value, n.nin);
    if (standing(g, &n, in, &reason)) {
        use_inputs(g, &n);
        return;
    }
    Value y = node_rebuild(g->w, id, in, &why);
    if (!y && reason == SWAPPED) { /* it stands as it is */
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

/* The users of a class that was joined: those over what does not stand any more are made again. */
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
        if (standing(g, &n, in, &reason)) add_use(g, egraph_find(g, class), node);
        else settle_node(g, node);
    }
}

void egraph_rebuild(EGraph *g) {
    ArenaMark mark = arena_mark(g->w->scratch);
    for (int k = 0; k < g->ndirty; k++) { /* grows meanwhile */
        Value class = egraph_find(g, g->dirty[k]);
        repair_class(g, class);
    }
    g->ndirty = 0;
    arena_reset(g->w->scratch, mark);
}

/* ---- rules */

/* Without those that have no input: what they compute may be a constant of the graph. */
static void operators_of(World *w, const Graph *g, uint64_t bits[4]) {
    ArenaMark mark = arena_mark(w->scratch);
    NodeList live = graph_live(w, w->scratch, g);
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(w, live.v[k]);
        unsigned o = (unsigned)n.op_index;
        if (n.nin) bits[o / 64 % 4] |= 1ull << o % 64;
    }
    arena_reset(w->scratch, mark);
}

static Instance turned_instance(const Instance *i) {
    Instance t = *i;
    t.from = i->to;
    t.to = i->from;
    t.nneed_from = i->nneed_to;
    t.nneed_to = i->nneed_from;
    t.need_from = i->need_to;
    t.need_to = i->need_from;
    return t;
}

void equation_uses(World *w, const Instance *i, EquationUse out[2]) {
    out[0] = (EquationUse){.instance = *i, .mirror = turned_instance(i), .usable = true};
    out[1] =
        (EquationUse){.instance = out[0].mirror, .mirror = *i, .reversed = true, .usable = true};
    for (int d = 0; d < 2; d++) {
        const Graph *from = &out[d].instance.from;
        for (int k = 0; k < from->nout; k++)
            out[d].usable &= !input_name(w, value_node(w, from->out[k]));
        operators_of(w, from, out[d].operators);
    }
}

/* ---- saturation */

typedef struct Found {
    EGraph *g;
    Arena *arena;
    const EquationUse *use;
    int n, room, most;
    struct FoundMatch {
        const EquationUse *use;
        Match match;
    } * v;
} Found;

static bool new_match(EGraph *g, Arena *a, const EquationUse *use, const Match *m) {
    const Instance *i = &use->instance;
    size_t input = sizeof *m->input * (size_t)i->ninput,
           root = sizeof *m->root * (size_t)i->from.nout,
           symbol = sizeof *m->symbol * (size_t)i->nsymbol,
           real = sizeof *m->real * (size_t)i->nreal;
    char *key = arena_alloc(a, sizeof use + input + root + symbol + real), *at = key;
    uint32_t before = intern_count(g->applied);
    memcpy(at, &use, sizeof use), at += sizeof use;
    memcpy(at, m->input, input), at += input;
    memcpy(at, m->root, root), at += root;
    memcpy(at, m->symbol, symbol), at += symbol;
    memcpy(at, m->real, real), at += real;
    return intern_put(g->applied, key, (size_t)(at - key)) > before;
}

static bool collect_match(void *user, const Match *m) {
    Found *f = user;
    if (!new_match(f->g, f->arena, f->use, m)) return true;
    ARENA_GROW(f->arena, f->v, f->room, f->n + 1);
    f->v[f->n++] = (struct FoundMatch){f->use, match_keep(f->arena, m)};
    return --f->most > 0;
}

/* Nodes that are not outdated, what stands for each value, and the members of classes among
   them. */
static MatchClasses visible_classes(EGraph *g, Arena *a, uint64_t operators[4]) {
    uint32_t n = g->room;
    Value *root = ARENA_NEW(a, Value, n), *next = ARENA_NEW(a, Value, n);
    NodeList nodes = {0, ARENA_NEW(a, NodeId, g->nnode)};
    for (Value v = 1; v < n; v++)
        if (g->v[v].known) root[v] = egraph_find(g, v), next[v] = v;
    for (Value v = 1; v < n; v++) {
        if (!g->v[v].known || value_node(g->w, v) != v || g->v[v].outdated) continue;
        Node node = node_get(g->w, v);
        unsigned o = (unsigned)node.op_index;
        nodes.v[nodes.n++] = v;
        operators[o / 64 % 4] |= 1ull << o % 64;
        for (int k = 0; k < node.nout;
             k++) { /* into the ring of the class, after what stands for it */
            Value u = v + (Value)k, r = root[u];
            if (u != r) next[u] = next[r], next[r] = u;
        }
    }
    return (MatchClasses){nodes, root, next};
}

static void keep_application(EGraph *g, const EquationUse *use, const Match *m) {
    if (!g->record) return;
    ARENA_GROW(g->arena, g->application, g->application_room, g->napplication + 1);
    g->application[g->napplication++] = (EGraphApplication){use, match_keep(g->arena, m)};
    g->now = g->napplication;
}

static void unite_sides(EGraph *g, const EquationUse *use, const Match *m, const Value left[],
                        const Value right[]) {
    keep_application(g, use, m);
    for (int k = 0; k < use->instance.from.nout; k++) {
        egraph_add(g, left[k]);
        egraph_add(g, right[k]);
        egraph_unite(g, left[k], right[k], use);
    }
}

/* Both sides are made, so that every equality has its reason, and united. */
static void apply_equation(EGraph *g, const EquationUse *use, const Match *m) {
    ArenaMark mark = arena_mark(g->w->scratch);
    Error ignored = {0};
    Match back = *m;
    back.instance = &use->mirror;
    Value *left = ARENA_NEW(g->w->scratch, Value, use->instance.from.nout),
          *right = ARENA_NEW(g->w->scratch, Value, use->instance.from.nout);
    if (match_apply(g->w, g->w->scratch, g->facts, m, right, &ignored) &&
        match_apply(g->w, g->w->scratch, g->facts, &back, left, &ignored))
        unite_sides(g, use, m, left, right);
    g->now = 0;
    arena_reset(g->w->scratch, mark);
}

static bool operators_present(const EquationUse *u, const uint64_t there[4]) {
    for (int k = 0; k < 4; k++)
        if (u->operators[k] & ~there[k]) return false;
    return u->usable;
}

static bool one_round(EGraph *g, int n, const EquationUse use[], const bool on[],
                      EGraphLimits limits) {
    Arena *a = arena_new(arena_escape(g->arena), 0);
    uint64_t operators[4] = {0};
    MatchClasses classes = visible_classes(g, a, operators);
    Matcher *m = matcher_new_classes(g->w, a, &classes, g->facts);
    Found f = {.g = g, .arena = a};
    for (int k = 0; k < n; k++) {
        if ((on && !on[k]) || !operators_present(&use[k], operators)) continue;
        f.use = &use[k];
        f.most = limits.matches;
        matcher_run(m, &use[k].instance, collect_match, &f);
    }
    for (int merges = 0; merges < 2;
         merges++) /* what joins independent values, and always grows, comes last */
        for (int k = 0; k < f.n && g->live < limits.nodes; k++)
            if ((f.v[k].match.instance->from.nout > 1) == merges)
                apply_equation(g, f.v[k].use, &f.v[k].match);
    arena_free(a);
    egraph_rebuild(g);
    return f.n > 0;
}

bool egraph_saturate(EGraph *g, int n, const EquationUse use[], const bool on[],
                     EGraphLimits limits, EGraphDone done, void *user) {
    bool more = true;
    g->applied = intern_new(g->arena);
    egraph_rebuild(g);
    for (int r = 0; r < limits.rounds && more && g->live < limits.nodes && !(done && done(user, g));
         r++)
        more = one_round(g, n, use, on, limits);
    intern_free(g->applied);
    return !more;
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
    Intern *seen; /* edges */
} Explain;

static void explain_edge(Explain *x, Value from, bool backward) {
    const ClassEntry *e = &x->g->v[from];
    Value key[2] = {from < e->edge ? from : e->edge, from < e->edge ? e->edge : from};
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
         n = node_get(x->g->w, value_node(x->g->w, e->edge));
    for (int k = 0; k < m.nin && k < n.nin; k++) {
        Value other = n.in[e->reason == SWAPPED ? n.nin - 1 - k : k];
        if (m.in[k] == other) continue;
        ARENA_GROW(x->arena, x->pair, x->pair_room, x->npair + 1);
        x->pair[x->npair++] = (Pair){m.in[k], other};
    }
}

/* The way from a to b in the tree of reasons. */
static void explain_pair(Explain *x, Value a, Value b) {
    EGraph *g = x->g;
    uint32_t stamp = ++g->stamp;
    Value meet = b;
    for (Value v = a; v; v = g->v[v].edge) g->v[v].stamp = stamp;
    while (meet && g->v[meet].stamp != stamp) meet = g->v[meet].edge;
    for (Value v = a; v != meet; v = g->v[v].edge) explain_edge(x, v, false);
    for (Value v = b; v != meet; v = g->v[v].edge) explain_edge(x, v, true);
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
