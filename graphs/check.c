/* check.c -- compares two graphs on the same samples. Both are planned and run by the same
   executor; small ones are also computed by their definitions in double, with a far tighter
   tolerance. */
#include "graphs/check_inner.h"
#include "graphs/plan/execute.h"
#include "ops/core/element.h"
#include <math.h>
#include <string.h>

static bool sampled_size(Sampled *s, Value v, int64_t *count) {
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

/* Reports that output k differs between the graphs. Different element types, ranks or constant
   sizes are certainly wrong (E_CHECK); other sizes may differ only because one size was guessed
   twice. */
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
    s->in_count = ARENA_NEW(s->arena, int64_t, s->a->nin);
    s->domain = ARENA_NEW(s->arena, Domain, s->a->nin);
    s->out_a = ARENA_NEW(s->arena, void *, s->a->nout);
    s->out_b = ARENA_NEW(s->arena, void *, s->a->nout);
    s->wide_a = ARENA_NEW(s->arena, void *, s->a->nout);
    s->wide_b = ARENA_NEW(s->arena, void *, s->a->nout);
    s->count = ARENA_NEW(s->arena, int64_t, s->a->nout);
    s->spare = ARENA_NEW(s->arena, void *, s->a->nout);
    s->moved = ARENA_NEW(s->arena, double *, s->a->nout);
    for (int k = 0; k < s->a->nin; k++) {
        if (!sampled_size(s, s->a->in[k], &n) || !sampled_size(s, s->b->in[k], &other))
            return false;
        if (n != other ||
            value_type(s->w, s->a->in[k])->dtype != value_type(s->w, s->b->in[k])->dtype)
            return error_set(s->error, E_INVALID, "check", "input %d differs in type or size", k);
        s->in_count[k] = n;
        s->in[k] = arena_alloc_raw(s->arena, (size_t)n * 8 + 8);
    }
    for (int k = 0; k < s->a->nout; k++) {
        if (!sampled_size(s, s->a->out[k], &n) || !sampled_size(s, s->b->out[k], &other))
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
    return o->given && input && o->given(o->given_user, input, sample, t, n, out);
}

void check_input(const CheckOptions *o, const char *input, DType t, int index, int sample,
                 int64_t n, void *out) {
    if (!is_given(o, input, t, sample, n, out)) tensor_sample(o->seed, index, sample, t, n, out);
}

/* The domain of input k. Domains are computed only if integers are drawn. */
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
    const int64_t n = s->in_count[k];
    if (!is_given(s->o, input_name(s->w, v), t, sample, n, out))
        tensor_draw(s->o->seed, k, sample, t, domain_of(s, k), n, out);
}

/* Returns an earlier input that is the same value as input k in one of the graphs; -1: none is. */
static int same_input(const Sampled *s, int k) {
    for (int j = 0; j < k; j++)
        if (s->a->in[j] == s->a->in[k] || s->b->in[j] == s->b->in[k]) return j;
    return -1;
}

static void draw_inputs(Sampled *s, int sample) {
    for (int k = 0; k < s->a->nin; k++) {
        const int same = same_input(s, k);
        if (same >= 0) s->in[k] = s->in[same];
        else draw_input(s, k, sample);
    }
}

static double plan_flops(const Plan *p) {
    double sum = 0;
    for (int k = 0; k < p->nstep; k++) sum += p->step[k].flops;
    return sum;
}

/* Whether floats of at most 8 bits occur, to which definitions do not round. */
static bool rounds_much(const Sampled *s, const Graph *g) {
    NodeList live = graph_live(s->w, s->arena, g);
    for (int k = 0; k < live.n; k++) {
        DType t = value_type(s->w, live.v[k])->dtype;
        if (dtype_class(t) == 'F' && dtype_bits(t) <= 8) return true;
    }
    return false;
}

/* Computes both graphs by their definitions. Returns false if a part of them has none. */
static bool run_definitions(Sampled *s) {
    Error ignored = {0};
    return !rounds_much(s, s->a) && !rounds_much(s, s->b) &&
           oracle_run(s->w, s->a, s->sizes, true, s->in, s->wide_a, &ignored) &&
           oracle_run(s->w, s->b, s->sizes, true, s->in, s->wide_b, &ignored);
}

