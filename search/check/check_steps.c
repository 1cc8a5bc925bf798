/* check_steps.c -- compares each constant that was computed with its expression, in double
   precision and without a back end. A float may differ by one roundoff for each node of the
   expression, or by as much as such roundoffs move its value. An integer must be equal; where it
   was rounded from floats, it may differ by 1, or by as much as roundoffs move it. This is far
   stricter than a comparison of the models' outputs can be. */
#include "graphs/check.h"
#include "search/check/check_steps.h"
#include "graphs/oracle.h"
#include "ops/core/element.h"
#include <inttypes.h>
#include <math.h>

typedef struct Folded {
    World *w;
    uint64_t seed; /* seed of the disturbances */
    const Derivation *d;
    Arena *arena;
    Value expression, constant;
    DType dtype, wide; /* the constant's type; that of exact and actual: floats are doubles */
    int64_t n;
    NodeList nodes; /* of the expression */
    void *exact;    /* the expression in double precision */
    void *actual;   /* the computed constant */
    double *moved;  /* how far roundoffs move each element */
} Folded;

static void *new_tensor(const Folded *f) {
    return arena_alloc(f->arena, element_bytes(f->wide, f->n) + 8);
}

static bool evaluate(const Folded *f, Value v, const OracleNoise *noise, void *into) {
    const Graph g = {0, 1, NULL, &v};
    Error ignored = {0};
    return noise ? oracle_run_disturbed(f->w, &g, (Sizes){0}, noise, NULL, &into, &ignored)
                 : oracle_run(f->w, &g, (Sizes){0}, true, NULL, &into, &ignored);
}

static bool find_moves(Folded *f) {
    void *x = new_tensor(f);
    for (int k = 0; k < DISTURBANCES; k++) {
        const OracleNoise noise = {.seed = random_at(f->seed, (uint64_t)k), .own_type = true};
        if (!evaluate(f, f->expression, &noise, x)) return false;
        moves_add((TensorPair){f->wide, f->exact, x, f->n}, f->moved);
    }
    return true;
}

/* Returns the magnitude below which elements of the type may be flushed to 0. */
static double smallest(DType t) { return t == DT_FLOAT16 ? 1e-7 : 1e-38; }

/* Whether a node of the expression computes floats, which an integer may have been rounded from. */
static bool has_floats(const Folded *f) {
    bool any = false;
    for (int k = 0; k < f->nodes.n; k++)
        any |= dtype_class(value_type(f->w, f->nodes.v[k])->dtype) == 'F';
    return any;
}

/* Whether element i is what its expression gives. Otherwise *limit receives the difference that
   roundoffs alone can make, if they do not move the result further. */
static bool is_right(const Folded *f, int64_t i, bool floats, double *limit) {
    const double x = element_real(f->wide, f->exact, i), y = element_real(f->wide, f->actual, i);
    /* Doubles do not hold all integers beyond 2^53. */
    *limit = (floats ? 1 : 0) + (fabs(x) < 0x1p53 ? 0 : (f->nodes.n + 1) * fabs(x) * 0x1p-53);
    if (dtype_class(f->dtype) != 'F')
        return element_integer(f->dtype, f->exact, i) == element_integer(f->dtype, f->actual, i);
    const double nearest = element_nearest(f->dtype, x);
    *limit = (f->nodes.n + 1) * (dtype_roundoff(f->dtype) * fabs(x) + smallest(f->dtype));
    return y == nearest || (isnan(y) && isnan(nearest));
}

/* Returns the first element that differs from its expression by more than roundoffs can explain: by
   the limit and, if `moved` is known, by more than roundoffs move it; -1: none does. *limit
   receives the allowed difference. */
static int64_t first_wrong(const Folded *f, bool moved, double *limit) {
    const bool floats = has_floats(f);
    for (int64_t i = 0; i < f->n; i++) {
        if (is_right(f, i, floats, limit)) continue;
        const double by =
            fabs(element_real(f->wide, f->exact, i) - element_real(f->wide, f->actual, i));
        if (moved) *limit = fmax(*limit, NOISE_MARGIN * f->moved[i]);
        if (!(by <= *limit)) return i;
    }
    return -1;
}

static bool wrong_constant(const Folded *f, int64_t at, double limit, Error *e) {
    const int step = derivation_step(f->d, f->expression);
    return error_set(
        e, E_CHECK, step < 0 ? "a constant" : f->d->step[step].match.instance->rule->name,
        "a constant of %" PRId64 " elements was computed wrongly: element %" PRId64
        " is %.9g, but %.17g by definition in double; a difference of at most %.3g is allowed",
        f->n, at, element_real(f->wide, f->actual, at), element_real(f->wide, f->exact, at), limit);
}

/* *compared receives whether the constant could be compared. */
static bool check_constant(Folded *f, bool *compared, Error *e) {
    World *w = f->w;
    const Type *t = value_type(w, f->expression);
    int64_t dim[RANK_MAX];
    double limit = 0;
    *compared = false;
    f->dtype = t->dtype;
    f->wide = dtype_class(t->dtype) == 'F' ? DT_DOUBLE : t->dtype;
    if (!element_readable(t->dtype) || !oracle_dims(w, t, (Sizes){0}, dim, &f->n)) return true;
    if (f->n > CHECKED_ELEMENTS) return true;
    f->exact = new_tensor(f);
    f->actual = new_tensor(f);
    f->moved = ARENA_NEW(f->arena, double, f->n);
    if (!evaluate(f, f->expression, NULL, f->exact) || !evaluate(f, f->constant, NULL, f->actual))
        return true;
    *compared = true;
    f->nodes = graph_live(w, f->arena, &(Graph){0, 1, NULL, &f->expression});
    int64_t at = first_wrong(f, false, &limit);
    if (at >= 0 && find_moves(f)) at = first_wrong(f, true, &limit);
    return at < 0 || wrong_constant(f, at, limit, e);
}

bool derivation_check_constants(const Derivation *d, uint64_t seed, int *compared, Error *e) {
    bool good = true, here;
    *compared = 0;
    for (int k = 0; k < d->nfolded && good; k++) {
        Folded f = {.w = d->w,
                    .seed = seed,
                    .d = d,
                    .arena = arena_new(arena_escape(d->arena), 0),
                    .expression = d->folded[k],
                    .constant = d->constant[k]};
        good = check_constant(&f, &here, e);
        *compared += here;
        arena_free(f.arena);
    }
    return good;
}
