/* check.c -- two graphs on the same samples: planned and run by the same executor and, where they
   are small, by their definitions in double, whose tolerance is far tighter. */
#include "graphs/check.h"
#include "graphs/execute.h"
#include "graphs/oracle.h"
#include "ops/core/element.h"
#include <math.h>
#include <string.h>

/* ---- tolerances and differences */

Tolerance tolerance_of(const char *class, DType t) {
    static const struct {
        const char *name;
        double rtol;
    } classes[] = {
        {"exact", 1e-5}, {"reassociates", 2e-5}, {"rounds", 1e-4}, {"exp", 1e-4}, {"drops", 1e-4}};
    double rtol = 1e-4;
    for (size_t k = 0; class && k < sizeof classes / sizeof *classes; k++)
        if (!strcmp(class, classes[k].name)) rtol = classes[k].rtol;
    if (dtype_class(t) != 'F') return (Tolerance){0, 0};
    if (t == DT_FLOAT16) rtol = fmax(rtol * 10, 1e-2);
    if (t == DT_BFLOAT16) rtol = fmax(rtol * 10, 5e-2);
    return (Tolerance){rtol, 1e-7};
}

/* In double: what is left are constants rounded to float. */
static Tolerance tolerance_wide(const char *class, DType t) {
    if (dtype_class(t) != 'F') return (Tolerance){0, 0};
    bool algebra = class && (!strcmp(class, "exact") || !strcmp(class, "reassociates"));
    return (Tolerance){algebra ? 1e-10 : 1e-5, 1e-12};
}

/* Of several outputs, in their order. */
static void difference_add(Difference *d, const Difference *x) {
    d->max_abs = fmax(d->max_abs, x->max_abs);
    d->max_rel = fmax(d->max_rel, x->max_rel);
    d->count += x->count;
    if (d->first >= 0 || x->first < 0) return;
    d->output = x->output;
    d->first = x->first;
    d->a = x->a;
    d->b = x->b;
}

Difference difference_none(void) { return (Difference){.first = -1, .output = -1}; }

static double scale_of(DType t, const void *a, int64_t n) {
    double scale = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = fabs(element_real(t, a, i));
        if (isfinite(x) && x > scale) scale = x;
    }
    return scale;
}

void tensors_compare(DType t, const void *a, const void *b, int64_t n, Tolerance tolerance,
                     int output, Difference *d) {
    double scale = scale_of(t, a, n), limit = tolerance.atol + tolerance.rtol * scale;
    bool whole = dtype_class(t) != 'F';
    for (int64_t i = 0; i < n; i++) {
        double x = element_real(t, a, i), y = element_real(t, b, i), by = fabs(x - y);
        bool same = whole ? element_integer(t, a, i) == element_integer(t, b, i)
                          : x == y || (isnan(x) && isnan(y));
        if (same) continue;
        if (isnan(by)) by = INFINITY;
        if (whole && by < 1) by = 1; /* large integers that are one double */
        d->max_abs = fmax(d->max_abs, by);
        d->max_rel = fmax(d->max_rel, scale > 0 ? by / scale : INFINITY);
        if (d->first >= 0 || by <= limit) continue;
        d->output = output;
        d->first = i;
        d->a = x;
        d->b = y;
    }
    d->count += n;
}

void tensor_sample(uint64_t seed, int input, int sample, DType t, int64_t n, void *out) {
    Random r = {random_at(seed, (uint64_t)input * 64 + (uint64_t)sample), 0};
    char class = dtype_class(t);
    for (int64_t i = 0; i < n; i++) {
        if (class == 'F')
            element_set_real(t, out, i,
                             sample % 3 == 0   ? random_unit(&r)
                             : sample % 3 == 1 ? random_normal(&r)
                                               : 2 * random_unit(&r) - 1);
        else element_set_integer(t, out, i, (int64_t)random_below(&r, t == DT_UINT8 ? 256 : 2));
    }
}

/* ---- graphs */

typedef struct Sampled {
    World *w;
    Arena *arena;
    Sizes sizes;
    const CheckOptions *o;
    const Graph *a, *b;
    const void **in;
    void **out_a, **out_b, **wide_a, **wide_b; /* by the executor; by the definitions in double */
    double *spare;                             /* as many as the largest output has */
    int64_t *count;                            /* of each output */
    Error *error;
} Sampled;

