/* search_runtime.c -- the search for the built-in runtime, by the costs of its plans. The graph is
   cut into regions. Equal regions are solved once, by backtracking, and the rounds of the solution
   are repeated in each occurrence of the region, so that the proof log is about the whole graph.
   Prices of parts are only estimates. So in the end a few candidates for the whole graph, which
   differ in the regions that are left unchanged, are timed alongside the original, and the fastest
   is taken. */
#include "search/runtime/search_runtime.h"
#include "search/cost_model.h"
#include "search/runtime/repeat.h"
#include "search/runtime/search_runtime_inner.h"
#include "search/check/trial.h"
#include <math.h>
#include <string.h>

enum {
    REGION = 200, /* nodes of a region, at most */
    /* Bytes of constants that the further candidates may hold in memory together. */
    CONSTANTS = 64 << 20
};
typedef struct RegionCandidate {
    Derivation made;
    Trial *trial; /* original and result of the finished derivation */
} RegionCandidate;

/* ---- candidates */

/* Derives a candidate from the model: *made as rules make it, *finished as it is written. *usable
   receives whether it differs from the model and can be written; where it does not differ, *made
   stays as it was. */
static bool derive_taken(RuntimeSearch *o, const Take take[], Derivation *made,
                         Derivation *finished, bool *usable) {
    Run *r = o->r;
    Error why = {0};
    *usable = false;
    Derivation from_start =
        derivation_new(r->w, r->arena, r->source.facts, &r->library, &r->source.start);
    const RegionSolution **taken = ARENA_NEW(r->arena, const RegionSolution *, o->nregion);
    for (int k = 0; k < o->nregion; k++)
        taken[k] = search_solution(o, o->solved_of[k], take[o->solved_of[k]]);
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

/* ---- the choice */

/* Chooses by prices alone, if nothing is timed or the model does not run completely. */
static void choose_by_price(RuntimeSearch *o, const Derivation *finished, bool *better) {
    RunStats *s = &o->r->stats;
    int nodes[2];
    const double before = cost_graph(o->cost, &o->r->source.original, NULL, &nodes[0]),
                 after = cost_graph(o->cost, &finished->graph, NULL, &nodes[1]);
    *better = search_counts_nodes(o->r->o) ? nodes[1] < nodes[0] : after < RUN_GAIN * before;
    /* An estimate for the whole model is not a sum of measured prices, so it is not reported. */
    if (run_measures(o->r->o) && !cost_kinds(o->cost, &o->r->source.original, NULL, NULL)) return;
    s->predicted_before = before;
    s->predicted_after = after;
}

/* Times the candidates alongside the original. *best receives the fastest; -1: none gains enough.
   The least of several noisy times is too optimistic, so the best of many candidates is timed once
   more, against the original alone, and that time counts. */
static bool choose_by_time(RuntimeSearch *o, int n, RegionCandidate *v, int *best) {
    Run *r = o->r;
    Trial *trial[CANDIDATES];
    double seconds[CANDIDATES + 1], predicted[CANDIDATES + 1];
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
        double unused[2]; /* the predictions, which are known */
        if (!trial_time(1, &trial[*best], o->cost, seconds, unused, r->error)) return false;
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

/* Decides by prices between one candidate and the original, because whole models cannot be timed:
   the model does not run completely, or not on random data. */
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
    int n = 0, nunusable = 0, best = -1;
    Derivation finished[CANDIDATES];
    for (int k = 0; k < nproposed; k++) {
        bool usable;
        v[n].made.applied = 0;
        if (!derive_taken(o, take[k], &v[n].made, &finished[n], &usable)) return false;
        nunusable += !usable && v[n].made.applied;
        if (!usable) continue;
        if (run_measures(r->o) && !(v[n].trial = trial_open(r, &finished[n]))) return false;
        *nv = n + 1;
        if (!v[n].trial || !trial_runs(v[n].trial)) {
            take_by_price(o, &v[n], &finished[n], d);
            return true;
        }
        n++;
    }
    if (!n) {
        if (run_measures(r->o))
            r->stats.reason = nunusable ? "no candidate can be written or grows little enough "
                                          "(--max-growth), so nothing was timed"
                                        : "no candidate was found, so nothing was timed";
        return true;
    }
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
    if (!search_solve_regions(o)) return false;
    int proposed = search_propose(o, take);
    int64_t fit = 1 + CONSTANTS / (graph_constant_bytes(r->w, &r->source.original) + 1);
    if (proposed > fit) proposed = (int)fit;
    bool good = pick_measured(o, proposed, take, v, &n, d);
    for (int k = 0; k < n; k++) trial_close(v[k].trial);
    return good;
}

bool search_runtime(Run *r, Derivation *d) {
    const CostOptions o = run_cost_options(r);
    const double limit = r->o->time_limit;
    RuntimeSearch search = {.r = r,
                            .limits = run_finish_limits(r),
                            .stop =
                                stop_open(r, r->o->backend, "steps", limit > 0 ? limit : HUGE_VAL),
                            .cost = cost_new(r->w, r->arena, r->source.sizes, r->db, &o, r->error)};
    if (!search.cost) return false;
    bool good = search_regions(&search, d);
    r->stats.frozen_missing += cost_missing(search.cost);
    cost_free(search.cost);
    return good;
}
