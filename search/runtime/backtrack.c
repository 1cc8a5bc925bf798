/* backtrack.c -- the backtracking search. A state is a graph, its price, and how it was made from
   its parent state: by matches of rules that were applied together. States wait in a heap, cheapest
   first.

   Expanding a state tries every match of every rule in its graph, each as a child of its own. One
   more child applies all matches that made the graph cheaper together, so that many independent
   gains take one step. A child is dropped if it was seen before (nodes are hash-consed, so equal
   graphs have equal output values) or costs at least alpha times the best state; the World is then
   reset to its state before the child was made. Invariant: the World holds the start graph, the
   states, and what they share. */
#include "search/runtime/backtrack.h"
#include "ops/base/heap.h"
#include "search/derive.h"

/* A graph counts as good as the best if it costs at most this many times as much. */
#define AS_GOOD 1.03
enum { DESCENTS = 16 }; /* rounds of descend */

typedef struct State {
    Graph graph;
    Price price;
    /* parent: index of the parent state; n: number of matches that made this state from it */
    int parent, n;
    const Match *match;
} State;

typedef struct Backtracking {
    const Backtrack *b;
    int n, room, best, steps, graphs; /* best: index of the state of least cost */
    State *state;
    Heap waiting; /* states that may be expanded, the cheapest first */
    Intern *seen; /* outputs of the states' graphs */
    bool cut;     /* RegionSolution.cut */
} Backtracking;

static bool cheaper(const void *search, int a, int b) {
    const Backtracking *s = search;
    const Price *x = &s->state[a].price, *y = &s->state[b].price;
    if (x->seconds != y->seconds) return x->seconds < y->seconds;
    return x->nodes != y->nodes ? x->nodes < y->nodes : a < b;
}

/* ---- states */

static size_t outputs_size(const Graph *g) { return sizeof *g->out * (size_t)g->nout; }

static void add_state(Backtracking *s, State x) {
    ARENA_GROW(s->b->arena, s->state, s->room, s->n + 1);
    s->state[s->n] = x;
    intern_put(s->seen, x.graph.out, outputs_size(&x.graph));
    if (cheaper(s, s->n, s->best)) s->best = s->n;
    heap_push(&s->waiting, s->n++);
}

/* Applies these matches. Returns false if they do not hold, change nothing, or lead to a known
   state. Graphs that did not become states are not remembered, because the node numbers of a freed
   graph are used again. */
static bool make_child(Backtracking *s, const Graph *from, int n, const Match match[], Graph *out) {
    const Backtrack *b = s->b;
    int applied;
    Error ignored = {0};
    Derivation d = derivation_bare(b->w, b->arena, b->facts, b->library, from);
    if (!derive_round(&d, n, match, false, &applied, &ignored) || !applied) return false;
    *out = d.graph;
    return !intern_find(s->seen, out->out, outputs_size(out));
}

/* Prices a child and adds it as a state if it is cheap enough. *gain receives whether it is cheaper
   than its parent. */
static void try_child(Backtracking *s, int parent, int n, const Match match[], bool *gain) {
    const Backtrack *b = s->b;
    WorldMark mark = world_mark(b->w);
    Graph child;
    *gain = false;
    if (!make_child(s, &s->state[parent].graph, n, match, &child)) {
        world_reset(b->w, mark);
        return;
    }
    Price price = b->price(b->user, &child);
    s->graphs++;
    *gain = price.seconds < s->state[parent].price.seconds;
    if (price.seconds < b->alpha * s->state[s->best].price.seconds)
        add_state(s, (State){child, price, parent, n, match});
    else world_reset(b->w, mark);
}

/* ---- one step */

typedef struct Found {
    World *w;
    /* arena: for what matches refer to; scratch: for the list while it grows */
    Arena *arena, *scratch;
    int n, room;
    Match *v;
    bool cut;
} Found;

static bool keep_match(void *user, const Match *m) {
    Found *f = user;
    if (match_empty(f->w, m)) return true;
    if (f->n == BACKTRACK_MATCHES) return f->cut = true, false;
    ARENA_GROW(f->scratch, f->v, f->room, f->n + 1);
    f->v[f->n++] = match_keep(f->arena, m);
    return true;
}

