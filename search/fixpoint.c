/* fixpoint.c -- applies rules wherever they match, or where a scope allows it, until nothing
   changes. */
#include "search/fixpoint.h"
#include "graphs/constants.h"
#include "search/outline.h"
#include <string.h>

/* Limits that make rules without a fixpoint end within seconds. WORK limits the sum of the World's
   nodes over all rounds, since each round takes time and memory in proportion to them. */
enum { PASSES = 64, GROWING_PASSES = 4, WORK = 100000000 };

static const uint8_t *scope_roles(const RuleScope *c, Value v) {
    return c->everywhere ? c->everywhere : v < c->n ? c->at[v] : NULL;
}

/* Whether the value restricts no rule: it belongs to no node of the file, or is a constant. */
static bool scope_neutral(const RuleScope *c, Value v) {
    return !c->everywhere && v && v < c->n && c->neutral[v];
}

/* Which nodes of a graph depend on which roots of matches; both are NULL until the first question.
   Pairs of roots come in any order, so the answers for all roots are kept. */
typedef struct Dependents {
    int *position;  /* by value: 1 + the position of its node among the live ones; 0: it is not */
    uint8_t **root; /* by root: a bit for each position; NULL: not determined yet */
} Dependents;

typedef struct MatchList {
    Derivation *d;
    Arena *arena;
    Uses uses;
    Dependents *dependents;
    const Constants *constants;
    const RuleScope *scope;
    int rule;
    int n, room;
    Match *v;
} MatchList;

/* Whether the node is so expensive that no rewriting may compute it a second time. */
static bool costly(World *w, const Node *n) {
    double flops = sig_flops(w, n->sig, (Sizes){0});
    return flops < 0 || flops > 0
               ? sig_kind(w, n->sig, 0) == SIG_OTHER || sig_kind(w, n->sig, 0) == SIG_REDUCTION
               : false;
}

static bool is_root(const Match *m, Value v) {
    return value_among(v, m->instance->from.nout, m->root);
}

/* Whether a result of `node`, one of `inner`, that is not a root of the match is an output, or is
   read by a node outside `inner`. */
static bool read_outside(const MatchList *c, const Match *m, const Node *node, NodeList inner) {
    for (int port = 0; port < node->nout; port++) {
        const Value v = node->out + (Value)port;
        if (is_root(m, v) || v >= c->uses.n) continue;
        if (c->uses.outputs[v] > 0) return true;
        for (int j = 0; j < c->uses.count[v]; j++)
            if (!value_among(c->uses.user[c->uses.first[v] + j], inner.n, inner.v)) return true;
    }
    return false;
}

static bool keeps_costly(const MatchList *c, const Match *m, NodeList inner) {
    for (int k = 0; k < inner.n; k++) {
        const Node node = node_get(c->d->w, inner.v[k]);
        if (read_outside(c, m, &node, inner) && costly(c->d->w, &node)) return true;
    }
    return false;
}

static bool bit_at(const uint8_t bits[], int k) { return bits[k / 8] >> k % 8 & 1; }

static void number_nodes(const MatchList *c, Dependents *x) {
    const NodeList live = c->constants->live;
    x->root = ARENA_NEW(c->arena, uint8_t *, value_last(c->d->w) + 1);
    x->position = ARENA_NEW(c->arena, int, value_last(c->d->w) + 1);
    for (int k = 0; k < live.n; k++) {
        const Node n = node_get(c->d->w, live.v[k]);
        for (int port = 0; port < n.nout; port++) x->position[n.out + (Value)port] = 1 + k;
    }
}

