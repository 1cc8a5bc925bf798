/* check_steps.c -- checks the steps that led to a result, each by itself, in double precision and
   without a back end. First, the graph that rules made is compared with the original before any
   constant is rounded: both may differ only by rounding errors of double. Then each constant that
   was computed is compared with its expression: it may differ by one roundoff for each node of the
   expression, or by as much as such roundoffs move its value. Both checks are far stricter than a
   comparison of the models' outputs can be. */
#include "search/input_data.h"
#include "graphs/check.h"
#include "search/check_steps.h"
#include "graphs/oracle.h"
#include "ops/core/element.h"
#include <inttypes.h>
#include <math.h>

bool run_check_rules(const Run *r, const Derivation *d) {
    const CheckOptions o = {.samples = r->o->check,
                            .seed = r->seed,
                            .classes = d->classes,
                            .given = inputs_data,
                            .given_user = &r->inputs};
    const Difference *x;
    CheckResult c;
    if (!graphs_check_definitions(r->w, &r->source.original, &d->unfolded, r->source.sizes, &o, &c))
        return true;
    x = &c.oracle;
    return c.agrees ||
           error_set(
               r->error, E_CHECK, model_output_name(r->source.model, x->output),
               "the rules changed the result: evaluated by definition, in double, element %" PRId64
               " is %.17g, but was %.17g; the difference is %.3g, at most %.3g is allowed",
               x->first, x->b, x->a, fabs(x->b - x->a), x->limit);
}

/* ---- constants */

typedef struct Folded {
    World *w;
    uint64_t seed; /* seed of the disturbances */
    const Derivation *d;
    Arena *arena;
    Value expression, constant;
    DType dtype;
    int64_t n;
    bool large; /* too large to be checked */
    /* The expression in double precision; how far roundoffs move each element. */
    double *exact, *moved;
    double *actual; /* the computed constant */
} Folded;

static bool evaluate(const Folded *f, Value v, const OracleNoise *noise, double *out) {
    const Graph g = {0, 1, NULL, &v};
    void *into = out;
    Error ignored = {0};
    return noise ? oracle_run_disturbed(f->w, &g, (Sizes){0}, noise, NULL, &into, &ignored)
                 : oracle_run(f->w, &g, (Sizes){0}, true, NULL, &into, &ignored);
}

static bool find_moves(Folded *f) {
    double *x = ARENA_NEW(f->arena, double, f->n);
    for (int k = 0; k < DISTURBANCES; k++) {
        const OracleNoise noise = {.seed = random_at(f->seed, (uint64_t)k), .own_type = true};
        if (!evaluate(f, f->expression, &noise, x)) return false;
        moves_add((TensorPair){DT_DOUBLE, f->exact, x, f->n}, f->moved);
    }
    return true;
}

/* Returns the magnitude below which elements of the type may be flushed to 0. */
static double smallest(DType t) { return t == DT_FLOAT16 ? 1e-7 : 1e-38; }

/* Returns the first element that differs from its expression by more than one roundoff for each of
   `nodes` and, if `moved` is known, by more than roundoffs move it; -1: none does. *limit receives
   the allowed difference. */
static int64_t first_wrong(const Folded *f, int nodes, bool moved, double *limit) {
    for (int64_t i = 0; i < f->n; i++) {
        const double x = f->exact[i], y = f->actual[i];
        const double nearest = element_nearest(f->dtype, x);
        if (y == nearest || (isnan(y) && isnan(nearest))) continue;
        *limit = (nodes + 1) * (dtype_roundoff(f->dtype) * fabs(x) + smallest(f->dtype));
        if (moved) *limit = fmax(*limit, NOISE_MARGIN * f->moved[i]);
        if (!(fabs(x - y) <= *limit)) return i;
    }
    return -1;
}

static bool wrong_constant(const Folded *f, int64_t at, double limit, Error *e) {
    const int step = derivation_step(f->d, f->expression);
    return error_set(
        e, E_CHECK, step < 0 ? "a constant" : f->d->step[step].match.instance->rule->name,
        "a constant of %" PRId64 " elements was computed wrongly: element %" PRId64
        " is %.9g, but %.17g by definition in double; a difference of at most %.3g is allowed",
        f->n, at, f->actual[at], f->exact[at], limit);
}

static bool check_constant(Folded *f, Error *e) {
    World *w = f->w;
    const Type *t = value_type(w, f->expression);
    int64_t dim[RANK_MAX];
    double limit = 0;
    f->dtype = t->dtype;
    if (dtype_class(t->dtype) != 'F' || !oracle_dims(w, t, (Sizes){0}, dim, &f->n)) return true;
    f->large = f->n > CHECKED_ELEMENTS;
    if (f->large || !f->n) return true;
    f->exact = ARENA_NEW(f->arena, double, f->n);
    f->moved = ARENA_NEW(f->arena, double, f->n);
    f->actual = ARENA_NEW(f->arena, double, f->n);
    if (!evaluate(f, f->expression, NULL, f->exact) || !evaluate(f, f->constant, NULL, f->actual))
        return true;
    const int nodes = graph_live(w, f->arena, &(Graph){0, 1, NULL, &f->expression}).n;
    int64_t at = first_wrong(f, nodes, false, &limit);
    if (at >= 0 && find_moves(f)) at = first_wrong(f, nodes, true, &limit);
    return at < 0 || wrong_constant(f, at, limit, e);
}

bool derivation_check_constants(const Derivation *d, uint64_t seed, int *large, Error *e) {
    bool good = true;
    *large = 0;
    for (int k = 0; k < d->nfolded && good; k++) {
        Folded f = {.w = d->w,
                    .seed = seed,
                    .d = d,
                    .arena = arena_new(arena_escape(d->arena), 0),
                    .expression = d->folded[k],
                    .constant = d->constant[k]};
        good = check_constant(&f, e);
        *large += f.large;
        arena_free(f.arena);
    }
    return good;
}