static Found find_matches(Backtracking *s, const Graph *g) {
    const Backtrack *b = s->b;
    Arena *a = arena_new(arena_escape(b->arena), 0);
    Found f = {.w = b->w, .arena = b->arena, .scratch = a};
    Matcher *m = matcher_new(b->w, a, g, b->facts);
    for (int r = 0; r < b->library->n; r++)
        for (int k = b->library->rule[r].first;
             b->library->rule[r].on && k < b->library->rule[r].first + b->library->rule[r].count;
             k++)
            matcher_run(m, &b->library->instance[k], keep_match, &f);
    /* States refer to these matches. */
    f.v = arena_copy(b->arena, f.v, sizeof *f.v * (size_t)f.n);
    arena_free(a);
    s->cut |= f.cut;
    return f;
}

static void expand_graph(Backtracking *s, int parent) {
    const Graph graph = s->state[parent].graph;
    Found f = find_matches(s, &graph);
    Match *gains = ARENA_NEW(s->b->arena, Match, f.n);
    int n = 0;
    bool gain;
    for (int k = 0; k < f.n; k++) {
        try_child(s, parent, 1, &f.v[k], &gain);
        if (gain) gains[n++] = f.v[k];
    }
    if (n > 1) try_child(s, parent, n, gains, &gain);
    s->steps++;
}

/* Applies all matches at once, round after round, as long as the graph costs less than alpha times
   the best. This quickly reaches what independent gains and their consequences lead to, before any
   choice is made. */
static void descend(Backtracking *s) {
    bool gain;
    for (int round = 0, at = 0; round < DESCENTS && at == s->n - 1; round++, at++) {
        Found f = find_matches(s, &s->state[at].graph);
        if (f.n) try_child(s, at, f.n, f.v, &gain);
    }
}

/* ---- the result */

/* Returns, of the states that cost at most 3 % more than the cheapest one, the state with the
   fewest nodes, then of least cost, then found first. */
static int choose_graph(const Backtracking *s) {
    int best = s->best;
    double limit = s->state[best].price.seconds * AS_GOOD;
    for (int k = 0; k < s->n; k++) {
        const Price *x = &s->state[k].price, *y = &s->state[best].price;
        if (x->seconds <= limit &&
            (x->nodes < y->nodes || (x->nodes == y->nodes && cheaper(s, k, best))))
            best = k;
    }
    return best;
}

static void trace(const Backtracking *s, int at, RegionSolution *out) {
    *out = (RegionSolution){.steps = s->steps,
                            .graphs = s->graphs,
                            .graph = s->state[at].graph,
                            .before = s->state[0].price,
                            .after = s->state[at].price,
                            .cut = s->cut};
    for (int k = at; k; k = s->state[k].parent) out->n++;
    out->round = ARENA_NEW(s->b->arena, RegionRound, out->n);
    for (int k = at, r = out->n; k; k = s->state[k].parent)
        out->round[--r] =
            (RegionRound){s->state[k].n, s->state[k].match, s->state[s->state[k].parent].graph};
}

void backtrack(const Backtrack *b, const Graph *start, RegionSolution *out) {
    Backtracking s = {.b = b, .seen = intern_new(b->arena)};
    s.waiting = (Heap){.arena = b->arena, .before = cheaper, .user = &s};
    int idle = 0;
    add_state(&s, (State){*start, b->price(b->user, start), 0, 0, NULL});
    descend(&s);
    /* The start is always expanded, regardless of patience: single matches may lead to a better
       graph than all of them together. */
    if (b->steps > 0 && !(b->stop && b->stop(b->user))) expand_graph(&s, 0);
    while (s.waiting.n && s.steps < b->steps && idle < b->patience &&
           !(b->stop && b->stop(b->user))) {
        int at = heap_pop(&s.waiting), best = s.best;
        if (at == 0 ||
            (s.state[at].price.seconds >= b->alpha * s.state[s.best].price.seconds && at != s.best))
            continue;
        expand_graph(&s, at);
        idle = s.best == best ? idle + 1 : 0;
    }
    const int best = choose_graph(&s);
    trace(&s, best, out);
    if (best != s.best) {
        RegionSolution *cheapest = ARENA_NEW(b->arena, RegionSolution, 1);
        trace(&s, s.best, cheapest);
        out->cheapest = cheapest;
    }
    intern_free(s.seen);
}
