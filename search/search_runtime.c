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
#include "search/cost_model.h"
#include "search/repeat.h"
#include "search/saturate.h"
#include "search/trial.h"
#include <math.h>
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
    double bytes;  /* of its constants: a graph may have as many */
    bool grown;    /* some graph had more */
    FinishLimits limits;
    int nregion, nsolved;
    Region *region;
    int *at;           /* by region: its number among the solved ones */
    const char **hash; /* digest of what is solved, and how */
    Graph *start;
    const bool **constant; /* by input of the start: whether it is one */
    RegionSolution *solution;
    double *gain;   /* predicted, over all occurrences */
    double *growth; /* bytes of constants, likewise */
} RuntimeSearch;

typedef enum Take { TAKE_NOTHING, TAKE_BEST, TAKE_CHEAPEST } Take; /* of a solved region */
typedef struct RegionCandidate {
    Derivation made;
    Trial *trial; /* of the finished derivation */
} RegionCandidate;

static bool counts_nodes(const IsomerOptions *o) { return o->cost && !strcmp(o->cost, "nodes"); }

static double region_bytes(const RuntimeSearch *o, const Graph *g) {
    return graph_finished_bytes(o->r->w, g, o->part.constant, &o->limits);
}

/* A graph whose constants alone would make the file too large is worth nothing. */
static Price region_price(void *user, const Graph *g) {
    RuntimeSearch *o = user;
    Price p = {.seconds = HUGE_VAL};
    if (region_bytes(o, g) > o->bytes) return o->grown = true, p;
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

/* How often the region occurs. */
static int count_equal(const RuntimeSearch *o, const Region *region) {
    int n = 0;
    for (int k = 0; k < o->nregion; k++) n += !strcmp(o->region[k].hash, region->hash);
    return n;
}

static bool solve_region(RuntimeSearch *o, const Region *region) {
    Run *r = o->r;
    int k = o->nsolved++;
    o->hash[k] = region->hash;
    bool *loose = ARENA_NEW(r->arena, bool, region->nin);
    for (int j = 0; j < region->nin; j++)
        loose[j] = !region->constant[j] && !input_name(r->w, region->in[j]);
    o->part = (CostPart){region->constant, loose};
    o->constant[k] = region->constant;
    if (!region_graph(r->w, r->arena, region, &o->start[k], NULL, r->error)) return false;
    o->grown = false;
    o->bytes = region_bytes(o, &o->start[k]) + (double)r->growth / count_equal(o, region);
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
    if (o->grown)
        run_say(r, "some graphs of this region were not used: their constants are larger than the "
                   "file may grow by (--max-growth)");
    if (o->solution[k].cut)
        run_say(r,
                "rules match this region in more than %d places at once: the others were not tried",
                BACKTRACK_MATCHES);
    return !run_cancelled(r);
}

/* ---- the whole */

static bool solve_all(RuntimeSearch *o) {
    Run *r = o->r;
    o->hash = ARENA_NEW(r->arena, const char *, o->nregion);
    o->start = ARENA_NEW(r->arena, Graph, o->nregion);
    o->constant = ARENA_NEW(r->arena, const bool *, o->nregion);
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
    const RegionSolution **taken = ARENA_NEW(r->arena, const RegionSolution *, o->nregion);
    for (int k = 0; k < o->nregion; k++) taken[k] = solution_of(o, o->at[k], take[o->at[k]]);
    if (!repeat_solutions(r, o->nregion, o->region, taken, &from_start)) return false;
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

/* What gains most for the bytes that it adds, as long as the file may grow by them. */
static void take_fitting(const RuntimeSearch *o, Take take[]) {
    double left = (double)o->r->growth;
    bool *seen = ARENA_NEW(o->r->arena, bool, o->nsolved);
    for (int k = 0; k < o->nsolved; k++) take[k] = TAKE_NOTHING;
    for (int done = 0; done < o->nsolved; done++) {
        int next = -1;
        for (int k = 0; k < o->nsolved; k++)
            if (!seen[k] && (next < 0 || o->gain[k] * fmax(o->growth[next], 1) >
                                             o->gain[next] * fmax(o->growth[k], 1)))
                next = k;
        seen[next] = true;
        if (o->growth[next] > left) continue;
        take[next] = TAKE_CHEAPEST;
        left -= o->growth[next];
    }
}

/* The candidates: what prices alone prefer (the only one if just one is tried); everything that
   backtracking found; the cheapest solution everywhere; what the file may grow by of that; then
   everything except one region, and that region alone. */
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
    take_fitting(o, take[n]);
    propose(o, take, &n);
    for (int at; n < CANDIDATES && (at = most_gain(o, named)) >= 0; named[at] = true) {
        for (int k = 0; k < o->nsolved; k++) take[n][k] = k == at ? TAKE_NOTHING : TAKE_CHEAPEST;
        propose(o, take, &n);
        for (int k = 0; k < o->nsolved; k++) take[n][k] = k == at ? TAKE_CHEAPEST : TAKE_NOTHING;
        if (n < CANDIDATES) propose(o, take, &n);
    }
    return n;
}

/* Bytes by which a solution makes the constants of its region larger. */
static double growth_of(const RuntimeSearch *o, int k, const RegionSolution *s) {
    return graph_finished_bytes(o->r->w, &s->graph, o->constant[k], &o->limits) -
           graph_finished_bytes(o->r->w, &o->start[k], o->constant[k], &o->limits);
}

static void predict_gains(RuntimeSearch *o) {
    o->gain = ARENA_NEW(o->r->arena, double, o->nsolved);
    o->growth = ARENA_NEW(o->r->arena, double, o->nsolved);
    for (int k = 0; k < o->nregion; k++) {
        const int at = o->at[k];
        const RegionSolution *s = solution_of(o, at, TAKE_CHEAPEST);
        o->gain[at] += s->before.seconds - s->after.seconds;
        o->growth[at] += growth_of(o, at, s);
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
                            .limits = run_limits(r),
                            .cost = cost_new(r->w, r->arena, r->source.sizes, r->db, &o, r->error)};
    if (!search.cost) return false;
    bool good = search_regions(&search, d);
    r->stats.frozen_missing += cost_missing(search.cost);
    cost_free(search.cost);
    return good;
}
