/* search_runtime.c -- search by the costs of the built-in runtime's plans. The graph is cut into
   regions; equal regions are solved once, by backtracking, and the rounds that solve a region are
   repeated in each of its occurrences, so that the proof log is about the whole graph. Prices of
   parts are only estimates: in the end a few candidates for the whole graph, which differ in the
   regions that are left unchanged, are timed alongside the original, and the fastest is taken. */
#include "graphs/region.h"
#include "search/search_runtime.h"
#include "search/finish.h"
#include "search/backtrack.h"
#include "search/cost.h"
#include "search/saturate.h"
#include "search/trial.h"
#include <string.h>

#define ALPHA 1.05 /* of Backtrack */
enum {
    REGION = 200,   /* nodes of a region, at most */
    PATIENCE = 6,   /* of Backtrack */
    CANDIDATES = 6, /* whole models that are timed, at most */
    SATURATE_ROUNDS = 8,
    SATURATE_NODES = 3000,
    SATURATE_MATCHES = 200,
    CONSTANTS = 64 << 20 /* bytes of constants that the candidates may hold in memory, in addition
                            to those of the first */
};

typedef struct RuntimeSearch {
    Run *r;
    Cost *cost;
    CostPart part; /* the region that is being solved */
    int nregion, nsolved;
    Region *region;
    int *at;           /* by region: its number among the solved ones */
    const char **hash; /* digest of what is solved, and how */
    Graph *start;
    RegionSolution *solution;
    double *gain; /* predicted, over all occurrences */
} RuntimeSearch;

typedef enum Take { TAKE_NOTHING, TAKE_BEST, TAKE_CHEAPEST } Take; /* of a solved region */
typedef struct RegionCandidate {
    Derivation made;
    Trial *trial; /* of the finished derivation */
} RegionCandidate;

static bool counts_nodes(const IsomerOptions *o) { return o->cost && !strcmp(o->cost, "nodes"); }

static Price region_price(void *user, const Graph *g) {
    RuntimeSearch *o = user;
    Price p = {0};
    p.seconds = cost_graph(o->cost, g, &o->part, &p.nodes);
    if (counts_nodes(o->r->o)) p.seconds = p.nodes;
    return p;
}

static double node_price(void *user, const Node *n) {
    const RuntimeSearch *o = user;
    return counts_nodes(o->r->o) ? 1 : cost_node(o->r->w, n, o->r->source.sizes);
}

static bool must_stop(void *user) {
    const Run *r = ((const RuntimeSearch *)user)->r;
    return run_signalled(r) || (r->o->time_limit > 0 && run_seconds(r) > r->o->time_limit);
}

static int solution_index(const RuntimeSearch *o, const char *hash) {
    for (int k = 0; k < o->nsolved; k++)
        if (!strcmp(o->hash[k], hash)) return k;
    return -1;
}

static const RegionSolution *solution_of(const RuntimeSearch *o, int k, Take take) {
    const RegionSolution *s = &o->solution[k];
    return take == TAKE_NOTHING ? NULL : take == TAKE_CHEAPEST && s->cheapest ? s->cheapest : s;
}

static void count_work(RunStats *stats, const RegionSolution *s) {
    stats->steps += s->steps;
    stats->candidates += s->graphs;
}

/* By the algorithms that --search names. With `both`, the cheaper result counts; where whole models
   are timed, both results are candidates. They share one budget of steps. */
static void solve_by(RuntimeSearch *o, Backtrack b, int k) {
    const char *how = o->r->o->search ? o->r->o->search : "backtrack";
    bool both = !strcmp(how, "both");
    RegionSolution other;
    Saturate s = {{SATURATE_ROUNDS, SATURATE_NODES, SATURATE_MATCHES}, node_price};
    if (strcmp(how, "egraph") != 0) backtrack(&b, &o->start[k], &o->solution[k]);
    count_work(&o->r->stats, &o->solution[k]);
    if (!strcmp(how, "backtrack")) return;
    b.steps -= o->solution[k].steps;
    saturate(&b, &s, &o->start[k], &other);
    count_work(&o->r->stats, &other);
    run_say(o->r, "e-graph: %.3f -> %.3f ms, %d rule applications", other.before.seconds * 1e3,
            other.after.seconds * 1e3, other.steps);
    const bool cheaper = other.after.seconds < solution_of(o, k, TAKE_CHEAPEST)->after.seconds;
    if (!both || (cheaper && !run_measures(o->r->o))) o->solution[k] = other;
    else if (cheaper) o->solution[k].cheapest = arena_copy(o->r->arena, &other, sizeof other);
}