static bool check_sample(Sampled *s, Runner *a, Runner *b, CheckResult *r) {
    if (!runner_run(a, s->in, s->out_a, s->error) || !runner_run(b, s->in, s->out_b, s->error))
        return false;
    s->by_definitions = s->by_definitions && run_definitions(s);
    sampled_compare_runs(s, &r->run, s->o->each);
    if (!s->by_definitions) return true;
    sampled_compare_definitions(s, &r->oracle);
    sampled_compare_kernels(s, s->a, s->out_a, s->wide_a, &r->kernel);
    sampled_compare_kernels(s, s->b, s->out_b, s->wide_b, &r->kernel);
    return true;
}

/* Draws the floats of SAMPLE_EXTREME. Integers are those of the first sample, since they may be
   indices. */
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
    sampled_compare_ranges(s, &r->range);
    s->by_definitions = s->by_definitions && run_definitions(s);
    sampled_compare_runs(s, &r->extreme, NULL);
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
    if (s->a->nin != s->b->nin || s->a->nout != s->b->nout)
        return error_set(s->error, E_INVALID, "check", "the graphs differ in inputs or outputs");
    if (!take_buffers(s)) return false;
    Plan *a = plan_build(s->w, s->arena, s->a, s->sizes, s->error),
         *b = a ? plan_build(s->w, s->arena, s->b, s->sizes, s->error) : NULL;
    if (!b) return false;
    Runner *ra = runner_new(a, s->o->backend, s->o->device, s->error),
           *rb = ra ? runner_new(b, s->o->backend, s->o->device, s->error) : NULL;
    s->by_definitions = plan_flops(a) + plan_flops(b) <= CHECK_WORK;
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

/* The elements of a value; < 0: not known, or too many. */
static double value_elements(World *w, Value v, Sizes sizes) {
    int64_t dim[RANK_MAX], n;
    return oracle_dims(w, value_type(w, v), sizes, dim, &n) ? (double)n : -1;
}
/* The work of a node: its operations or, if these are more, the elements that it makes, which moves
   must also write. */
static double node_work(World *w, const Node *n, Sizes sizes) {
    const double flops = sig_flops(w, n->sig, sizes);
    double elements = 0;
    for (int k = 0; k < n->nout && elements >= 0; k++) {
        const double some = value_elements(w, n->out + (Value)k, sizes);
        elements = some < 0 ? -1 : elements + some;
    }
    return flops < 0 || elements < 0 ? -1 : fmax(flops, elements);
}
/* The work of a graph, of which drawing its inputs, which are nodes, is a part; < 0 if it is not
   known. */
static double graph_work(World *w, Arena *a, const Graph *g, Sizes sizes) {
    const NodeList live = graph_live(w, a, g);
    double sum = 0, some = 0;
    for (int k = 0; k < live.n && some >= 0; k++) {
        const Node n = node_get(w, live.v[k]);
        some = node_work(w, &n, sizes);
        sum += some;
    }
    return some < 0 ? -1 : sum;
}

double graphs_check_work(World *w, const Graph *a, const Graph *b, Sizes sizes) {
    const ArenaMark mark = arena_mark(w->scratch);
    const double of_a = graph_work(w, w->scratch, a, sizes),
                 of_b = graph_work(w, w->scratch, b, sizes);
    arena_reset(w->scratch, mark);
    return of_a < 0 || of_b < 0 ? -1 : of_a + of_b;
}

/* Where an element of a is NaN, makes b's element NaN, too. */
static void forget_undefined(Sampled *s) {
    for (int k = 0; k < s->a->nout; k++) {
        const double *a = s->wide_a[k];
        double *b = s->wide_b[k];
        for (int64_t i = 0; i < s->count[k] && dtype_class(sampled_type(s, k)) == 'F'; i++)
            if (isnan(a[i])) b[i] = NAN;
    }
}

static bool definitions_on(Sampled *s, int sample, CheckResult *r) {
    const ArenaMark mark = arena_mark(s->arena);
    draw_inputs(s, sample);
    const bool ran = run_definitions(s);
    if (ran && s->o->refines) forget_undefined(s);
    if (ran) sampled_compare_definitions(s, &r->oracle);
    arena_reset(s->arena, mark);
    return ran;
}

static bool check_definitions(Sampled *s, CheckResult *r) {
    const int samples = s->o->samples ? s->o->samples : 2;
    if (!take_buffers(s)) return false;
    s->by_definitions = true;
    for (int k = 0; k < samples; k++)
        if (!definitions_on(s, k, r)) return false;
    if (samples <= SAMPLE_SIGNED && !definitions_on(s, SAMPLE_SIGNED, r)) return false;
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
