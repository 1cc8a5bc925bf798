/* cost.c -- prices graphs for the built-in runtime: by the sum over the steps of the plan, each by
   its fastest known algorithm (graphs/plan/choose.h), or by timing whole plans. */
#include "search/cost.h"
#include "search/cost_model.h"
#include "graphs/plan/choose.h"
#include "graphs/constants.h"
#include "graphs/plan/execute.h"
#include "graphs/plan/profile.h"
#include "graphs/rewrite.h"
#include "ops/core/element.h"
#include "ops/backend/view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WRONG 0.25 /* how far a prediction may be off, as a share of the measured time */
struct Cost {
    World *w;
    Arena *arena;
    Sizes sizes;
    CostDb *db;
    CostOptions options;
    OpenDevice open;
    const Backend *backend;
    Device *device;
    Chooser *chooser;
    int missing;       /* times of whole plans that a frozen run estimated */
    bool refused;      /* cost_refused */
    const char *fault; /* cost_fault */
};

/* ---- what depends on constants alone */

static bool computed(World *w, const Constants *c, Value v) {
    return constants_hold(c, v) && !constant_get(w, v, NULL, NULL) && !input_name(w, v);
}

/* Returns what is computed in advance for a value: for a broadcast, the value that it repeats,
   since the broadcast itself stays a view (finish.c). */
static Value repeated(World *w, Value v) {
    while (v && !constant_get(w, v, NULL, NULL) && node_get(w, v).op == &op_broadcast)
        v = node_get(w, v).in[0];
    return v;
}

/* Sets *out to the graph in which values that depend only on constants, and that other nodes read,
   are replaced by placeholders. */
static bool without_constants(World *w, Arena *a, const Graph *g, const Constants *c, Graph *out) {
    const uint32_t room = c->past - c->least;
    Value *from = ARENA_NEW(a, Value, room), *to = ARENA_NEW(a, Value, room);
    bool *listed = ARENA_NEW(a, bool, room);
    int n = 0;
    char name[32];
    for (int k = 0; k < c->live.n; k++) {
        Node node = node_get(w, c->live.v[k]);
        for (int j = 0; j < node.nin && !constants_hold(c, node.out); j++) {
            const Value v = repeated(w, node.in[j]);
            if (!computed(w, c, v) || listed[v - c->least]) continue;
            listed[v - c->least] = true;
            snprintf(name, sizeof name, "constant %u", v);
            from[n] = v;
            to[n++] = graph_input(w, name, value_type(w, v));
        }
    }
    *out = *g;
    if (!n) return true;
    if (!graph_substitute(w, a, g, &(Substitution){n, from, to}, out, NULL, NULL)) return false;
    Value *in = ARENA_NEW(a, Value, g->nin + n);
    memcpy(in, g->in, sizeof *in * (size_t)g->nin);
    memcpy(in + g->nin, to, sizeof *in * (size_t)n);
    out->in = in;
    out->nin = g->nin + n;
    return true;
}

/* ---- prices */

static double step_price(Cost *c, const Plan *p, PlanStep *s, const bool weight[]) {
    bool *known = ARENA_NEW(c->w->scratch, bool, s->step.nview);
    for (int j = 0; j < s->step.nview; j++) {
        if (s->step.view[j].slot < 0) continue;
        const Slot *slot = &p->slot[s->step.view[j].slot];
        known[j] = slot->data || (slot->input >= 0 && weight[slot->input]);
    }
    return choose_step(c->chooser, c->w->scratch, s, known);
}

typedef struct PriceSink { /* receives the prices one by one; `each` may be NULL */
    CostEach *each;
    void *user;
} PriceSink;

/* Returns the price of a plan. The first `nin` inputs of the graph are its own; the others stand
   for constants. */
