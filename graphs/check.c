/* check.c -- compares two graphs on the same samples: planned and run by the same executor and, if
   they are small, by their definitions in double, with a far tighter tolerance. */
#include "graphs/check.h"
#include "graphs/plan/execute.h"
#include "graphs/oracle.h"
#include "graphs/rewrite.h"
#include "ops/core/element.h"
#include <math.h>
#include <string.h>

/* Graphs of at most this many operations are also computed by definitions. */
#define ORACLE_FLOPS 2e6

/* ---- samples */

/* One in four each: 0, tiny, about 1, large; half precision has little room for squares. */
static double extreme_number(Random *r, DType t) {
    const double large = t == DT_FLOAT16 ? 100 : 1e4, x = 2 * random_unit(r) - 1;
    switch (random_below(r, 4)) {
    case 0: return 0;
    case 1: return x / large;
    case 2: return x;
    default: return x * large;
    }
}

static double sample_real(Random *r, int sample, DType t) {
    if (sample == SAMPLE_EXTREME) return extreme_number(r, t);
    return sample % 3 == 0   ? random_unit(r)
           : sample % 3 == 1 ? random_normal(r)
                             : 2 * random_unit(r) - 1;
}

Random sample_random(uint64_t seed, int input, int sample) {
    return (Random){random_at(seed, (uint64_t)input * 64 + (uint64_t)sample), 0};
}

void tensor_draw(uint64_t seed, int input, int sample, DType t, Domain domain, int64_t n,
                 void *out) {
    Random r = sample_random(seed, input, sample);
    Domain drawn;
    if (domain_drawn(domain, t, &drawn)) domain_fill(drawn, r, t, n, out);
    else
        for (int64_t i = 0; i < n; i++) element_set_real(t, out, i, sample_real(&r, sample, t));
}

void tensor_sample(uint64_t seed, int input, int sample, DType t, int64_t n, void *out) {
    tensor_draw(seed, input, sample, t, domain_any(), n, out);
}

/* ---- graphs */

typedef struct Sampled {
    World *w;
    Arena *arena;
    Sizes sizes;
    const CheckOptions *o;
    const Graph *a, *b;
    const void **in;
    void **out_a, **out_b, **wide_a,
        **wide_b;   /* by the built-in runtime; by the definitions in double */
    void **spare;   /* for results that are only looked at */
    double **moved; /* by output: how far roundings move each element; NOISE_MARGIN times that is
                       no difference */
    bool small;     /* the definitions are computed too */
    bool rounded;   /* constants were made that the other graph does not have */
    int64_t *count; /* of each output */
    Domain *domain; /* of each input of a, once it was asked for */
    bool asked;
    Error *error;
} Sampled;

static bool tensor_size(Sampled *s, Value v, int64_t *count) {
    int64_t dim[RANK_MAX];
    const Type *t = value_type(s->w, v);
    if (!element_readable(t->dtype))
        return error_set(s->error, E_INVALID, "check", "elements of type %s cannot be compared",
                         dtype_name(t->dtype));
    return oracle_dims(s->w, t, s->sizes, dim, count) ||
           error_set(
               s->error, E_INVALID, "check",
               "a size of an input or output has no value; give it with --input-shape or --dim");
}

/* A different element type, rank or number is wrong whatever the sizes are; different sizes may be
   one size that was guessed twice. */
static bool unlike(const Sampled *s, int k) {
    const Type *a = value_type(s->w, s->a->out[k]), *b = value_type(s->w, s->b->out[k]);
    bool wrong = a->dtype != b->dtype || a->dim.n != b->dim.n;
    for (int axis = 0; axis < a->dim.n && !wrong; axis++) {
        int64_t x, y;
        wrong = poly_constant(s->w, a->dim.v[axis], &x) &&
                poly_constant(s->w, b->dim.v[axis], &y) && x != y;
    }
    return error_set(s->error, wrong ? E_CHECK : E_INVALID, "check",
                     "output %d differs in type or size", k);
}