/* Returns a bit for each position: whether the node there is the root's or depends on it. */
static const uint8_t *root_dependents(const MatchList *c, Value root) {
    Dependents *x = c->dependents;
    const NodeList live = c->constants->live;
    if (!x->root) number_nodes(c, x);
    if (x->root[root]) return x->root[root];
    uint8_t *bits = x->root[root] = ARENA_NEW(c->arena, uint8_t, live.n / 8 + 1);
    const int from = x->position[root];
    bits[from / 8] |= (uint8_t)(1 << from % 8);
    for (int k = from + 1; k <= live.n; k++) {
        const Node n = node_get(c->d->w, live.v[k - 1]);
        for (int j = 0; j < n.nin; j++)
            if (bit_at(bits, x->position[n.in[j]])) bits[k / 8] |= (uint8_t)(1 << k % 8);
    }
    return bits;
}

/* Whether an input of the match depends on one of its roots, as in h = x W, y = tanh(h) W for a
   rule that merges products with one factor. Then that root would be computed as before, beside
   what the rule makes of it, and the rule would match again and again. */
static bool needs_own_root(const MatchList *c, const Match *m) {
    for (int k = 0; m->instance->from.nout > 1 && k < m->instance->from.nout; k++)
        for (int j = 0; j < m->instance->ninput; j++) {
            if (m->input[j] < m->root[k]) continue; /* nodes come after what they depend on */
            const uint8_t *bits = root_dependents(c, m->root[k]);
            if (bit_at(bits, c->dependents->position[m->input[j]])) return true;
        }
    return false;
}

/* Whether the rule may be applied to a match of these nodes, by its role at the nodes of the model
   from which they originate. */
static bool allowed(const MatchList *c, NodeList inner) {
    bool grown = false, seeds = true;
    for (int k = 0; k < inner.n && c->scope; k++) {
        /* After many rounds the way back to the origin is long, so it is only followed where it
           matters. */
        const Value origin = c->scope->everywhere ? 0 : derivation_origin(c->d, inner.v[k]);
        const uint8_t *role = scope_roles(c->scope, origin);
        if (scope_neutral(c->scope, origin)) continue;
        if (!role || role[c->rule] == ROLE_NONE) return false;
        grown |= derivation_step(c->d, inner.v[k]) >= 0;
        seeds &= role[c->rule] == ROLE_SEED;
    }
    return grown || seeds;
}

/* Whether the match only rewrites what earlier applications made of constants. That is folded in
   any case, so its form does not matter. */
static bool remakes_constants(const MatchList *c, const Match *m, NodeList inner) {
    for (int k = 0; k < m->instance->from.nout; k++)
        if (!constants_hold(c->constants, m->root[k])) return false;
    for (int k = 0; k < inner.n; k++)
        if (derivation_step(c->d, inner.v[k]) < 0) return false;
    return true;
}

static bool collect_match(void *user, const Match *m) {
    MatchList *c = user;
    World *w = c->d->w;
    ArenaMark mark = arena_mark(w->scratch);
    const NodeList inner = match_inner(w, w->scratch, m);
    const bool usable = !match_empty(w, m) && allowed(c, inner) && !keeps_costly(c, m, inner) &&
                        !remakes_constants(c, m, inner) && !needs_own_root(c, m);
    arena_reset(w->scratch, mark);
    if (!usable) return true;
    ARENA_GROW(c->arena, c->v, c->room, c->n + 1);
    c->v[c->n++] = match_keep(c->arena, m);
    return true;
}

static bool all_ordered(World *w, int n, const Match v[]) {
    for (int k = 0; k < n; k++)
        if (v[k].instance->from.nout > 1 || !match_ordered(w, &v[k])) return false;
    return true;
}

/* Applies all matches of an instance in one round. If they are not ordered, only the first match
   whose conditions hold is applied, in a round of its own. */
static bool apply_instance(Derivation *d, MatchList *c, int *applied, Error *e) {
    *applied = 0;
    if (!c->n) return true;
    if (all_ordered(d->w, c->n, c->v)) return derive_round(d, c->n, c->v, false, applied, e);
    for (int k = 0; k < c->n && !*applied; k++)
        if (!derive_round(d, 1, &c->v[k], false, applied, e)) return false;
    return true;
}