static bool solve_region(RuntimeSearch *o, const Region *region) {
    Run *r = o->r;
    int k = o->nsolved++;
    o->hash[k] = region->hash;
    bool *loose = ARENA_NEW(r->arena, bool, region->nin);
    for (int j = 0; j < region->nin; j++)
        loose[j] = !region->constant[j] && !input_name(r->w, region->in[j]);
    o->part = (CostPart){region->constant, loose};
    if (!region_graph(r->w, r->arena, region, &o->start[k], NULL, r->error)) return false;
    const Backtrack b = {.w = r->w,
                         .arena = r->arena,
                         .facts = r->source.facts,
                         .library = &r->library,
                         .price = region_price,
                         .stop = must_stop,
                         .user = o,
                         .alpha = ALPHA,
                         .steps = r->o->steps - r->stats.steps,
                         .patience = PATIENCE};
    solve_by(o, b, k);
    run_say(r, "region of %d nodes: %.3f -> %.3f ms, %d graphs", region->nnode,
            o->solution[k].before.seconds * 1e3, o->solution[k].after.seconds * 1e3,
            o->solution[k].graphs);
    if (o->solution[k].cut)
        run_say(r,
                "rules match this region in more than %d places at once: the others were not tried",
                BACKTRACK_MATCHES);
    return !run_cancelled(r);
}

/* ---- repeated in the whole graph */

/* Matches of one round in regions of the whole graph, and the values there that correspond to those
   of a region's graph; map.to is 0 except for the current region. */
typedef struct Repeated {
    Run *r;
    Derivation *d;
    Arena *arena;
    ValueMap map;
    int n, room;
    Match *match;
} Repeated;

static void make_room(Repeated *x) {
    const uint32_t n = node_count(x->r->w) + 1;
    if (n <= x->map.n) return;
    x->map = (ValueMap){2 * n, ARENA_NEW(x->arena, Value, 2 * n)};
}

/* base[k] corresponds to the graph's input k. */
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

/* Appends the matches of a region's round. */
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

/* Round k of all regions at once, since they share no node; a match that needs a round of its own
   gets one after them. *more: there was a round k. */
static bool repeat_round(RuntimeSearch *o, Derivation *d, const Take take[], int k, Arena *a,
                         bool *more) {
    Repeated x = {.r = o->r, .d = d, .arena = a};
    bool *alone = ARENA_NEW(a, bool, o->nregion), good = true;
    *more = false;
    for (int j = 0; good && j < o->nregion; j++) {
        const RegionSolution *s = solution_of(o, o->at[j], take[o->at[j]]);
        if (!s || k >= s->n) continue;
        const int before = x.n;
        *more = true;
        good = gather_matches(&x, &o->region[j], &s->round[k]);
        alone[j] = good && x.n == before + 1 && !match_ordered(o->r->w, &x.match[before]);
        if (alone[j]) x.n = before;
    }
    good = good && (!x.n || derive_round(d, x.n, x.match, false, NULL, o->r->error));
    for (int j = 0; good && j < o->nregion; j++) {
        if (!alone[j]) continue;
        x.n = 0;
        good = gather_matches(&x, &o->region[j],
                              &solution_of(o, o->at[j], take[o->at[j]])->round[k]) &&
               derive_round(d, 1, x.match, false, NULL, o->r->error);
    }
    return good;
}

static bool repeat_regions(RuntimeSearch *o, Derivation *d, const Take take[]) {
    bool good = true, more = true;
    for (int k = 0; good && more; k++) {
        Arena *a = arena_new(o->r->escape, 0);
        good = repeat_round(o, d, take, k, a, &more);
        arena_free(a);
    }
    return good;
}

/* ---- the whole */

static bool solve_all(RuntimeSearch *o) {
    Run *r = o->r;
    o->hash = ARENA_NEW(r->arena, const char *, o->nregion);
    o->start = ARENA_NEW(r->arena, Graph, o->nregion);
    o->solution = ARENA_NEW(r->arena, RegionSolution, o->nregion);
    o->at = ARENA_NEW(r->arena, int, o->nregion);
    for (int k = 0; k < o->nregion; k++) {
        o->at[k] = solution_index(o, o->region[k].hash);
        if (o->at[k] >= 0) continue;
        o->at[k] = o->nsolved;
        if (!solve_region(o, &o->region[k])) return false;
    }
    r->stats.regions = o->nregion;
    r->stats.regions_unique = o->nsolved;
    return true;
}

/* ---- candidates */

/* The derivation of a candidate, as rules made it and finished, starting from the model. *usable:
   it differs from the model and can be written. */