static bool take_buffers(Sampled *s) {
    int64_t n, other;
    s->in = ARENA_NEW(s->arena, const void *, s->a->nin);
    s->domain = ARENA_NEW(s->arena, Domain, s->a->nin);
    s->out_a = ARENA_NEW(s->arena, void *, s->a->nout);
    s->out_b = ARENA_NEW(s->arena, void *, s->a->nout);
    s->wide_a = ARENA_NEW(s->arena, void *, s->a->nout);
    s->wide_b = ARENA_NEW(s->arena, void *, s->a->nout);
    s->count = ARENA_NEW(s->arena, int64_t, s->a->nout);
    s->spare = ARENA_NEW(s->arena, void *, s->a->nout);
    s->moved = ARENA_NEW(s->arena, double *, s->a->nout);
    for (int k = 0; k < s->a->nin; k++) {
        if (!tensor_size(s, s->a->in[k], &n) || !tensor_size(s, s->b->in[k], &other)) return false;
        if (n != other ||
            value_type(s->w, s->a->in[k])->dtype != value_type(s->w, s->b->in[k])->dtype)
            return error_set(s->error, E_INVALID, "check", "input %d differs in type or size", k);
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
        s->spare[k] = arena_alloc_raw(s->arena, (size_t)n * 8 + 8);
        s->moved[k] = arena_alloc_raw(s->arena, (size_t)n * 8 + 8);
        s->count[k] = n;
    }
    return true;
}

static bool is_given(const CheckOptions *o, const char *input, DType t, int sample, int64_t n,
                     void *out) {
    return o->given && o->given(o->given_user, input, sample, t, n, out);
}

void check_input(const CheckOptions *o, const char *input, DType t, int index, int sample,
                 int64_t n, void *out) {
    if (!is_given(o, input, t, sample, n, out)) tensor_sample(o->seed, index, sample, t, n, out);
}

/* Only asked where integers are drawn. */
static Domain domain_of(Sampled *s, int k) {
    if (dtype_class(value_type(s->w, s->a->in[k])->dtype) == 'F') return domain_any();
    if (!s->asked)
        memcpy(s->domain, graph_domains(s->w, s->arena, s->a, s->sizes),
               sizeof *s->domain * (size_t)s->a->nin);
    s->asked = true;
    return s->domain[k];
}

static void draw_input(Sampled *s, int k, int sample) {
    const Value v = s->a->in[k];
    const DType t = value_type(s->w, v)->dtype;
    void *out = (void *)(uintptr_t)s->in[k];
    int64_t n;
    if (tensor_size(s, v, &n) && !is_given(s->o, input_name(s->w, v), t, sample, n, out))
        tensor_draw(s->o->seed, k, sample, t, domain_of(s, k), n, out);
}

static void draw_inputs(Sampled *s, int sample) {
    for (int k = 0; k < s->a->nin; k++) draw_input(s, k, sample);
}

static DType output_type(const Sampled *s, int k) { return value_type(s->w, s->a->out[k])->dtype; }
static DType wide_type(DType t) { return dtype_class(t) == 'F' ? DT_DOUBLE : t; }

/* ---- how far roundings move a result: computed only if two results differ by more than usual */

static void forget_moves(Sampled *s) {
    for (int k = 0; k < s->a->nout; k++)
        memset(s->moved[k], 0, sizeof **s->moved * (size_t)s->count[k]);
}

/* Adds the differences between a disturbed run, in s->spare, and the undisturbed one. */
static void add_moves(Sampled *s, void *const undisturbed[], bool wide) {
    for (int k = 0; k < s->a->nout; k++) {
        const DType t = wide ? wide_type(output_type(s, k)) : output_type(s, k);
        moves_add(t, undisturbed[k], s->spare[k], s->count[k], s->moved[k]);
    }
}

/* With other roundings the graph runs differently: sizes, or an index, depend on them. */
static void all_move(Sampled *s) {
    for (int k = 0; k < s->a->nout; k++)
        for (int64_t i = 0; i < s->count[k]; i++) s->moved[k][i] = INFINITY;
}