static bool tensor_size(Sampled *s, Value v, int64_t *count) {
    int64_t dim[RANK_MAX];
    const Type *t = value_type(s->w, v);
    if (!element_readable(t->dtype))
        return error_set(s->error, E_INVALID, "check", "elements of type %s cannot be compared",
                         dtype_name(t->dtype));
    return oracle_dims(s->w, t, s->sizes, dim, count) ||
           error_set(s->error, E_INVALID, "check", "a size of an input or output has no value");
}

/* Another element type, another rank or another number is wrong whatever the sizes are; other sizes
   may be one size that was guessed twice. */
static bool unlike(const Sampled *s, int k) {
    const Type *a = value_type(s->w, s->a->out[k]), *b = value_type(s->w, s->b->out[k]);
    bool wrong = a->dtype != b->dtype || a->dim.n != b->dim.n;
    for (int axis = 0; axis < a->dim.n && !wrong; axis++) {
        int64_t x, y;
        wrong = poly_constant(s->w, a->dim.v[axis], &x) &&
                poly_constant(s->w, b->dim.v[axis], &y) && x != y;
    }
    return error_set(s->error, wrong ? E_CHECK : E_INVALID, "check",
                     "output %d has another type or size", k);
}

static bool take_buffers(Sampled *s) {
    int64_t n, other;
    s->in = ARENA_NEW(s->arena, const void *, s->a->nin);
    s->out_a = ARENA_NEW(s->arena, void *, s->a->nout);
    s->out_b = ARENA_NEW(s->arena, void *, s->a->nout);
    s->wide_a = ARENA_NEW(s->arena, void *, s->a->nout);
    s->wide_b = ARENA_NEW(s->arena, void *, s->a->nout);
    s->count = ARENA_NEW(s->arena, int64_t, s->a->nout);
    int64_t most = 0;
    for (int k = 0; k < s->a->nin; k++) {
        if (!tensor_size(s, s->a->in[k], &n)) return false;
        s->in[k] = arena_alloc_raw(s->arena, (size_t)n * 8 + 8);
    }
    for (int k = 0; k < s->a->nout; k++) {
        if (!tensor_size(s, s->a->out[k], &n) || !tensor_size(s, s->b->out[k], &other))
            return false;
        if (n != other ||
            value_type(s->w, s->a->out[k])->dtype != value_type(s->w, s->b->out[k])->dtype)
            return unlike(s, k);
        s->out_a[k] = arena_alloc_raw(s->arena, (size_t)n * 8 + 8);
        s->out_b[k] = arena_alloc_raw(s->arena, (size_t)n * 8 + 8);
        s->wide_a[k] = arena_alloc_raw(s->arena, (size_t)n * 8 + 8);
        s->wide_b[k] = arena_alloc_raw(s->arena, (size_t)n * 8 + 8);
        s->count[k] = n;
        most = n > most ? n : most;
    }
    s->spare = ARENA_NEW(s->arena, double, most);
    return true;
}

void check_input(const CheckOptions *o, World *w, Value input, int index, int sample, int64_t n,
                 void *out) {
    DType t = value_type(w, input)->dtype;
    const void *data =
        o->given && sample == 0 ? o->given(o->given_user, input_name(w, input), t, n) : NULL;
    if (data) memcpy(out, data, element_bytes(t, n));
    else tensor_sample(o->seed, index, sample, t, n, out);
}

static void draw(Sampled *s, int sample) {
    int64_t n;
    for (int k = 0; k < s->a->nin; k++)
        if (tensor_size(s, s->a->in[k], &n))
            check_input(s->o, s->w, s->a->in[k], k, sample, n, (void *)(uintptr_t)s->in[k]);
}

static DType output_type(const Sampled *s, int k) { return value_type(s->w, s->a->out[k])->dtype; }
static DType wide_type(DType t) { return dtype_class(t) == 'F' ? DT_DOUBLE : t; }

static void compare_runs(Sampled *s, Difference *d) {
    for (int k = 0; k < s->a->nout; k++) {
        Difference one = difference_none();
        tensors_compare(output_type(s, k), s->out_a[k], s->out_b[k], s->count[k],
                        tolerance_of(s->o->class, output_type(s, k)), k, &one);
        difference_add(d, &one);
        if (s->o->each) difference_add(&s->o->each[k], &one);
    }
}