static bool derive_taken(RuntimeSearch *o, const Take take[], Derivation *made,
                         Derivation *finished, bool *usable) {
    Run *r = o->r;
    Error why = {0};
    *usable = false;
    Derivation from_start =
        derivation_new(r->w, r->arena, r->source.facts, &r->library, &r->source.start);
    if (!repeat_regions(o, &from_start, take)) return false;
    if (!from_start.applied) return true;
    *made = run_derivation(&r->source, &r->library, r->w, r->arena);
    if (!derive_replay(made, &from_start.log, r->error)) return false;
    *finished = *made;
    *usable =
        run_finish(r, finished, &why) && run_writable(r, finished) && run_fits(r, finished, &why);
    if (why.kind) run_say(r, "a candidate is dropped: %s: %s", why.place, why.reason);
    return true;
}

static bool same_takes(const RuntimeSearch *o, const Take a[], const Take b[]) {
    bool same = true;
    for (int k = 0; k < o->nsolved; k++) same &= solution_of(o, k, a[k]) == solution_of(o, k, b[k]);
    return same;
}

/* Keeps candidate *n unless an earlier one is the same. */
static void propose(const RuntimeSearch *o, Take *take[], int *n) {
    for (int k = 0; k < *n; k++)
        if (same_takes(o, take[k], take[*n])) return;
    ++*n;
}

/* The region with the largest predicted gain among those not listed yet; -1: none. */
static int most_gain(const RuntimeSearch *o, const bool named[]) {
    int most = -1;
    for (int k = 0; k < o->nsolved; k++)
        if (!named[k] && solution_of(o, k, TAKE_CHEAPEST)->n &&
            (most < 0 || o->gain[k] > o->gain[most]))
            most = k;
    return most;
}

/* What prices alone prefer: the cheapest solution, where it is at least 3 % cheaper than the one of
   fewest nodes. */
static Take preferred_take(const RuntimeSearch *o, int k) {
    const RegionSolution *s = &o->solution[k];
    return s->cheapest && s->cheapest->after.seconds < RUN_GAIN * s->after.seconds ? TAKE_CHEAPEST
                                                                                   : TAKE_BEST;
}

/* The candidates: what prices alone prefer (the only one if just one is tried); everything that
   backtracking found; the cheapest solution everywhere; then everything except one region, and that
   region alone. */
static int proposals(RuntimeSearch *o, Take *take[CANDIDATES + 1]) {
    Arena *a = o->r->arena;
    int n = 0;
    bool *named = ARENA_NEW(a, bool, o->nsolved);
    for (int k = 0; k <= CANDIDATES; k++) take[k] = ARENA_NEW(a, Take, o->nsolved);
    for (int k = 0; k < o->nsolved; k++) take[0][k] = preferred_take(o, k);
    n = 1;
    for (Take all = TAKE_BEST; all <= TAKE_CHEAPEST; all++) {
        for (int k = 0; k < o->nsolved; k++) take[n][k] = all;
        propose(o, take, &n);
    }
    for (int at; n < CANDIDATES && (at = most_gain(o, named)) >= 0; named[at] = true) {
        for (int k = 0; k < o->nsolved; k++) take[n][k] = k == at ? TAKE_NOTHING : TAKE_CHEAPEST;
        propose(o, take, &n);
        for (int k = 0; k < o->nsolved; k++) take[n][k] = k == at ? TAKE_CHEAPEST : TAKE_NOTHING;
        if (n < CANDIDATES) propose(o, take, &n);
    }
    return n;
}

static void predict_gains(RuntimeSearch *o) {
    o->gain = ARENA_NEW(o->r->arena, double, o->nsolved);
    for (int k = 0; k < o->nregion; k++) {
        const RegionSolution *s = solution_of(o, o->at[k], TAKE_CHEAPEST);
        o->gain[o->at[k]] += s->before.seconds - s->after.seconds;
    }
}

/* ---- the choice */

/* By prices alone, if nothing is timed or the model does not run completely. */
static void choose_by_price(RuntimeSearch *o, const Derivation *finished, bool *better) {
    RunStats *s = &o->r->stats;
    int nodes[2];
    const double before = cost_graph(o->cost, &o->r->source.original, NULL, &nodes[0]),
                 after = cost_graph(o->cost, &finished->graph, NULL, &nodes[1]);
    *better = counts_nodes(o->r->o) ? nodes[1] < nodes[0] : after < RUN_GAIN * before;
    /* An estimate for the whole model is not a sum of measured prices. */
    if (run_measures(o->r->o) && !cost_kinds(o->cost, &o->r->source.original, NULL, NULL)) return;
    s->predicted_before = before;
    s->predicted_after = after;
}

/* The fastest of those that run, timed alongside the original; -1: none gains enough. The least of
   several noisy times is too optimistic, so the best of many is timed once more, against the
   original alone, and that time counts. */
