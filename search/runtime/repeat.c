/* repeat.c -- repeats the solutions of regions in the whole graph. The matches of a region's round
   are translated from the values of the region's graph to those of the whole graph and applied
   there, round by round, for all regions together. */
#include "search/runtime/repeat.h"

/* The matches of one round in all regions, translated to the whole graph. `map` leads from the
   values of the current region's graph to those of the whole graph; map.to is 0 for all other
   values. */
typedef struct Repeated {
    Run *r;
    Derivation *d;
    Arena *arena;
    ValueMap map;
    int n, room;
    Match *match;
} Repeated;

static void make_room(Repeated *x) {
    const uint32_t n = value_last(x->r->w) + 1;
    if (n <= x->map.n) return;
    x->map = (ValueMap){2 * n, ARENA_NEW(x->arena, Value, 2 * n)};
}

/* Maps the values of a region's graph to the whole graph; base[k] corresponds to its input k. */
static bool add_image(Repeated *x, const Graph *g, NodeList live, const Value base[]) {
    for (int k = 0; k < g->nin; k++) x->map.to[g->in[k]] = base[k];
    return nodes_substitute(x->r->w, x->r->w->scratch, live, &x->map, x->r->error);
}

static void forget_image(Repeated *x, const Graph *g, NodeList live) {
    for (int k = 0; k < g->nin; k++) x->map.to[g->in[k]] = 0;
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(x->r->w, live.v[k]);
        for (int port = 0; port < n.nout; port++) x->map.to[n.out + (Value)port] = 0;
    }
}

static void translate_match(Repeated *x, const Match *m) {
    const Instance *i = m->instance;
    ARENA_GROW(x->arena, x->match, x->room, x->n + 1);
    Match *out = &x->match[x->n++];
    Value *in = ARENA_NEW(x->arena, Value, i->ninput),
          *root = ARENA_NEW(x->arena, Value, i->from.nout);
    for (int k = 0; k < i->ninput; k++) in[k] = map_value(&x->map, m->input[k]);
    for (int k = 0; k < i->from.nout; k++) root[k] = map_value(&x->map, m->root[k]);
    *out = *m;
    out->input = in;
    out->root = root;
}

/* Appends the translated matches of a region's round. */
static bool gather_matches(Repeated *x, const Region *region, const RegionRound *round) {
    Run *r = x->r;
    ArenaMark mark = arena_mark(r->w->scratch);
    Value *base = ARENA_NEW(r->w->scratch, Value, region->nin);
    NodeList live = graph_live(r->w, r->w->scratch, &round->graph);
    make_room(x);
    for (int j = 0; j < region->nin; j++) base[j] = map_value(&x->d->map, region->in[j]);
    bool good = add_image(x, &round->graph, live, base);
    for (int k = 0; good && k < round->n; k++) translate_match(x, &round->match[k]);
    forget_image(x, &round->graph, live);
    arena_reset(r->w->scratch, mark);
    return good;
}

/* Applies round k of all regions at once, since they share no node. A match that needs a round of
   its own gets one afterwards. *more receives whether there was a round k. */
static bool repeat_round(Repeated *x, int n, const Region region[],
                         const RegionSolution *const solution[], int k, bool *more) {
    Run *r = x->r;
    bool *alone = ARENA_NEW(x->arena, bool, n), good = true;
    *more = false;
    for (int j = 0; good && j < n; j++) {
        if (!solution[j] || k >= solution[j]->n) continue;
        const int before = x->n;
        *more = true;
        good = gather_matches(x, &region[j], &solution[j]->round[k]);
        alone[j] = good && x->n == before + 1 && !match_ordered(r->w, &x->match[before]);
        if (alone[j]) x->n = before;
    }
    good = good && (!x->n || derive_round(x->d, x->n, x->match, false, NULL, r->error));
    for (int j = 0; good && j < n; j++) {
        if (!alone[j]) continue;
        x->n = 0;
        good = gather_matches(x, &region[j], &solution[j]->round[k]) &&
               derive_round(x->d, 1, x->match, false, NULL, r->error);
    }
    return good;
}

bool repeat_solutions(Run *r, int n, const Region region[], const RegionSolution *const solution[],
                      Derivation *d) {
    bool good = true, more = true;
    for (int k = 0; good && more; k++) {
        Arena *a = arena_new(r->escape, 0);
        Repeated x = {.r = r, .d = d, .arena = a};
        good = repeat_round(&x, n, region, solution, k, &more);
        arena_free(a);
    }
    return good;
}