static void add_definition_moves(Sampled *s, const Graph *g, OracleNoise noise,
                                 void *const undisturbed[]) {
    Error ignored = {0};
    for (int k = 0; k < DISTURBANCES && s->small; k++) {
        noise.seed = random_at(s->o->seed, (uint64_t)k + 1);
        if (oracle_run_disturbed(s->w, g, s->sizes, &noise, s->in, s->spare, &ignored))
            add_moves(s, undisturbed, true);
        else all_move(s);
    }
}

/* Inputs that are a rounding away, where they are floats. */
static const void **inputs_nearby(Sampled *s, int draw) {
    const void **near = ARENA_NEW(s->arena, const void *, s->a->nin);
    for (int k = 0; k < s->a->nin; k++) {
        const DType t = value_type(s->w, s->a->in[k])->dtype;
        int64_t n = 0;
        near[k] = s->in[k];
        if (dtype_class(t) != 'F' || !tensor_size(s, s->a->in[k], &n)) continue;
        void *data = arena_alloc_raw(s->arena, (size_t)n * 8 + 8);
        data_nearby(s->o->seed + (uint64_t)draw, k, t, n, s->in[k], data);
        near[k] = data;
    }
    return near;
}

static void add_run_move(Sampled *s, const Graph *g, int draw, void *const undisturbed[]) {
    Graph disturbed;
    Error ignored = {0};
    if (!graph_disturbed(s->w, s->arena, g, s->sizes, s->o->seed + (uint64_t)draw, &disturbed,
                         &ignored))
        return;
    const Plan *plan = plan_build(s->w, s->arena, &disturbed, s->sizes, &ignored);
    Runner *runner = plan ? runner_new(plan, s->o->backend, s->o->device, &ignored) : NULL;
    const bool ran = runner && runner_run(runner, inputs_nearby(s, draw), s->spare, &ignored);
    if (ran) add_moves(s, undisturbed, false);
    else if (runner) all_move(s);
    runner_free(runner);
}

static void add_run_moves(Sampled *s, const Graph *g, void *const undisturbed[]) {
    for (int k = 0; k < DISTURBANCES; k++) {
        ArenaMark mark = arena_mark(s->arena);
        add_run_move(s, g, k, undisturbed);
        arena_reset(s->arena, mark);
    }
}

/* ---- comparisons */

static bool has_real_attribute(const Op *op) {
    for (int k = 0; k < attrs_count(op->attrs); k++)
        if (op->attrs[k].kind == A_REAL) return true;
    return false;
}

/* What of a graph rules and folding made and rounded: constants and real attributes of its own,
   which `other` has not. `all`: each is. */
static const bool *rounded_nodes(Sampled *s, const Graph *g, const Graph *other, bool all,
                                 uint32_t *n, bool *any) {
    *n = node_count(s->w) + 1;
    bool *is = ARENA_NEW(s->arena, bool, *n);
    const NodeList live = graph_live(s->w, s->arena, g), known = graph_live(s->w, s->arena, other);
    for (int k = 0; k < live.n; k++) {
        const Node node = node_get(s->w, live.v[k]);
        is[live.v[k]] = !node.nin || has_real_attribute(node.op);
    }
    for (int k = 0; k < known.n && !all; k++) is[known.v[k]] = false;
    for (int k = 0; k < live.n; k++) *any |= is[live.v[k]];
    return is;
}

typedef Tolerance ToleranceOf(const Sampled *, DType);

/* Of outputs that are floats of their own type or, wide, doubles. */
static void compare_outputs(Sampled *s, void *const a[], void *const b[], bool wide,
                            ToleranceOf *tolerance, bool moved, Difference each[]) {
    for (int k = 0; k < s->a->nout; k++) {
        const DType t = output_type(s, k);
        each[k] = difference_none();
        tensors_compare(wide ? wide_type(t) : t, a[k], b[k], s->count[k], tolerance(s, t),
                        moved ? s->moved[k] : NULL, k, &each[k]);
    }
}

