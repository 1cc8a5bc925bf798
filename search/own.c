/* own.c -- search on the costs of our own plans: the graph is cut into regions, equal regions are solved once, each by backtracking, and the rounds that solve a region are made again in each of its
   occurrences, so that the proof log speaks of the whole graph. At the end the whole plan is timed beside the original's. */
#include "graphs/region.h"
#include "search/backtrack.h"
#include "search/cost.h"
#include "search/trial.h"
#include <string.h>

#define GAIN 0.97
#define ALPHA 1.05
enum { REGION = 200, PATIENCE = 6 };

typedef struct Own {
    Run *r;
    Cost *cost;
    const bool *constant; /* of the region's inputs */
    int nregion, nsolved;
    Region *region;
    const char **hash; /* of what is solved, and how */
    Graph *start;
    Solution *solution;
} Own;

static bool counts_nodes(const Run *r) { return r->o->cost && !strcmp(r->o->cost, "nodes"); }

static Price region_price(void *user, const Graph *g) {
    Own *o = user;
    Price p = {0};
    p.seconds = cost_graph(o->cost, g, o->constant, &p.nodes);
    if (counts_nodes(o->r)) p.seconds = p.nodes;
    return p;
}

static bool must_stop(void *user) {
    const Run *r = ((const Own *)user)->r;
    return (r->o->cancel && *r->o->cancel) || (r->o->time_limit > 0 && run_seconds(r) > r->o->time_limit);
}

static int solved(const Own *o, const char *hash) {
    for (int k = 0; k < o->nsolved; k++)
        if (!strcmp(o->hash[k], hash)) return k;
    return -1;
}

static bool solve(Own *o, const Region *region) {
    Run *r = o->r;
    int k = o->nsolved++;
    o->hash[k] = region->hash;
    o->constant = region->constant;
    if (!region_graph(r->w, r->arena, region, &o->start[k], NULL, r->error)) return false;
    const Backtrack b = {.w = r->w,
                         .arena = r->arena,
                         .facts = r->facts,
                         .library = &r->library,
                         .price = region_price,
                         .stop = must_stop,
                         .user = o,
                         .alpha = ALPHA,
                         .steps = r->o->steps - r->stats.steps,
                         .patience = PATIENCE};
    backtrack(&b, &o->start[k], &o->solution[k]);
    r->stats.steps += o->solution[k].steps;
    r->stats.candidates += o->solution[k].graphs;
    run_say(r, "region of %d nodes: %.3f -> %.3f ms, %d graphs", region->nnode, o->solution[k].before.seconds * 1e3,
            o->solution[k].after.seconds * 1e3, o->solution[k].graphs);
    return !run_cancelled(r);
}

/* ---- again in the whole graph */

/* What the values of a region's graph are in the whole one: base[k] stands for its input k. */
static bool image(Run *r, const Graph *g, const Value base[], ValueMap *map) {
    NodeList live = graph_live(r->w, r->w->scratch, g);
    map->n = node_count(r->w) + 1;
    map->to = ARENA_NEW(r->w->scratch, Value, map->n);
    for (int k = 0; k < g->nin; k++) map->to[g->in[k]] = base[k];
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(r->w, live.v[k]);
        const char *why = "";
        if (input_name(r->w, n.out)) continue;
        Value *in = ARENA_NEW(r->w->scratch, Value, n.nin);
        for (int j = 0; j < n.nin; j++) in[j] = map_value(map, n.in[j]);
        Value y = node_rebuild(r->w, n.out, in, &why);
        if (!y) return error_set(r->error, E_INVALID, n.op->name, "%s", why);
        for (int port = 0; port < n.nout; port++) map->to[n.out + (Value)port] = y + (Value)port;
    }
    return true;
}

static void translate(Run *r, const Match *m, const ValueMap *map, Match *out) {
    const Instance *i = m->instance;
    Value *in = ARENA_NEW(r->w->scratch, Value, i->ninput), *root = ARENA_NEW(r->w->scratch, Value, i->from.nout);
    for (int k = 0; k < i->ninput; k++) in[k] = map_value(map, m->input[k]);
    for (int k = 0; k < i->from.nout; k++) root[k] = map_value(map, m->root[k]);
    *out = *m;
    out->input = in;
    out->root = root;
}