static void compare_wide(Sampled *s, Difference *d) {
    for (int k = 0; k < s->a->nout; k++)
        tensors_compare(wide_type(output_type(s, k)), s->wide_a[k], s->wide_b[k], s->count[k],
                        tolerance_wide(s->o->class, output_type(s, k)), k, d);
}

/* What the executor gave, as doubles, against the definitions. Loose: float and double differ
   wherever large numbers cancel, and where floats overflow nothing is compared. */
static void compare_kernels(Sampled *s, void *const run[], void *const wide[], Difference *d) {
    for (int k = 0; k < s->a->nout; k++) {
        DType t = output_type(s, k);
        double rtol = tolerance_of("rounds", t).rtol;
        if (dtype_class(t) != 'F') continue;
        for (int64_t i = 0; i < s->count[k]; i++) {
            s->spare[i] = element_real(t, run[k], i);
            if (!isfinite(s->spare[i])) s->spare[i] = ((const double *)wide[k])[i];
        }
        tensors_compare(DT_DOUBLE, wide[k], s->spare, s->count[k],
                        (Tolerance){fmax(rtol, 1e-2), 1e-6}, k, d);
    }
}

static double plan_flops(const Plan *p) {
    double sum = 0;
    for (int k = 0; k < p->nstep; k++) sum += p->step[k].flops;
    return sum;
}

/* Do floats of 8 bits and less occur? Definitions do not round to them. */
static bool rounds_much(const Sampled *s, const Graph *g) {
    NodeList live = graph_live(s->w, s->arena, g);
    for (int k = 0; k < live.n; k++) {
        DType t = value_type(s->w, live.v[k])->dtype;
        if (dtype_class(t) == 'F' && dtype_bits(t) <= 8) return true;
    }
    return false;
}

/* What has no definition leaves the oracle out. */
static void check_definitions(Sampled *s, CheckResult *r) {
    Error ignored = {0};
    if (rounds_much(s, s->a) || rounds_much(s, s->b)) return;
    if (!oracle_run(s->w, s->a, s->sizes, true, s->in, s->wide_a, &ignored) ||
        !oracle_run(s->w, s->b, s->sizes, true, s->in, s->wide_b, &ignored))
        return;
    compare_wide(s, &r->oracle);
    compare_kernels(s, s->out_a, s->wide_a, &r->kernel);
    compare_kernels(s, s->out_b, s->wide_b, &r->kernel);
}

static bool check_samples(Sampled *s, Runner *a, Runner *b, int samples, bool small,
                          CheckResult *r) {
    for (int k = 0; k < samples; k++) {
        draw(s, k);
        if (!runner_run(a, s->in, s->out_a, s->error) || !runner_run(b, s->in, s->out_b, s->error))
            return false;
        compare_runs(s, &r->run);
        if (small) check_definitions(s, r);
    }
    return true;
}

static bool check(Sampled *s, CheckResult *r) {
    int samples = s->o->samples ? s->o->samples : 2;
    double limit = s->o->oracle_flops == 0 ? 2e6 : s->o->oracle_flops;
    if (s->a->nin != s->b->nin || s->a->nout != s->b->nout)
        return error_set(s->error, E_INVALID, "check", "the graphs differ in inputs or outputs");
    if (!take_buffers(s)) return false;
    Plan *a = plan_build(s->w, s->arena, s->a, s->sizes, s->error),
         *b = a ? plan_build(s->w, s->arena, s->b, s->sizes, s->error) : NULL;
    if (!b) return false;
    Runner *ra = runner_new(a, s->o->backend, s->o->device, s->error),
           *rb = ra ? runner_new(b, s->o->backend, s->o->device, s->error) : NULL;
    bool done = rb && check_samples(s, ra, rb, samples, plan_flops(a) + plan_flops(b) <= limit, r);
    runner_free(ra);
    runner_free(rb);
    r->agrees = r->run.first < 0 && r->oracle.first < 0 && r->kernel.first < 0;
    return done;
}

bool graphs_check(World *w, const Graph *a, const Graph *b, Sizes sizes, const CheckOptions *o,
                  CheckResult *r, Error *e) {
    Arena *arena = arena_new(arena_escape(w->arena), 0);
    Sampled s = {.w = w, .arena = arena, .sizes = sizes, .o = o, .a = a, .b = b, .error = e};
    *r = (CheckResult){
        .run = difference_none(), .oracle = difference_none(), .kernel = difference_none()};
    bool done = check(&s, r);
    arena_free(arena);
    return done;
}