static double plan_price(Cost *c, const Graph *g, int nin, const bool constant[], Plan *p,
                         PriceSink sink) {
    bool *weight = ARENA_NEW(c->w->scratch, bool, g->nin);
    double sum = 0;
    for (int k = 0; k < g->nin; k++) weight[k] = k >= nin || (constant && constant[k]);
    for (int k = 0; k < p->nstep; k++) {
        if (p->step[k].once) continue;
        const double price = step_price(c, p, &p->step[k], weight);
        sum += price;
        if (sink.each) sink.each(sink.user, p->step[k].step.kind, price);
    }
    return sum;
}

static int count_nodes(World *w, const Constants *c) {
    int n = 0;
    for (int k = 0; k < c->live.n; k++)
        n += !constants_hold(c, c->live.v[k]) && !input_name(w, c->live.v[k]);
    return n;
}

/* Returns, by input, whether its layout is free. The first g->nin of the n inputs are the graph's
   own; the others stand for constants. */
static const bool *loose_inputs(Arena *a, const Graph *g, const CostPart *part, int n) {
    if (!part || !part->loose) return NULL;
    bool *loose = ARENA_NEW(a, bool, n);
    if (g->nin) memcpy(loose, part->loose, sizeof *loose * (size_t)g->nin);
    return loose;
}

static double price_graph(Cost *c, const Graph *g, const CostPart *part, int *nodes,
                          PriceSink sink) {
    const bool *constant = part ? part->constant : NULL;
    WorldMark before = world_mark(c->w);
    ArenaMark mark = arena_mark(c->w->scratch);
    Arena *a = arena_new(arena_escape(c->arena), 0);
    Error ignored = {0};
    Constants constants = constants_find(c->w, a, g, constant, NULL);
    Graph cut;
    double seconds = -1;
    Plan *p = without_constants(c->w, a, g, &constants, &cut)
                  ? plan_build_for(&c->open, c->w, a, &cut, c->sizes,
                                   loose_inputs(a, g, part, cut.nin), &ignored)
                  : NULL;
    if (p) seconds = plan_price(c, &cut, g->nin, constant, p, sink);
    if (nodes) *nodes = count_nodes(c->w, &constants);
    arena_free(a);
    world_reset(c->w, before);
    arena_reset(c->w->scratch, mark);
    return seconds;
}

double cost_graph(Cost *c, const Graph *g, const CostPart *part, int *nodes) {
    double seconds = price_graph(c, g, part, nodes, (PriceSink){0});
    return seconds >= 0 ? seconds : cost_model(c->w, g, c->sizes, part ? part->constant : NULL);
}

bool cost_kinds(Cost *c, const Graph *g, CostEach *each, void *user) {
    return price_graph(c, g, NULL, NULL, (PriceSink){each, user}) >= 0;
}

/* ---- whole plans */

typedef struct Whole {
    Arena *arena;
    Plan *plan;
    Runner *runner;
    const void **in;
    void **out;
    const void *const *given; /* contents of the inputs; NULL: random */
    double predicted;         /* sum of the prices of its steps */
    char key[33];             /* digest of the plan's steps and algorithms */
} Whole;

static void *random_buffer(Arena *a, const View *v, uint64_t seed) {
    const int64_t n = view_count(v);
    void *data = arena_alloc(a, element_bytes((DType)v->dtype, n));
    element_fill((DType)v->dtype, data, n, seed);
    return data;
}

/* Builds the same plan as run-model, so that what is timed is what will run. */
static bool whole_build(const Cost *c, Whole *x, const WholeGraph *g, Error *e) {
    Text t = text_new(x->arena);
    x->plan = plan_build_for(&c->open, g->w, x->arena, g->graph, g->sizes, NULL, e);
    if (!x->plan) return false;
    x->predicted = choose_plan(c->chooser, g->w->scratch, x->plan);
    for (int k = 0; k < x->plan->nstep; k++) {
        step_print(&x->plan->step[k].step, &t);
        text_add(&t, " %d\n", x->plan->step[k].choice);
    }
    hash_hex(t.data ? t.data : "", t.size, x->key);
    return true;
}