static bool replay_round(Run *r, Derivation *d, const SolutionRound *x, const Value base[]) {
    ValueMap map;
    ArenaMark mark = arena_mark(r->w->scratch);
    bool good = image(r, &x->graph, base, &map);
    Match *match = ARENA_NEW(r->w->scratch, Match, x->n);
    for (int k = 0; good && k < x->n; k++) translate(r, &x->match[k], &map, &match[k]);
    good = good && derive_round(d, x->n, match, false, NULL, r->error);
    arena_reset(r->w->scratch, mark);
    return good;
}

static bool replay_region(Own *o, Derivation *d, const Region *region, const ValueMap *since) {
    const Solution *s = &o->solution[solved(o, region->hash)];
    Value *base = ARENA_NEW(o->r->arena, Value, region->nin);
    for (int k = 0; k < s->n; k++) {
        for (int j = 0; j < region->nin; j++) base[j] = map_value(since, region->in[j]);
        if (!replay_round(o->r, d, &s->round[k], base)) return false;
    }
    return true;
}

/* ---- the whole */

static bool solve_all(Own *o) {
    Run *r = o->r;
    o->hash = ARENA_NEW(r->arena, const char *, o->nregion);
    o->start = ARENA_NEW(r->arena, Graph, o->nregion);
    o->solution = ARENA_NEW(r->arena, Solution, o->nregion);
    for (int k = 0; k < o->nregion; k++)
        if (solved(o, o->region[k].hash) < 0 && !solve(o, &o->region[k])) return false;
    r->stats.regions = o->nregion;
    r->stats.regions_unique = o->nsolved;
    return true;
}

/* Times both models whole; where one does not run wholly the predictions decide. */
static bool compare_whole(Own *o, const Derivation *finished, bool *better) {
    Run *r = o->r;
    double seconds[2];
    int nodes[2];
    r->stats.own_before = cost_graph(o->cost, &r->original, NULL, &nodes[0]);
    r->stats.own_after = cost_graph(o->cost, &finished->graph, NULL, &nodes[1]);
    *better = counts_nodes(r) ? nodes[1] < nodes[0] : r->stats.own_after < GAIN * r->stats.own_before;
    if (!run_measures(r)) return true;
    if (!run_writable(r, finished)) {
        *better = false;
        return true;
    }
    Trial *t = trial_open(r, finished);
    bool good = t != NULL;
    if (good && trial_runs(t) && (good = trial_time(t, o->cost, seconds))) {
        r->stats.measured_before = seconds[0];
        r->stats.measured_after = seconds[1];
        *better = seconds[1] < GAIN * seconds[0];
    }
    trial_close(t);
    return good;
}

static bool search(Own *o, Derivation *d) {
    Run *r = o->r;
    const Graph start = d->graph;
    int64_t growth;
    bool better = false;
    o->nregion = regions_find(r->w, r->arena, &start, REGION, &o->region);
    if (!solve_all(o)) return false;
    Derivation from_start = derivation_new(r->w, r->arena, r->facts, &r->library, &start);
    for (int k = 0; k < o->nregion; k++)
        if (!replay_region(o, &from_start, &o->region[k], &from_start.map)) return false;
    if (!from_start.applied) return true;
    Derivation made = run_derivation(r);
    if (!derive_replay(&made, &from_start.log, r->error)) return false;
    *d = made;
    Derivation finished = made;
    if (!run_finish(r, &finished, &growth, r->error)) return false;
    if (!compare_whole(o, &finished, &better)) return false;
    if (!better) {
        *d = run_derivation(r);
        r->stats.measured_after = r->stats.measured_before;
        r->stats.own_after = r->stats.own_before;
    }
    return true;
}

bool run_own(Run *r, Derivation *d) {
    CostOptions o = {.measured = run_measures(r), .frozen = r->o->frozen, .backend = r->o->backend, .seed = r->o->seed};
    Own own = {.r = r, .cost = cost_new(r->w, r->arena, r->sizes, r->db, &o, r->error)};
    if (!own.cost) return false;
    bool good = search(&own, d);
    r->stats.frozen_missing += cost_missing(own.cost);
    cost_free(own.cost);
    return good;
}
