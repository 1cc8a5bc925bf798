/* egraph_saturate.c -- applies equations in an e-graph, round after round. All matches of a round
   are found first, in the graph as it was; then both sides of each match are added and united. */
#include "rules/match_apply.h"
#include "rules/egraph_inner.h"
#include <string.h>

/* The operators of a graph, as bits. Operators without inputs are left out, since the graph may
   have their result as a constant. */
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

typedef struct FoundMatch {
    const EquationUse *use;
    Match match;
} FoundMatch;
typedef struct Found {
    EGraph *g;
    Arena *arena;
    const EquationUse *use;
    int n, room, most;
    FoundMatch *v;
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
    f->v[f->n++] = (FoundMatch){f->use, match_keep(f->arena, m)};
    return --f->most > 0;
}

/* What matching sees: the nodes that are not outdated, the representative of each value, and the
   members of each class among the results of these nodes. */
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
        /* inserts u into the ring of its class, after the representative */
        for (int k = 0; k < node.nout; k++) {
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

/* Makes and unites both sides. The left side is made as well, so that every equality has its
   reason. */
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
    /* Equations with several results come last, since they join independent values and always make
       the graph grow. */
    for (int merges = 0; merges < 2; merges++)
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