/* What is known of the derivation's graph; made anew after each round. */
typedef struct GraphState {
    Arena *arena; /* for all fields below, and for matches */
    Matcher *matcher;
    Uses uses;
    Dependents dependents;
    Constants constants;
    uint64_t work;   /* the sum of the World's nodes over the graphs so far: see WORK */
    int graphs;      /* number of graphs so far */
    int *idle_graph; /* by instance: number of the last graph in which it could not be applied */
} GraphState;

static void refresh_state(Derivation *d, GraphState *p) {
    arena_free(p->arena);
    p->work += value_last(d->w);
    p->graphs++;
    p->arena = arena_new(arena_escape(d->arena), 0);
    p->matcher = matcher_new(d->w, p->arena, &d->graph, d->facts);
    p->constants = constants_find(d->w, p->arena, &d->graph, NULL, NULL);
    p->uses = matcher_uses(p->matcher);
    p->dependents = (Dependents){0};
}

static MatchList list_matches(Derivation *d, GraphState *p, int rule, int instance,
                              const RuleScope *scope) {
    MatchList c = {.d = d,
                   .arena = p->arena,
                   .uses = p->uses,
                   .dependents = &p->dependents,
                   .constants = &p->constants,
                   .scope = scope,
                   .rule = rule};
    matcher_run(p->matcher, &d->library->instance[instance], collect_match, &c);
    return c;
}

static bool at_limit(const Derivation *d, const GraphState *p, const FixpointLimits *limits) {
    return d->applied >= limits->applications || p->work >= WORK ||
           (limits->over && limits->over(limits->user));
}

static bool fixpoint_rule(Derivation *d, GraphState *p, int r, const RuleScope *scope,
                          const FixpointLimits *limits, Error *e) {
    const LibraryRule *rule = &d->library->rule[r];
    for (int k = rule->first; k < rule->first + rule->count; k++) {
        int applied = matcher_has(p->matcher, d->library->needs[k]);
        bool merges = d->library->instance[k].from.nout > 1;
        while (applied && p->idle_graph[k] != p->graphs && !at_limit(d, p, limits)) {
            MatchList c = list_matches(d, p, r, k, scope);
            if (!apply_instance(d, &c, &applied, e)) return false;
            if (applied) refresh_state(d, p);
            else p->idle_graph[k] = p->graphs;
            if (!merges) break;
        }
    }
    return true;
}

/* Whether the rule may be applied at all now: a follower needs an earlier application. */
static bool may_fire(const Derivation *d, const RuleScope *scope, int r) {
    return d->applied || !scope || !scope->everywhere || scope->everywhere[r] != ROLE_FOLLOWER;
}

/* Applies all rules once, or all that tidy. */
static bool fixpoint_rules(Derivation *d, GraphState *p, const bool on[], bool tidying,
                           const RuleScope *scope, const FixpointLimits *limits, Error *e) {
    const Library *l = d->library;
    for (int r = 0; r < l->n; r++)
        if (on[r] && (!tidying || l->rule[r].tidies) && may_fire(d, scope, r) &&
            !fixpoint_rule(d, p, r, scope, limits, e))
            return false;
    return true;
}

/* Applies all rules once, then those that tidy as long as they can be. Otherwise rules that undo
   each other would leave remains, by which the graph would differ from an earlier one. */
static bool fixpoint_pass(Derivation *d, GraphState *p, const bool on[], const RuleScope *scope,
                          const FixpointLimits *limits, Error *e) {
    bool good = fixpoint_rules(d, p, on, false, scope, limits, e);
    for (int before = -1; good && before != d->applied;) {
        before = d->applied;
        good = fixpoint_rules(d, p, on, true, scope, limits, e);
    }
    return good;
}

/* ---- passes */

typedef struct PassEnd { /* state of the derivation at the end of a pass */
    uint32_t outline;
    Graph graph;
    int applied, nstep, nshared, nround;
    unsigned classes;
    int *fired;
    Value *map;
} PassEnd;