static bool whole_start(Cost *c, Whole *x, Error *e) {
    x->in = ARENA_NEW(x->arena, const void *, x->plan->nin);
    x->out = ARENA_NEW(x->arena, void *, x->plan->nout);
    for (int k = 0; k < x->plan->nin; k++)
        x->in[k] = x->given
                       ? x->given[k]
                       : random_buffer(x->arena, &x->plan->in[k], c->options.seed + (uint64_t)k);
    for (int k = 0; k < x->plan->nout; k++)
        x->out[k] = random_buffer(x->arena, &x->plan->out[k], 0);
    x->runner = runner_new(x->plan, c->backend, c->device, e);
    return x->runner != NULL;
}

/* Times all plans in one process, interleaved. Runners are made in the order of the graphs or in
   reverse: the position of a runner's memory relative to that of the others can change its time by
   10 %. */
static bool whole_pass(Cost *c, int n, Whole *x, bool backwards, double seconds[], Error *e) {
    Runner **runner = ARENA_NEW(x[0].arena, Runner *, n);
    const void *const **in = ARENA_NEW(x[0].arena, const void *const *, n);
    void *const **out = ARENA_NEW(x[0].arena, void *const *, n);
    bool good = true;
    for (int j = 0; j < n && good; j++) {
        int k = backwards ? n - 1 - j : j;
        good = whole_start(c, &x[k], e);
        runner[k] = x[k].runner;
        in[k] = x[k].in;
        out[k] = x[k].out;
    }
    c->refused = good && !profile_runners(n, runner, in, out, seconds, e);
    good = good && !c->refused;
    for (int k = 0; k < n; k++) {
        runner_free(x[k].runner);
        x[k].runner = NULL;
    }
    return good;
}

static bool whole_measure(Cost *c, int n, Whole *x, double seconds[], Error *e) {
    double *again = ARENA_NEW(x[0].arena, double, n);
    if (!whole_pass(c, n, x, false, seconds, e) || !whole_pass(c, n, x, true, again, e))
        return false;
    for (int k = 0; k < n; k++) seconds[k] = fmin(seconds[k], again[k]);
    return true;
}

/* Returns the key of the time of graph k when all n graphs were timed together. */
static const char *whole_key(const Whole *x, int n, int k) {
    Text t = text_new(x[0].arena);
    for (int j = 0; j < n; j++) text_add(&t, "%s ", x[j].key);
    text_add(&t, "of which %d", k);
    return t.data;
}

static bool whole_plans(const Cost *c, Arena *a, int n, const WholeGraph graphs[], Whole *x,
                        Error *e) {
    for (int k = 0; k < n; k++) {
        x[k].arena = a;
        x[k].given = graphs[k].in;
        if (!whole_build(c, &x[k], &graphs[k], e)) return false;
    }
    return true;
}

static bool whole_known(const Cost *c, int n, const Whole *x, double seconds[]) {
    bool all = c->db != NULL;
    for (int k = 0; k < n && all; k++)
        all = costdb_get(c->db, "plan", chooser_identity(c->chooser), whole_key(x, n, k),
                         &seconds[k]);
    return all;
}

/* Stores the times. `correct`: they replace the times in the file, which are wrong. */
static bool whole_keep(const Cost *c, int n, const Whole *x, const double seconds[], bool correct,
                       Error *e) {
    const char *device = chooser_identity(c->chooser);
    for (int k = 0; k < n && c->db; k++) {
        const char *key = whole_key(x, n, k);
        if (correct && !costdb_forget(c->db, "plan", device, key, e)) return false;
        if (!costdb_put(c->db, "plan", device, key, seconds[k], e)) return false;
    }
    return true;
}

/* Returns whether the stored prices must be doubted because they predict the first graph wrongly.
   Since steps are timed with their weights in the cache, that alone may explain a difference: the
   same prediction is doubted only once. */
