/* propose.c -- proposes which of the graphs found for the regions are combined into a candidate for
   the whole model. */
#include "search/runtime/search_runtime_inner.h"
#include <math.h>

static bool same_takes(const RuntimeSearch *o, const Take a[], const Take b[]) {
    bool same = true;
    for (int k = 0; k < o->nsolved; k++)
        same &= search_solution(o, k, a[k]) == search_solution(o, k, b[k]);
    return same;
}

/* Keeps candidate *n unless an earlier one is the same. */
static void propose(const RuntimeSearch *o, Take *take[], int *n) {
    for (int k = 0; k < *n; k++)
        if (same_takes(o, take[k], take[*n])) return;
    ++*n;
}

/* Returns the region with the largest predicted gain among those not named yet; -1: none. */
static int most_gain(const RuntimeSearch *o, const bool named[]) {
    int most = -1;
    for (int k = 0; k < o->nsolved; k++)
        if (!named[k] && search_solution(o, k, TAKE_CHEAPEST)->n &&
            (most < 0 || o->gain[k] > o->gain[most]))
            most = k;
    return most;
}

/* Returns what prices alone prefer: the cheapest solution if it is at least 3 % cheaper than the
   one with the fewest nodes. */
static Take preferred_take(const RuntimeSearch *o, int k) {
    const RegionSolution *s = &o->solution[k];
    return s->cheapest && s->cheapest->after.seconds < RUN_GAIN * s->after.seconds ? TAKE_CHEAPEST
                                                                                   : TAKE_BEST;
}

/* Takes the regions that gain most for the bytes that they add, as long as the file may grow by
   them. */
static void take_fitting(const RuntimeSearch *o, Take take[]) {
    double left = (double)o->r->growth_limit;
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

/* Returns the bytes by which a solution makes the constants of its region larger. */
static double growth_of(const RuntimeSearch *o, int k, const RegionSolution *s) {
    return graph_finished_bytes(o->r->w, &s->graph, o->constant[k], &o->limits) -
           graph_finished_bytes(o->r->w, &o->start[k], o->constant[k], &o->limits);
}

static void predict_gains(RuntimeSearch *o) {
    o->gain = ARENA_NEW(o->r->arena, double, o->nsolved);
    o->growth = ARENA_NEW(o->r->arena, double, o->nsolved);
    for (int k = 0; k < o->nregion; k++) {
        const int at = o->solved_of[k];
        const RegionSolution *s = search_solution(o, at, TAKE_CHEAPEST);
        o->gain[at] += s->before.seconds - s->after.seconds;
        o->growth[at] += growth_of(o, at, s);
    }
}

/* After the first candidate come everything that backtracking found; the cheapest solution
   everywhere; as much of that as the file may grow by; then, for each region in turn, everything
   except this region, and this region alone. */
int search_propose(RuntimeSearch *o, Take *take[CANDIDATES + 1]) {
    Arena *a = o->r->arena;
    int n = 0;
    predict_gains(o);
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
