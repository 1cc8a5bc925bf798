/* check_rules.c -- compares what rules made with what they replaced, in double precision and
   without a back end, before any constant is rounded: both may differ only by rounding errors of
   double. This is far stricter than a comparison of the models' outputs can be.

   Graphs that need few operations are compared as wholes. Otherwise each application of a rule is
   compared by itself: its right side with the nodes that it replaced, both on the same random data
   in place of the rule's inputs, since a rule holds for all inputs. The cheapest applications come
   first; those for which too many operations would be needed are left out and counted. */
#include "search/check/check_steps.h"
#include "search/input_data.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The operations that one application, and that all of them together, may need on a sample. An
   operation takes about 10 ns here, so a run is at most a few seconds longer. */
#define APPLICATION_WORK 2e7
#define APPLICATIONS_WORK 1e8

/* ---- one application */

typedef struct Sides { /* an application as two graphs over the same inputs */
    Graph before, after;
    double work; /* of both (graphs_check_work) */
} Sides;

/* Whether a value depends only on constants and on the inputs of the match. At most *left nodes are
   visited; if that is not enough to decide, the answer is false. */
static bool follows(const World *w, Value v, const Match *m, int *left) {
    if (--*left < 0) return false;
    if (value_among(v, m->instance->ninput, m->input) || constant_get(w, v, NULL, NULL))
        return true;
    const Node n = node_get(w, v);
    bool good = !input_name(w, v) && !(n.op->flags & OP_RANDOM);
    for (int k = 0; k < n.nin && good; k++) good = !n.in[k] || follows(w, n.in[k], m, left);
    return good;
}

/* Whether input k of the match is computed from its other inputs or from constants. The left side
   may have matched these nodes, too, so random data must not take their place. */
static bool follows_from_others(const World *w, const Match *m, int k) {
    enum { LOOKED_AT = 64 };
    int left = LOOKED_AT;
    const Node n = node_get(w, value_node(w, m->input[k]));
    if (input_name(w, n.out)) return false;
    bool good = !(n.op->flags & OP_RANDOM);
    for (int j = 0; j < n.nin && good; j++) good = !n.in[j] || follows(w, n.in[j], m, &left);
    return good;
}

/* Whether random data takes the place of input k. Constants that the round did not change stay. */
static bool is_drawn(const World *w, const Application *s, int k) {
    const Value v = s->match.input[k];
    if (!v || (v == s->in[k] && constant_get(w, v, NULL, NULL))) return false;
    return !follows_from_others(w, &s->match, k);
}

static Sides sides_of(World *w, Arena *a, const Application *s, Sizes sizes) {
    const Instance *i = s->match.instance;
    Value *before = ARENA_NEW(a, Value, i->ninput), *after = ARENA_NEW(a, Value, i->ninput);
    int n = 0;
    for (int k = 0; k < i->ninput; k++)
        if (is_drawn(w, s, k)) before[n] = s->match.input[k], after[n++] = s->in[k];
    Sides x = {.before = {n, i->from.nout, before, s->match.root},
               .after = {n, i->to.nout, after, s->to}};
    x.work = graphs_check_work(w, &x.before, &x.after, sizes);
    return x;
}

static bool application_wrong(const Application *s, const Difference *x, Error *e) {
    return error_set(
        e, E_CHECK, s->match.instance->rule->name,
        "the rule changed a value: evaluated by definition, in double, element %" PRId64
        " is %.17g, but was %.17g; the difference is %.3g, at most %.3g is allowed",
        x->first, x->b, x->a, fabs(x->b - x->a), x->limit);
}

/* Returns false with E_CHECK if the sides differ. *compared receives whether they could be
   compared. */
static bool check_application(World *w, const Application *s, const Sides *x, Sizes sizes,
                              const CheckOptions *given, bool *compared, Error *e) {
    CheckOptions o = *given;
    CheckResult c;
    o.classes = s->match.instance->classes | (s->match.rounds ? CLASS_ROUNDS : 0);
    o.refines = true;
    *compared = graphs_check_definitions(w, &x->before, &x->after, sizes, &o, &c);
    return !*compared || c.agrees || application_wrong(s, &c.oracle, e);
}

/* ---- all of them */

typedef struct Priced {
    const Application *step;
    Sides sides;
} Priced;