static bool any_differs(const Sampled *s, const Difference each[]) {
    for (int k = 0; k < s->a->nout; k++)
        if (each[k].first >= 0) return true;
    return false;
}

static void take_up(const Sampled *s, const Difference each[], Difference *sum, Difference *kept) {
    for (int k = 0; k < s->a->nout; k++) {
        difference_add(sum, &each[k]);
        if (kept) difference_add(&kept[k], &each[k]);
    }
}

static Tolerance run_tolerance(const Sampled *s, DType t) {
    return classes_tolerance(s->o->classes, t);
}

/* By the built-in runtime: where they differ, roundings of inputs and constants and, in small
   graphs, of every node say how well the result is determined at all. */
static void compare_runs(Sampled *s, Difference *sum, Difference *kept) {
    Difference *each = ARENA_NEW(s->arena, Difference, s->a->nout);
    compare_outputs(s, s->out_a, s->out_b, false, run_tolerance, false, each);
    if (any_differs(s, each)) {
        const OracleNoise noise = {.own_type = true};
        forget_moves(s);
        add_run_moves(s, s->a, s->out_a);
        add_run_moves(s, s->b, s->out_b);
        add_definition_moves(s, s->a, noise, s->wide_a);
        add_definition_moves(s, s->b, noise, s->wide_b);
        compare_outputs(s, s->out_a, s->out_b, false, run_tolerance, true, each);
    }
    take_up(s, each, sum, kept);
}

/* In double, only the rounding of constants is left. */
static Tolerance double_tolerance(const Sampled *s, DType t) {
    if (dtype_class(t) != 'F') return (Tolerance){0, 0};
    return (Tolerance){s->rounded ? 8 * dtype_roundoff(t) : 1e-10, 1e-300};
}

static void compare_definitions(Sampled *s, Difference *sum) {
    Difference *each = ARENA_NEW(s->arena, Difference, s->a->nout);
    OracleNoise a = {0}, b = {0};
    const bool all = s->o->classes & CLASS_ROUNDS;
    s->rounded = false;
    a.rounded = rounded_nodes(s, s->a, s->b, all, &a.nrounded, &s->rounded);
    b.rounded = rounded_nodes(s, s->b, s->a, all, &b.nrounded, &s->rounded);
    compare_outputs(s, s->wide_a, s->wide_b, true, double_tolerance, false, each);
    if (any_differs(s, each)) {
        forget_moves(s);
        add_definition_moves(s, s->a, a, s->wide_a);
        add_definition_moves(s, s->b, b, s->wide_b);
        compare_outputs(s, s->wide_a, s->wide_b, true, double_tolerance, true, each);
    }
    take_up(s, each, sum, NULL);
}

/* Loose, because this tests kernels, not rules. */
static Tolerance kernel_tolerance(const Sampled *s, DType t) {
    (void)s;
    return dtype_class(t) == 'F'
               ? (Tolerance){fmax(classes_tolerance(CLASS_ROUNDS, t).rtol, 1e-2), 1e-6}
               : (Tolerance){INFINITY, INFINITY};
}

/* Operators without a definition (a sort, Unique, ..) run by one kernel in both, and may turn what
   rounding makes equal or unequal into anything. */
static bool all_defined(const Sampled *s, const Graph *g) {
    const NodeList live = graph_live(s->w, s->arena, g);
    for (int k = 0; k < live.n; k++) {
        const Node n = node_get(s->w, live.v[k]);
        if (n.nin && !op_algebraic(n.op)) return false;
    }
    return true;
}

/* An operator whose kernel chooses by data (thresholdedrelu) makes numbers of NaN and infinity
   where its definition, a sum of products, spreads them. */
static bool may_choose(const Sampled *s, const Graph *g) {
    const NodeList live = graph_live(s->w, s->arena, g);
    for (int k = 0; k < live.n; k++) {
        const Op *op = node_get(s->w, live.v[k]).op;
        if (op->flags & OP_BY_DATA && op->define) return true;
    }
    return false;
}

