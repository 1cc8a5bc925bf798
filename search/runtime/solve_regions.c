/* solve_regions.c -- solves each region of the model once, however often it occurs: by backtracking
   or in an e-graph, as --search says. */
#include "search/cost_model.h"
#include "search/runtime/saturate.h"
#include "search/runtime/search_runtime_inner.h"
#include <math.h>
#include <string.h>

#define ALPHA 1.05 /* Backtrack.alpha */
enum {
    PATIENCE = 6, /* Backtrack.patience */
    SATURATE_ROUNDS = 8,
    SATURATE_NODES = 3000,
    SATURATE_MATCHES = 200
};
typedef struct Solving { /* the region that is being solved */
    RuntimeSearch *search;
    CostPart part;
    double bytes; /* bytes of constants that a graph of the region may have */
    bool grown;   /* some graph had more and was rejected */
} Solving;

bool search_counts_nodes(const IsomerOptions *o) { return o->cost && !strcmp(o->cost, "nodes"); }

static double region_bytes(const Solving *v, const Graph *g) {
    const RuntimeSearch *o = v->search;
    return graph_finished_bytes(o->r->w, g, v->part.constant, &o->limits);
}

/* Prices a graph of the region. A graph whose constants alone would make the file too large is
   worth nothing. */
static Price region_price(void *user, const Graph *g) {
    Solving *v = user;
    const RuntimeSearch *o = v->search;
    Price p = {.seconds = HUGE_VAL};
    if (region_bytes(v, g) > v->bytes) return v->grown = true, p;
    p.seconds = cost_graph(o->cost, g, &v->part, &p.nodes);
    if (search_counts_nodes(o->r->o)) p.seconds = p.nodes;
    return p;
}

static double node_price(void *user, const Node *n) {
    const RuntimeSearch *o = ((const Solving *)user)->search;
    return search_counts_nodes(o->r->o) ? 1 : cost_node(o->r->w, n, o->r->source.sizes);
}

static bool must_stop(void *user) {
    RuntimeSearch *o = ((const Solving *)user)->search;
    return stop_here(&o->stop, o->asked++);
}

static int solution_index(const RuntimeSearch *o, const char *hash) {
    for (int k = 0; k < o->nsolved; k++)
        if (!strcmp(o->hash[k], hash)) return k;
    return -1;
}

const RegionSolution *search_solution(const RuntimeSearch *o, int k, Take take) {
    const RegionSolution *s = &o->solution[k];
    return take == TAKE_NOTHING ? NULL : take == TAKE_CHEAPEST && s->cheapest ? s->cheapest : s;
}

static void count_work(RunStats *stats, const RegionSolution *s) {
    stats->steps += s->steps;
    stats->candidates += s->graphs;
}

/* Solves region k by the algorithms that --search names. With `both`, the cheaper result counts,
   or, if whole models are timed, both results are candidates. The algorithms share one budget of
   steps. */
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
    const bool cheaper = other.after.seconds < search_solution(o, k, TAKE_CHEAPEST)->after.seconds;
    if (!both || (cheaper && !run_measures(o->r->o))) o->solution[k] = other;
    else if (cheaper) o->solution[k].cheapest = arena_copy(o->r->arena, &other, sizeof other);
}

/* Returns how often the region occurs. */
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
    Solving v = {.search = o, .part = {region->constant, loose}};
    o->constant[k] = region->constant;
    if (!region_graph(r->w, r->arena, region, &o->start[k], NULL, r->error)) return false;
    v.bytes = region_bytes(&v, &o->start[k]) + (double)r->growth_limit / count_equal(o, region);
    const Backtrack b = {.w = r->w,
                         .arena = r->arena,
                         .facts = r->source.facts,
                         .library = &r->library,
                         .price = region_price,
                         .stop = must_stop,
                         .user = &v,
                         .alpha = ALPHA,
                         .steps = r->o->steps - r->stats.steps,
                         .patience = PATIENCE};
    solve_by(o, b, k);
    run_say(r, "region of %d nodes: %.3f -> %.3f ms, %d graphs", region->nnode,
            o->solution[k].before.seconds * 1e3, o->solution[k].after.seconds * 1e3,
            o->solution[k].graphs);
    if (v.grown)
        run_say(r, "some graphs of this region were not used: their constants are larger than the "
                   "file may grow by (--max-growth)");
    if (o->solution[k].cut)
        run_say(r,
                "rules match this region in more than %d places at once: the others were not tried",
                BACKTRACK_MATCHES);
    return !run_cancelled(r);
}

bool search_solve_regions(RuntimeSearch *o) {
    Run *r = o->r;
    o->hash = ARENA_NEW(r->arena, const char *, o->nregion);
    o->start = ARENA_NEW(r->arena, Graph, o->nregion);
    o->constant = ARENA_NEW(r->arena, const bool *, o->nregion);
    o->solution = ARENA_NEW(r->arena, RegionSolution, o->nregion);
    o->solved_of = ARENA_NEW(r->arena, int, o->nregion);
    for (int k = 0; k < o->nregion; k++) {
        o->solved_of[k] = solution_index(o, o->region[k].hash);
        if (o->solved_of[k] >= 0) continue;
        o->solved_of[k] = o->nsolved;
        if (!solve_region(o, &o->region[k])) return false;
    }
    r->stats.regions = o->nregion;
    r->stats.regions_unique = o->nsolved;
    return stop_keep(&o->stop);
}