typedef struct Passes {
    Arena *arena;
    Intern *outlines;
    int nodes, growing;
    int n, room;
    PassEnd *v;
} Passes;

static void keep_pass(Passes *x, const Derivation *d, uint32_t outline) {
    ARENA_GROW(x->arena, x->v, x->room, x->n + 1);
    x->v[x->n++] =
        (PassEnd){.outline = outline,
                  .graph = d->graph,
                  .applied = d->applied,
                  .nstep = d->nstep,
                  .nshared = d->nshared,
                  .nround = d->log.n,
                  .classes = d->classes,
                  .fired = arena_copy(x->arena, d->fired, sizeof *d->fired * (size_t)d->library->n),
                  .map = arena_copy(x->arena, d->map.to, sizeof *d->map.to * (size_t)d->map.n)};
}

/* Takes the derivation back to the end of that pass. */
static void go_back(Derivation *d, const PassEnd *p) {
    d->undone |= d->applied && !p->applied;
    d->graph = p->graph;
    d->applied = p->applied, d->nstep = p->nstep, d->nshared = p->nshared, d->log.n = p->nround;
    d->classes = p->classes;
    memcpy(d->fired, p->fired, sizeof *d->fired * (size_t)d->library->n);
    memcpy(d->map.to, p->map, sizeof *d->map.to * (size_t)d->map.n);
    for (uint32_t v = 0; v < d->nmade; v++)
        if (d->made[v] > (uint32_t)d->nstep) d->made[v] = 0;
}

/* Whether another pass is made. Rules that undo each other may lead to a graph that was seen
   before, apart from its constants; then the derivation goes back to it. Or they leave more nodes
   behind in each pass; then it ends. */
static bool goes_on(Passes *x, const GraphState *p, Derivation *d) {
    const int nodes = p->constants.live.n;
    const uint32_t outline = graph_outline(d->w, x->outlines, &p->constants, &d->graph);
    for (int k = 0; k < x->n; k++)
        if (x->v[k].outline == outline) return go_back(d, &x->v[k]), false;
    x->growing = nodes > x->nodes ? x->growing + 1 : 0;
    x->nodes = nodes;
    keep_pass(x, d, outline);
    return x->growing <= GROWING_PASSES;
}

bool derive_fixpoint(Derivation *d, const bool on[], const RuleScope *scope, FixpointLimits limits,
                     Error *e) {
    d->limited = false;
    GraphState p = {0};
    bool good = true;
    Arena *a = arena_new(arena_escape(d->arena), 0);
    Passes x = {.arena = a, .outlines = intern_new(a)};
    p.idle_graph = ARENA_NEW(a, int, d->library->ninstance);
    refresh_state(d, &p);
    int pass = 0;
    while (good && !d->limited && goes_on(&x, &p, d)) {
        good = fixpoint_pass(d, &p, on, scope, &limits, e);
        d->limited = ++pass == PASSES || at_limit(d, &p, &limits);
    }
    intern_free(x.outlines);
    arena_free(a);
    arena_free(p.arena);
    return good;
}

static void see_matches(Derivation *d, GraphState *p, int r, const RuleScope *scope,
                        void (*seen)(void *, int, NodeList), void *user) {
    const LibraryRule *rule = &d->library->rule[r];
    for (int k = rule->first; k < rule->first + rule->count; k++) {
        if (!matcher_has(p->matcher, d->library->needs[k])) continue;
        const MatchList c = list_matches(d, p, r, k, scope);
        for (int i = 0; i < c.n; i++) seen(user, r, match_inner(d->w, p->arena, &c.v[i]));
    }
}

void fixpoint_next(Derivation *d, const bool on[], const RuleScope *scope,
                   void (*seen)(void *user, int rule, NodeList), void *user) {
    GraphState p = {0};
    refresh_state(d, &p);
    for (int r = 0; r < d->library->n; r++)
        if (on[r]) see_matches(d, &p, r, scope, seen, user);
    arena_free(p.arena);
}