/* What the built-in runtime gave, as doubles, against the definitions. Where floats overflow, or
   only the definition has no number, nothing is compared. */
static void compare_kernels(Sampled *s, const Graph *g, void *const run[], void *const wide[],
                            Difference *sum) {
    Difference *each = ARENA_NEW(s->arena, Difference, s->a->nout);
    void **as_double = ARENA_NEW(s->arena, void *, s->a->nout);
    const bool chooses = may_choose(s, g);
    for (int k = 0; k < s->a->nout; k++) {
        const DType t = output_type(s, k);
        double *x = arena_alloc_raw(s->arena, (size_t)s->count[k] * 8 + 8);
        as_double[k] = dtype_class(t) == 'F' ? x : wide[k];
        for (int64_t i = 0; i < s->count[k] && as_double[k] == x; i++) {
            x[i] = element_real(t, run[k], i);
            const double defined = ((const double *)wide[k])[i];
            if (!isfinite(x[i]) || (chooses && !isfinite(defined))) x[i] = defined;
        }
    }
    compare_outputs(s, wide, as_double, true, kernel_tolerance, false, each);
    if (any_differs(s, each)) {
        forget_moves(s);
        add_definition_moves(s, g, (OracleNoise){.own_type = true}, wide);
        if (!all_defined(s, g)) add_run_moves(s, g, run);
        compare_outputs(s, wide, as_double, true, kernel_tolerance, true, each);
    }
    take_up(s, each, sum, NULL);
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

/* False: one of them has a part without definition. */
static bool run_definitions(Sampled *s) {
    Error ignored = {0};
    return !rounds_much(s, s->a) && !rounds_much(s, s->b) &&
           oracle_run(s->w, s->a, s->sizes, true, s->in, s->wide_a, &ignored) &&
           oracle_run(s->w, s->b, s->sizes, true, s->in, s->wide_b, &ignored);
}

static bool check_sample(Sampled *s, Runner *a, Runner *b, CheckResult *r) {
    if (!runner_run(a, s->in, s->out_a, s->error) || !runner_run(b, s->in, s->out_b, s->error))
        return false;
    s->small = s->small && run_definitions(s);
    compare_runs(s, &r->run, s->o->each);
    if (!s->small) return true;
    compare_definitions(s, &r->oracle);
    compare_kernels(s, s->a, s->out_a, s->wide_a, &r->kernel);
    compare_kernels(s, s->b, s->out_b, s->wide_b, &r->kernel);
    return true;
}

/* Where one of two results is finite and the other is not, for compare_runs b's becomes a's. */
static void compare_ranges(Sampled *s, Difference *d) {
    for (int k = 0; k < s->a->nout; k++) {
        const DType t = output_type(s, k);
        for (int64_t i = 0; i < s->count[k] && dtype_class(t) == 'F'; i++) {
            const double x = element_real(t, s->out_a[k], i), y = element_real(t, s->out_b[k], i);
            if (isfinite(x) && isfinite(y)) continue;
            element_set_real(t, s->out_b[k], i, x);
            if (isfinite(x) == isfinite(y) || d->first >= 0) continue;
            *d = (Difference){.output = k, .first = i, .a = x, .b = y};
        }
    }
}

/* Whole numbers are those of the first sample: they may be indices. */
static void draw_extremes(Sampled *s) {
    for (int k = 0; k < s->a->nin; k++) {
        const DType t = value_type(s->w, s->a->in[k])->dtype;
        draw_input(s, k, dtype_class(t) == 'F' ? SAMPLE_EXTREME : 0);
    }
}

static bool check_extremes(Sampled *s, Runner *a, Runner *b, CheckResult *r) {
    draw_extremes(s);
    if (!runner_run(a, s->in, s->out_a, s->error) || !runner_run(b, s->in, s->out_b, s->error))
        return false;
    compare_ranges(s, &r->range);
    s->small = s->small && run_definitions(s);
    compare_runs(s, &r->extreme, NULL);
    return true;
}

static bool check_samples(Sampled *s, Runner *a, Runner *b, int samples, CheckResult *r) {
    for (int k = 0; k < samples; k++) {
        ArenaMark mark = arena_mark(s->arena);
        draw_inputs(s, k);
        const bool done = check_sample(s, a, b, r);
        arena_reset(s->arena, mark);
        if (!done) return false;
    }
    return true;
}

static bool check_graphs(Sampled *s, CheckResult *r) {
    int samples = s->o->samples ? s->o->samples : 2;
    double limit = s->o->oracle_flops == 0 ? ORACLE_FLOPS : s->o->oracle_flops;
    if (s->a->nin != s->b->nin || s->a->nout != s->b->nout)
        return error_set(s->error, E_INVALID, "check", "the graphs differ in inputs or outputs");
    if (!take_buffers(s)) return false;
    Plan *a = plan_build(s->w, s->arena, s->a, s->sizes, s->error),
         *b = a ? plan_build(s->w, s->arena, s->b, s->sizes, s->error) : NULL;
    if (!b) return false;
    Runner *ra = runner_new(a, s->o->backend, s->o->device, s->error),
           *rb = ra ? runner_new(b, s->o->backend, s->o->device, s->error) : NULL;
    s->small = plan_flops(a) + plan_flops(b) <= limit;
    bool done = rb && check_samples(s, ra, rb, samples, r) &&
                (!s->o->extreme || check_extremes(s, ra, rb, r));
    runner_free(ra);
    runner_free(rb);
    r->agrees = r->run.first < 0 && r->oracle.first < 0 && r->kernel.first < 0;
    return done;
}

static CheckResult nothing_found(void) {
    return (CheckResult){.agrees = true,
                         .run = difference_none(),
                         .oracle = difference_none(),
                         .extreme = difference_none(),
                         .range = difference_none(),
                         .kernel = difference_none()};
}

bool graphs_check(World *w, const Graph *a, const Graph *b, Sizes sizes, const CheckOptions *o,
                  CheckResult *r, Error *e) {
    Arena *arena = arena_new(arena_escape(w->arena), 0);
    Sampled s = {.w = w, .arena = arena, .sizes = sizes, .o = o, .a = a, .b = b, .error = e};
    *r = nothing_found();
    bool done = check_graphs(&s, r);
    arena_free(arena);
    return done;
}

/* < 0: not known. */
static double graph_flops(Sampled *s, const Graph *g) {
    const NodeList live = graph_live(s->w, s->arena, g);
    double sum = 0;
    for (int k = 0; k < live.n; k++) {
        const double flops = sig_flops(s->w, node_get(s->w, live.v[k]).sig, s->sizes);
        if (flops < 0) return -1;
        sum += flops;
    }
    return sum;
}

static bool check_definitions(Sampled *s, CheckResult *r) {
    const int samples = s->o->samples ? s->o->samples : 2;
    const double a = graph_flops(s, s->a), b = graph_flops(s, s->b);
    if (a < 0 || b < 0 || a + b > ORACLE_FLOPS || !take_buffers(s)) return false;
    s->small = true;
    for (int k = 0; k < samples; k++) {
        draw_inputs(s, k);
        if (!run_definitions(s)) return false;
        compare_definitions(s, &r->oracle);
    }
    r->agrees = r->oracle.first < 0;
    return true;
}

bool graphs_check_definitions(World *w, const Graph *a, const Graph *b, Sizes sizes,
                              const CheckOptions *o, CheckResult *r) {
    Arena *arena = arena_new(arena_escape(w->arena), 0);
    Error ignored = {0};
    Sampled s = {.w = w, .arena = arena, .sizes = sizes, .o = o, .a = a, .b = b, .error = &ignored};
    *r = nothing_found();
    const bool done = a->nin == b->nin && a->nout == b->nout && check_definitions(&s, r);
    arena_free(arena);
    return done;
}