static bool doubtful(const Cost *c, const Whole *x, int n, double seconds) {
    const double predicted = x[0].predicted;
    double before;
    if (!c->db || !c->options.measured || c->options.frozen || !chooser_found(c->chooser))
        return false;
    if (fabs(predicted - seconds) <= WRONG * seconds) return false;
    return !costdb_get(c->db, "doubt", chooser_identity(c->chooser), whole_key(x, n, 0), &before) ||
           fabs(predicted - before) > 0.1 * before;
}

static bool measure_again(Cost *c, int n, const WholeGraph graphs[], Whole *x, double seconds[],
                          Error *e) {
    const char *device = chooser_identity(c->chooser);
    const double predicted = x[0].predicted, measured = seconds[0];
    choose_again(c->chooser);
    if (!whole_plans(c, x[0].arena, n, graphs, x, e) || !whole_measure(c, n, x, seconds, e) ||
        !whole_keep(c, n, x, seconds, true, e))
        return false;
    const char *key = whole_key(x, n, 0);
    c->fault =
        arena_format(c->arena,
                     "by its entries the original takes %.3g ms, but %.3g ms were measured; "
                     "measured again, %.3g and %.3g",
                     predicted * 1e3, measured * 1e3, x[0].predicted * 1e3, seconds[0] * 1e3);
    return costdb_forget(c->db, "doubt", device, key, e) &&
           costdb_put(c->db, "doubt", device, key, x[0].predicted, e);
}

static bool whole_times(Cost *c, int n, const WholeGraph graphs[], Whole *x, double seconds[],
                        Error *e) {
    if (whole_known(c, n, x, seconds))
        return !doubtful(c, x, n, seconds[0]) || measure_again(c, n, graphs, x, seconds, e);
    if (c->options.frozen) {
        c->missing++;
        for (int k = 0; k < n; k++)
            seconds[k] = cost_model(graphs[k].w, graphs[k].graph, graphs[k].sizes, NULL);
        return true;
    }
    if (!whole_measure(c, n, x, seconds, e) || !whole_keep(c, n, x, seconds, false, e))
        return false;
    return !doubtful(c, x, n, seconds[0]) || measure_again(c, n, graphs, x, seconds, e);
}

bool cost_whole(Cost *c, int n, const WholeGraph graphs[], double seconds[], double predicted[],
                Error *e) {
    Arena *a = arena_new(arena_escape(c->arena), 0);
    Whole *x = ARENA_NEW(a, Whole, n);
    const bool good =
        whole_plans(c, a, n, graphs, x, e) && whole_times(c, n, graphs, x, seconds, e);
    for (int k = 0; k < n; k++) predicted[k] = x[k].predicted;
    arena_free(a);
    return good;
}

const char *cost_fault(const Cost *c) { return c->fault; }

/* ---- making one */

Cost *cost_new(World *w, Arena *a, Sizes sizes, CostDb *db, const CostOptions *o, Error *e) {
    Cost *c = ARENA_NEW(a, Cost, 1);
    *c = (Cost){.w = w, .arena = a, .sizes = sizes, .db = db, .options = *o};
    const char *options = backend_options(a, o->threads, o->backend_options);
    if (!device_open(&c->open, arena_escape(a), o->backend, options, e)) return NULL;
    c->backend = c->open.backend;
    c->device = c->open.device;
    c->chooser = chooser_new(a, db, c->backend, c->device,
                             &(ChooseOptions){o->measured, o->frozen, o->seed, o->weights}, e);
    if (c->chooser) return c;
    cost_free(c);
    return NULL;
}

void cost_free(Cost *c) {
    if (!c) return;
    chooser_free(c->chooser);
    device_close(&c->open);
    c->chooser = NULL;
}

bool cost_refused(const Cost *c) { return c->refused; }
int cost_missing(const Cost *c) { return c->missing + chooser_missing(c->chooser); }