static bool choose_by_time(RuntimeSearch *o, int n, RegionCandidate *v, int *best) {
    Run *r = o->r;
    Trial *trial[CANDIDATES];
    double seconds[CANDIDATES + 1], predicted[CANDIDATES + 1], again[2];
    for (int k = 0; k < n; k++) trial[k] = v[k].trial;
    if (!trial_time(n, trial, o->cost, seconds, predicted, r->error)) return false;
    *best = -1;
    for (int k = 0; k < n; k++) {
        run_say(r, "candidate %d of %d rule applications: %.3f -> %.3f ms", k + 1,
                v[k].made.applied, seconds[0] * 1e3, seconds[1 + k] * 1e3);
        if (seconds[1 + k] < RUN_GAIN * seconds[0] &&
            (*best < 0 || seconds[1 + k] < seconds[1 + *best]))
            *best = k;
    }
    double after = *best < 0 ? seconds[0] : seconds[1 + *best];
    if (*best >= 0 && n > 1) {
        if (!trial_time(1, &trial[*best], o->cost, seconds, again, r->error)) return false;
        after = seconds[1];
        run_say(r, "candidate %d once more: %.3f -> %.3f ms", *best + 1, seconds[0] * 1e3,
                after * 1e3);
        if (after >= RUN_GAIN * seconds[0]) *best = -1;
    }
    r->stats.measured_before = seconds[0];
    r->stats.measured_after = *best < 0 ? seconds[0] : after;
    r->stats.predicted_before = predicted[0];
    r->stats.predicted_after = predicted[1 + (*best < 0 ? 0 : *best)];
    r->stats.cost_fault = cost_fault(o->cost);
    return true;
}

/* Only one candidate if whole models cannot be timed: not all of the model runs, or not on random
   data. */
static void take_by_price(RuntimeSearch *o, const RegionCandidate *v, const Derivation *finished,
                          Derivation *d) {
    bool better = false;
    choose_by_price(o, finished, &better);
    if (better) *d = v->made;
    else run_keep_original(o->r, d);
}

static bool pick_measured(RuntimeSearch *o, int nproposed, Take *const take[], RegionCandidate *v,
                          int *nv, Derivation *d) {
    Run *r = o->r;
    int n = 0, best = -1;
    Derivation finished[CANDIDATES];
    for (int k = 0; k < nproposed; k++) {
        bool usable;
        if (!derive_taken(o, take[k], &v[n].made, &finished[n], &usable)) return false;
        if (!usable) continue;
        if (run_measures(r->o) && !(v[n].trial = trial_open(r, &finished[n]))) return false;
        *nv = n + 1;
        if (!v[n].trial || !trial_runs(v[n].trial)) {
            take_by_price(o, &v[n], &finished[n], d);
            return true;
        }
        n++;
    }
    if (!n) return true;
    if (!choose_by_time(o, n, v, &best)) {
        if (!cost_refused(o->cost)) return false;
        run_say(r, "whole models are not timed: %s: %s", r->error->place, r->error->reason);
        *r->error = (Error){0};
        take_by_price(o, &v[0], &finished[0], d);
        return true;
    }
    if (best >= 0) *d = v[best].made;
    else run_keep_original(r, d);
    return true;
}

static bool search_regions(RuntimeSearch *o, Derivation *d) {
    Run *r = o->r;
    Take *take[CANDIDATES + 1];
    RegionCandidate *v = ARENA_NEW(r->arena, RegionCandidate, CANDIDATES);
    int n = 0;
    o->nregion = regions_find(r->w, r->arena, &r->source.start, REGION, &o->region);
    if (!solve_all(o)) return false;
    predict_gains(o);
    int proposed = proposals(o, take);
    int64_t fit = 1 + CONSTANTS / (graph_constant_bytes(r->w, &r->source.original) + 1);
    if (proposed > fit) proposed = (int)fit;
    bool good = pick_measured(o, proposed, take, v, &n, d);
    for (int k = 0; k < n; k++) trial_close(v[k].trial);
    return good;
}

bool search_runtime(Run *r, Derivation *d) {
    CostOptions o = {.measured = run_measures(r->o),
                     .frozen = r->o->frozen,
                     .backend = r->o->backend,
                     .backend_options = r->o->backend_options,
                     .threads = r->o->threads,
                     .seed = r->seed,
                     .weights = cost_weights(r->w, &r->source.original, r->source.sizes)};
    RuntimeSearch search = {.r = r,
                            .cost = cost_new(r->w, r->arena, r->source.sizes, r->db, &o, r->error)};
    if (!search.cost) return false;
    bool good = search_regions(&search, d);
    r->stats.frozen_missing += cost_missing(search.cost);
    cost_free(search.cost);
    return good;
}