static int by_work(const void *a, const void *b) {
    const Priced *x = a, *y = b;
    if (x->sides.work != y->sides.work) return x->sides.work < y->sides.work ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

/* Whether the work of one application, which is negative if unknown, may be done. If so, it is
   taken from what is left. */
static bool can_afford(double work, double *left) {
    if (work < 0 || work > APPLICATION_WORK || work > *left) return false;
    *left -= work;
    return true;
}

bool derivation_check_applications(const Derivation *d, Sizes sizes, const CheckOptions *o,
                                   int *compared, Error *e) {
    Arena *a = arena_new(arena_escape(d->arena), 0);
    Priced *v = ARENA_NEW(a, Priced, d->nstep);
    double left = APPLICATIONS_WORK;
    bool good = true, done;
    *compared = 0;
    for (int k = 0; k < d->nstep; k++)
        v[k] = (Priced){&d->step[k], sides_of(d->w, a, &d->step[k], sizes)};
    qsort(v, (size_t)d->nstep, sizeof *v, by_work);
    for (int k = 0; k < d->nstep && good; k++) {
        if (!can_afford(v[k].sides.work, &left)) continue;
        good = check_application(d->w, v[k].step, &v[k].sides, sizes, o, &done, e);
        *compared += done;
    }
    arena_free(a);
    return good;
}

static bool differs_on_extremes(const Derivation *d, const Sides *x, Sizes sizes,
                                const CheckOptions *given) {
    CheckOptions o = *given;
    CheckResult c;
    Error ignored = {0};
    o.samples = 1, o.extreme = true, o.each = NULL;
    return graphs_check(d->w, &x->before, &x->after, sizes, &o, &c, &ignored) &&
           (c.range.first >= 0 || c.extreme.first >= 0);
}

static bool is_listed(const StringList *l, const char *name) {
    for (int k = 0; k < l->n; k++)
        if (!strcmp(l->v[k], name)) return true;
    return false;
}

StringList derivation_differing(const Derivation *d, Arena *arena, Sizes sizes,
                                const CheckOptions *o) {
    Arena *a = arena_new(arena_escape(d->arena), 0);
    StringList names = {0, ARENA_NEW(arena, const char *, d->nstep)};
    double left = APPLICATIONS_WORK;
    for (int k = 0; k < d->nstep; k++) {
        const char *name = d->step[k].match.instance->rule->name;
        if (is_listed(&names, name)) continue;
        const Sides x = sides_of(d->w, a, &d->step[k], sizes);
        if (can_afford(x.work, &left) && differs_on_extremes(d, &x, sizes, o))
            names.v[names.n++] = name;
    }
    arena_free(a);
    return names;
}

/* Compares the graphs as wholes. Returns false if they need too many operations or cannot be
   evaluated by definitions. */
static bool compare_whole(const Run *r, const Derivation *d, const CheckOptions *o,
                          CheckResult *c) {
    const Graph *before = &r->source.original, *after = &d->unfolded;
    const double work = graphs_check_work(r->w, before, after, r->source.sizes);
    return work >= 0 && work <= CHECK_WORK &&
           graphs_check_definitions(r->w, before, after, r->source.sizes, o, c);
}

static bool whole_wrong(const Run *r, const Difference *x) {
    return error_set(
        r->error, E_CHECK, model_output_name(r->source.model, x->output),
        "the rules changed the result: evaluated by definition, in double, element %" PRId64
        " is %.17g, but was %.17g; the difference is %.3g, at most %.3g is allowed",
        x->first, x->b, x->a, fabs(x->b - x->a), x->limit);
}

bool run_check_rules(Run *r, const Derivation *d) {
    const CheckOptions o = {.samples = r->o->check,
                            .seed = r->seed,
                            .classes = d->classes,
                            .given = inputs_data,
                            .given_user = &r->inputs};
    RunStats *s = &r->stats;
    int compared = d->nstep;
    CheckResult c;
    if (compare_whole(r, d, &o, &c)) {
        if (!c.agrees) return whole_wrong(r, &c.oracle);
    } else if (!derivation_check_applications(d, r->source.sizes, &o, &compared, r->error))
        return false;
    if (!s->applications || compared < s->applications_compared)
        s->applications_compared = compared;
    s->applications = d->nstep;
    return true;
}
