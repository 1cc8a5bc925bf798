/* graphs_plan.c -- tests plans: views cost nothing, fusible operators are fused, and memory is
   shared only by values that are not alive at once. Random graphs give on the CPU what their
   definitions give. */
#include "graphs/plan/execute.h"
#include "graphs/oracle.h"
#include "ops/backend/backend.h"
#include "ops/base/random.h"
#include "ops/core/element.h"
#include "test/shared/fixture.h"
#include "graphs/world.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const Backend *cpu;
static Device *device;

static int open_device(void **state) {
    (void)state;
    Error e = {0};
    char why[256] = "";
    cpu = backend_open("cpu", &e);
    device = cpu ? cpu->open("", why, sizeof why) : NULL;
    if (!device) print_message("%s %s\n", e.reason, why);
    return device ? 0 : -1;
}

static int close_device(void **state) {
    (void)state;
    cpu->close(device);
    return 0;
}

static Plan *planned(World *w, const Graph *g) {
    Error e = {0};
    Plan *p = plan_build(w, w->arena, g, (Sizes){0}, &e);
    if (!p) print_message("%s: %s\n", e.place, e.reason);
    assert_non_null(p);
    return p;
}

static void show(World *w, const Graph *g, const Plan *p) {
    Text t = text_new(w->arena);
    graph_print(w, "failed", g, &t);
    plan_print(w, p, &t);
    print_message("%s", t.data);
}

static void *random_tensor(World *w, Value v, uint64_t seed) {
    int64_t dim[8], n;
    Random r = {seed, 0};
    const Type *t = value_type(w, v);
    assert_true(oracle_dims(w, t, (Sizes){0}, dim, &n));
    void *p = arena_alloc(w->arena, element_bytes(t->dtype, n));
    for (int64_t k = 0; k < n; k++) element_set_real(t->dtype, p, k, random_normal(&r));
    return p;
}

/* Runs the plan twice, so that memory is reused, and compares with the definitions. */
static void check_plan(World *w, const Graph *g, const Plan *p, double tolerance) {
    Error e = {0};
    const void **in = ARENA_NEW(w->arena, const void *, g->nin);
    void **out = ARENA_NEW(w->arena, void *, g->nout),
         **expected = ARENA_NEW(w->arena, void *, g->nout);
    for (int k = 0; k < g->nin; k++) in[k] = random_tensor(w, g->in[k], (uint64_t)k);
    for (int k = 0; k < g->nout; k++)
        out[k] = random_tensor(w, g->out[k], 99), expected[k] = random_tensor(w, g->out[k], 98);
    Runner *r = runner_new(p, cpu, device, &e);
    if (!r) print_message("%s: %s\n", e.place, e.reason), show(w, g, p);
    assert_non_null(r);
    for (int round = 0; round < 2; round++) {
        bool done = runner_run(r, in, out, &e);
        if (!done) print_message("%s: %s\n", e.place, e.reason);
        assert_true(done);
    }
    bool done = oracle_run(w, g, (Sizes){0}, false, in, expected, &e);
    if (!done) print_message("%s: %s\n", e.place, e.reason);
    assert_true(done);
    for (int k = 0; k < g->nout; k++) {
        int64_t dim[8], n;
        DType t = value_type(w, g->out[k])->dtype;
        oracle_dims(w, value_type(w, g->out[k]), (Sizes){0}, dim, &n);
        double scale = 1;
        for (int64_t i = 0; i < n; i++) scale = fmax(scale, fabs(element_real(t, expected[k], i)));
        for (int64_t i = 0; i < n; i++) {
            double x = element_real(t, out[k], i), y = element_real(t, expected[k], i);
            bool good = x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= tolerance * scale;
            if (!good)
                print_message("output %d element %d: %g, expected %g\n", k, (int)i, x, y),
                    show(w, g, p);
            assert_true(good);
        }
    }
    runner_free(r);
}

static void check_run(World *w, const Graph *g, double tolerance) {
    Plan *p = planned(w, g);
    check_plan(w, g, p, tolerance);
    plan_channels_last(NULL, w, p, NULL);
    check_plan(w, g, p, tolerance);
}

static int steps_of(const Plan *p, StepKind kind) {
    int n = 0;
    for (int k = 0; k < p->nstep; k++) n += p->step[k].step.kind == kind;
    return n;
}

static void check_step_count(World *w, const Graph *g, int nstep) {
    Plan *p = planned(w, g);
    if (p->nstep != nstep) show(w, g, p);
    assert_int_equal(p->nstep, nstep);
}
static void check_steps(const char *text, int nstep) {
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, text);
    check_step_count(w, &g, nstep);
    check_run(w, &g, 1e-5);
    world_free(w);
}
/* Casts have no definition to compare with; test_run_model.py checks their results. */
static void check_casts(const char *text, int nstep) {
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, text);
    check_step_count(w, &g, nstep);
    world_free(w);
}

static void epilogues_are_fused(void **state) {
    (void)state;
    check_steps("graph g %x : F [2, 3, 8, 8] %w : F [4, 3, 3, 3] %b : F [4, 1, 1] %z : F [2, 4, 8, "
                "8]\nbody\n %y = conv %x %w pads=[1, 1, 1, 1]\n"
                " %c = broadcast %b shape=[2, 4, 8, 8]\n %d = add %y %c\n %s = add %z %d\n %e = "
                "relu %s\n out %e\n",
                1);
    check_steps("graph g %x : F [5, 8] %w : F [8, 6] %b : F [6]\nbody\n %y = matmul %x %w\n %d = "
                "add %y %b\n %h = hardswish %d\n out %h\n",
                1);
    check_steps("graph g %x : F [5, 8]\nbody\n %a = exp %x\n %b = sqrt %a\n %c = mul %b %a\n %d = "
                "sub %c %x\n out %d\n",
                1); /* both readers of %a are fused */
    check_steps("graph g %x : F [5, 8]\nbody\n %a = exp %x\n %b = sqrt %a\n %c = mul %b %b\n %d = "
                "sub %c %x\n out %d\n",
                1);
    /* %a is an output, so it must be stored. */
    check_steps("graph g %x : F [5, 8]\nbody\n %a = exp %x\n %b = sqrt %a\n out %b %a\n", 2);
    check_steps("graph g %x : F [5, 8] %z : F [5, 8]\nbody\n %a = exp %x\n %b = div %a %z\n %c = "
                "relu %b\n out %c\n",
                1);
    check_steps(
        "graph g %x : F [5, 8]\nbody\n %a = reduce_sum %x axes=[1]\n %b = sqrt %a\n out %b\n", 1);
}
/* Steps are fused whatever type lies between them, unless they compute in different arithmetic. */
static void types_are_fused(void **state) {
    (void)state;
    check_steps("graph g %x : I32 [5, 8] %z : I32 [5, 8]\nbody\n %a = add %x %z\n %b = max %a %z\n "
                "out %b\n",
                1);
    check_casts(
        "graph g %x : F [5, 8]\nbody\n %a = cast %x to=I8\n %b = cast %a to=F\n %c = sub %x "
        "%b\n out %c\n",
        1);
    check_casts("graph g %x : F [5, 8] %w : F [8, 3]\nbody\n %a = matmul %x %w\n %b = cast %a "
                "to=F16\n %c = cast %b to=F\n out %c\n",
                1);
    check_casts("graph g %x : I64 [5, 8] %z : I64 [5, 8]\nbody\n %a = add %x %z\n %b = cast %a "
                "to=F\n %c = relu %b\n out %c\n",
                2); /* a sum in 64 bits differs from one of floats */
    check_casts(
        "graph g %x : U8 [5, 8] %z : U8 [5, 8]\nbody\n %a = max %x %z\n %b = cast %a to=F\n "
        "%c = exp %b\n out %c\n",
        1); /* a maximum of 8-bit integers is the same in floats */
}

static void views_are_free(void **state) {
    (void)state;
    check_steps("graph g %x : F [4, 6] %w : F [4, 5]\nbody\n %t = transpose %x perm=[1, 0]\n %y = "
                "matmul %t %w\n out %y\n",
                1);
    check_steps("graph g %x : F [4, 6]\nbody\n %r = reshape %x shape=[2, 2, 6]\n %a %b = split %r "
                "axis=2 sizes=[2, 4]\n %y = exp %a\n %z = "
                "exp %b\n out %y %z\n",
                2);
    check_steps("graph g %x : F [4, 6]\nbody\n %t = transpose %x perm=[1, 0]\n %r = reshape %t "
                "shape=[24]\n %y = exp %r\n out %y\n",
                2); /* not affine, so it is copied */
}

/* Channels shuffled as in ShuffleNet become one strided copy. */
static void shuffles_are_copies(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, "graph g %x : F [1, 6, 5, 5]\nbody\n %a = reshape %x shape=[1, 2, 3, 5, "
                          "5]\n %t = transpose %a perm=[0, 2, 1, 3, 4]\n"
                          " %b = reshape %t shape=[1, 6, 5, 5]\n out %b\n");
    Plan *p = planned(w, &g);
    assert_int_equal(p->nstep, 1);
    assert_int_equal(steps_of(p, S_COPY), 1);
    check_run(w, &g, 0);
    world_free(w);
}
static void outputs_that_are_views_are_copied(void **state) {
    (void)state;
    check_steps("graph g %x : F [4, 6]\nbody\n %t = transpose %x perm=[1, 0]\n %e = exp %x\n %k = "
                "constant F [2] {1, 2}\n out %t %x %e %e %k\n",
                5);
    check_steps("graph g %x : F [4, 6]\nbody\n out %x\n", 1);
}

static void concats_are_written_in_place(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, "graph g %x : F [2, 3, 4] %y : F [2, 5, 4]\nbody\n %a = exp %x\n %b = "
                          "tanh %y\n %c = concat %a %b axis=1\n %d = exp %b\n"
                          " %e = concat %c %d %x axis=1\n %f = neg %e\n %g = abs %e\n %h = "
                          "reduce_sum %f axes=[0]\n out %h %g\n");
    Plan *p = planned(w, &g);
    if (steps_of(p, S_COPY) != 1) show(w, &g, p);
    assert_int_equal(steps_of(p, S_COPY), 1); /* only %x is copied */
    check_run(w, &g, 1e-5);
    world_free(w);
    w = graph_world_new(NULL, 0);
    g = graph_of(w, "graph g %x : F [2, 3]\nbody\n %a = exp %x\n %c = concat %a %a axis=0\n %d = "
                    "concat %a %x axis=0\n out %c %d %a\n");
    check_run(w, &g, 1e-6); /* copied: one operand occurs twice, another is an output */
    world_free(w);
    check_steps(
        "graph g %x : F [2, 3] %y : F [2, 5]\nbody\n %a = exp %x\n %b = tanh %y\n %c = concat "
        "%a %b %x axis=1\n %d = sigmoid %c\n out %d\n",
        3); /* the sigmoid joins the steps that write the parts, and a copy */
}

static void constants_alone_are_computed_once(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, "graph g %x : F [5, 8]\nbody\n %w = constant F [8, 6] seed(1)\n %s = "
                          "constant F [6] seed(2)\n %v = mul %w %s\n %t = "
                          "reduce_sum %v axes=[0]\n"
                          " %y = matmul %x %v\n %z = mul %y %t\n out %z\n");
    Plan *p = planned(w, &g);
    assert_int_equal(p->nstep, 3);
    assert_true(p->step[0].once && p->step[1].once && !p->step[2].once);
    check_run(w, &g, 1e-5);
    world_free(w);
    check_steps("graph g %x : F [6]\nbody\n %w = constant F [8, 6] seed(1)\n %t = reduce_sum %w "
                "axes=[0]\n %y = mul %t %x\n out %y\n",
                2);
}
/* The most elements that a step whose program has this instruction writes; -1: no such step. */
static int64_t written_by(const Plan *p, int op) {
    int64_t most = -1;
    for (int k = 0; k < p->nstep; k++)
        for (int i = 0; i < p->step[k].step.ncode; i++)
            if (p->step[k].step.code[i].op == op && view_count(&p->step[k].step.view[0]) > most)
                most = view_count(&p->step[k].step.view[0]);
    return most;
}
static void check_written(const char *text, int op, int64_t elements) {
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, text);
    const Plan *p = planned(w, &g);
    if (written_by(p, op) != elements) show(w, &g, p);
    assert_int_equal(written_by(p, op), elements);
    check_run(w, &g, 1e-5);
    world_free(w);
}
/* A function of a value that repeats along an axis is computed once, if all its readers read along
   the same axes. A part of a program that depends on constants only becomes a step of its own. */
static void what_repeats_is_computed_once(void **state) {
    (void)state;
    check_written("graph g %x : F [3] %z : F [2, 5, 3]\nbody\n %b = broadcast %x shape=[2, 5, 3]\n "
                  "%e = exp %b\n %y = mul %e %z\n out %y\n",
                  C_EXP, 3);
    check_written("graph g %x : F [3] %z : F [5, 3]\nbody\n %b = broadcast %x shape=[4, 5, 3]\n "
                  "%e = exp %b\n %s = slice %e starts=[1, 0, 0] sizes=[2, 5, 3] steps=[1, 1, 1]\n "
                  "%y = mul %s %z\n out %y\n",
                  C_EXP, 3);
    check_written("graph g %x : F [3] %z : F [15]\nbody\n %b = broadcast %x shape=[5, 3]\n "
                  "%e = exp %b\n %r = reshape %e shape=[15]\n %y = mul %r %z\n out %y\n",
                  C_EXP, 15); /* the reshape joins the repeated axis with another */
    check_written("graph g %x : F [3] %z : F [3]\nbody\n %b = broadcast %x shape=[5, 3]\n "
                  "%e = exp %b\n %r = reshape %e shape=[15]\n "
                  "%s = slice %r starts=[1] sizes=[3] steps=[1]\n %y = mul %s %z\n out %y\n",
                  C_EXP, 15); /* the slice reaches from one row into the next */
    check_written("graph g %z : F [4, 3]\nbody\n %k = constant F [3] {1, 2, 3}\n "
                  "%b = broadcast %k shape=[4, 3]\n %q = mul %z %b\n %s = sqrt %b\n "
                  "%y = add %q %s\n out %y\n",
                  C_SQRT, 3);
    check_written("graph g %k : F [3] %z : F [4, 3]\nbody\n %b = broadcast %k shape=[4, 3]\n "
                  "%q = add %z %b\n %y = sqrt %q\n out %y\n",
                  C_SQRT, 12); /* %k is an input, so it differs between runs */
    check_written("graph g %z : F [4, 0]\nbody\n %k = constant F [0] {}\n "
                  "%b = broadcast %k shape=[4, 0]\n %q = mul %z %b\n %s = sqrt %b\n "
                  "%y = add %q %s\n out %y\n",
                  C_SQRT, 0); /* a constant without elements needs no computation */
}

/* An input that is left out has no slot: it does not keep a step from being computed only once, and
   nothing is read or written in its place. */
static void what_is_left_out_has_no_slot(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, "graph g %x : F [3, 2, 4]\nbody\n %w = constant F [1, 16, 4] seed(1)\n "
                          "%r = constant F [1, 16, 4] seed(2)\n"
                          " %v = constant F [3, 2, 4] seed(3)\n %h = constant F [1, 2, 4] seed(4)\n"
                          " %a %b %c = lstm %v %w %r _ _ %h hidden=4\n %y = add %b %c\n %d %e %f = "
                          "lstm %x %w %r _ _ %h hidden=4\n out %y %d\n");
    /* A byte that is neither true nor false, so that an uninitialized flag shows. */
    memset(arena_alloc(w->scratch, 1 << 16), 0xbe, 1 << 16);
    Plan *p = planned(w, &g);
    int once = 0;
    for (int k = 0; k < p->nstep; k++) once += p->step[k].once;
    assert_true(once >= 2 && p->step[0].once && !p->step[once].once);
    check_run(w, &g, 1e-5);
    world_free(w);
}

static void memory_is_shared(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Text t = text_new(w->arena);
    text_add(&t, "graph g %%x0 : F [16, 16]\nbody\n");
    for (int k = 0; k < 20; k++)
        text_add(&t, " %%t%d = softmax %%x%d axis=1\n %%x%d = matmul %%t%d %%t%d\n", k, k, k + 1, k,
                 k);
    text_add(&t, " out %%x20\n");
    Graph g = graph_of(w, t.data);
    Plan *p = planned(w, &g);
    assert_true(p->work_bytes <= 3 * 16 * 16 * 4);
    for (int a = 0; a < p->nslot; a++)
        for (int b = 0; b < a; b++) {
            const Slot *s = &p->slot[a], *r = &p->slot[b];
            if (s->arena_offset < 0 || r->arena_offset < 0) continue;
            bool together = false;
            for (int k = 0; k < p->nstep; k++) {
                bool has_a = false, has_b = false;
                for (int j = 0; j < p->step[k].step.nview; j++)
                    has_a |= p->step[k].step.view[j].slot == a,
                        has_b |= p->step[k].step.view[j].slot == b;
                together |= has_a && has_b;
            }
            assert_true(!together || s->arena_offset + s->bytes <= r->arena_offset ||
                        r->arena_offset + r->bytes <= s->arena_offset);
        }
    check_run(w, &g, 1e-5);
    world_free(w);
}

/* Each allocation of a runner fails once: every failure is an error, and nothing leaks (the address
   sanitizer checks). */
static void running_out_of_memory_is_an_error(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, "graph g %x : F [5, 8]\nbody\n %w = constant F [8, 6] seed(1)\n %v = neg "
                          "%w\n %y = matmul %x %v\n %z = softmax %y "
                          "axis=1\n out %z\n");
    Plan *p = planned(w, &g);
    int failed = 0;
    for (int64_t n = 1; n < 1000; n++) {
        Error e = {0};
        mem_fail_at(n);
        Runner *r = runner_new(p, cpu, device, &e);
        mem_fail_at(0);
        failed += r == NULL;
        if (r) {
            runner_free(r);
            break;
        }
        assert_true(e.kind == E_MEMORY || e.kind == E_LIMIT || e.kind == E_ENVIRONMENT);
    }
    assert_true(failed > 5 && failed < 999);
    world_free(w);
}

/* A part of a graph, whose inputs are values inside the graph, can be planned. */
static void parts_of_graphs_can_be_planned(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, "graph g %x : F [2]\nbody\n %o = opaque %x blob=hex\"\" types=[1, 1, "
                          "2]\n %b = exp %o\n %c = add %b %o\n %d = "
                          "softmax %c axis=0\n out %d %o\n");
    Graph part = {1, 1, &g.out[1], &g.out[0]};
    assert_int_equal(graph_live(w, w->arena, &part).n, 3);
    assert_int_equal(planned(w, &part)->nstep, 2);
    world_free(w);
}

/* ---- random graphs */

typedef struct Made {
    int n;
    Value v[40];
} Made;

static Value pick(Made *m, Random *r) { return m->v[random_below(r, (uint64_t)m->n)]; }

static Value make(World *w, const char *op, const char *attrs, int nin, const Value in[]) {
    Text t = text_new(w->arena);
    Names names = {.arena = w->arena};
    Value *out;
    int nout;
    Error e = {0};
    text_add(&t, " %%y = %s", op);
    for (int k = 0; k < nin; k++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", k);
        names_set(&names, name, in[k]);
        text_add(&t, " %%%s", name);
    }
    text_add(&t, " %s\n out %%y\n", attrs);
    Scan s = scan_new("made", t.data, t.size, &e);
    return graph_parse_nodes(w, w->arena, &s, &names, &out, &nout, &e) ? out[0] : 0;
}

static int64_t dim_of(World *w, Value v, int k) {
    int64_t n = 0;
    poly_constant(w, value_type(w, v)->dim.v[k], &n);
    return n;
}

static Value grow(World *w, Made *m, Random *r) {
    static const char *const unary[] = {"relu", "sigmoid", "exp", "hardswish", "tanh"},
                             *const binary[] = {"add", "mul", "sub", "max"};
    Value x[2] = {pick(m, r), pick(m, r)};
    int rank = value_type(w, x[0])->dim.n;
    char attrs[100];
    switch (random_below(r, 9)) {
    case 0:
    case 1: return make(w, unary[random_below(r, 5)], "", 1, x);
    case 2:
    case 3: return make(w, binary[random_below(r, 4)], "", 2, x);
    case 4: return make(w, "matmul", "", 2, x);
    case 5:
        snprintf(attrs, sizeof attrs, "axis=%d", (int)random_below(r, (uint64_t)rank));
        return make(w, random_below(r, 3) ? "concat" : "softmax", attrs, random_below(r, 3) ? 2 : 1,
                    x);
    case 6: return make(w, "transpose", rank == 2 ? "perm=[1, 0]" : "perm=[0, 2, 1]", 1, x);
    case 7:
        if (rank == 2)
            return snprintf(attrs, sizeof attrs, "shape=[%d, %d]", (int)dim_of(w, x[0], 1),
                            (int)dim_of(w, x[0], 0)),
                   make(w, "reshape", attrs, 1, x);
        return snprintf(attrs, sizeof attrs, "shape=[%d, %d]",
                        (int)(dim_of(w, x[0], 0) * dim_of(w, x[0], 1)), (int)dim_of(w, x[0], 2)),
               make(w, "reshape", attrs, 1, x);
    default:
        if (rank == 3) return make(w, "reduce_max", "axes=[2]", 1, x);
        return snprintf(attrs, sizeof attrs, "shape=[2, %d, %d]", (int)dim_of(w, x[0], 0),
                        (int)dim_of(w, x[0], 1)),
               make(w, "broadcast", attrs, 1, x);
    }
}

static void random_graphs_run_as_defined(void **state) {
    (void)state;
    for (uint64_t round = 0; round < 300; round++) {
        World *w = graph_world_new(NULL, 0);
        Random r = {round, 0};
        Made m = {0};
        const Type square = {
            .dtype = DT_FLOAT, .known = true, .dim = {2, {poly_int(w, 4), poly_int(w, 4)}}};
        const Type cube = {.dtype = DT_FLOAT,
                           .known = true,
                           .dim = {3, {poly_int(w, 2), poly_int(w, 4), poly_int(w, 4)}}};
        Value in[] = {graph_input(w, "x", &square), graph_input(w, "y", &cube)};
        m.v[m.n++] = in[0];
        m.v[m.n++] = in[1];
        for (int k = 0; k < 60 && m.n < 25; k++) {
            Value v = grow(w, &m, &r);
            int64_t dim[8], n;
            if (v && oracle_dims(w, value_type(w, v), (Sizes){0}, dim, &n) && n < 2000)
                m.v[m.n++] = v;
        }
        Value out[] = {m.v[m.n - 1], m.v[m.n - 2], pick(&m, &r)};
        Graph g = {2, 3, in, out};
        check_run(w, &g, 1e-4);
        world_free(w);
    }
}

/* The number of views that lie channels last. The channels are axis 1 or, where that has one place,
   axis 0. */
static int channels_last(const Plan *p) {
    int n = 0;
    for (int k = 0; k < p->nstep; k++)
        for (int j = 0; j < p->step[k].step.nview; j++) {
            const View *v = &p->step[k].step.view[j];
            const int a = v->rank == 4 && v->dim[1] > 1;
            n += v->rank == 4 && v->dim[a] > 1 && v->stride[a] == 1 && v->stride[3] >= v->dim[a];
        }
    return n;
}
static void check_layout(const char *text, int views) {
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, text);
    Plan *p = planned(w, &g);
    assert_int_equal(channels_last(p), 0);
    plan_channels_last(NULL, w, p, NULL);
    if (channels_last(p) != views) show(w, &g, p);
    assert_int_equal(channels_last(p), views);
    check_run(w, &g, 1e-5);
    world_free(w);
}
/* In a part of a plan, loose inputs and outputs may be laid out freely: here x and the result. */
static void the_ends_of_a_part_may_lie_channels_last(void **state) {
    (void)state;
    static const bool loose[] = {true, false};
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, "graph g %x : F [2, 4, 6, 5] %w : F [4, 4, 3, 3]\nbody\n %a = conv %x "
                          "%w\n %b = relu %a\n out %b\n");
    Plan *p = planned(w, &g), *whole = planned(w, &g);
    plan_channels_last(NULL, w, whole, NULL);
    assert_int_equal(channels_last(whole), 0);
    plan_channels_last(NULL, w, p, loose);
    assert_int_equal(channels_last(p), 2);
    world_free(w);
}

static void convolutions_lie_channels_last(void **state) {
    (void)state;
#define HEAD                                                                                       \
    "graph g %x : F [2, 3, 6, 5] %w : F [4, 3, 3, 3] %v : F [4, 4, 1, 1]\nbody\n %a = conv %x %w " \
    "pads=[1, 1, 1, 1]\n %b = conv %a %v\n"
    check_layout(HEAD " %c = conv %b %v\n out %c\n", 4); /* inputs and outputs stay as they are */
    check_layout(HEAD " %s = sigmoid %b\n %c = concat %b %s %a axis=1\n %u = slice %c starts=[0, "
                      "2, 1, 0] sizes=[2, 8, 4, 5]\n %d = relu %u\n out %d\n",
                 6);
    check_layout(HEAD " %c = maxpool %b kernel=[2, 2]\n %d = conv %c %v\n out %d\n", 6);
    /* %b is flattened and stays as it is. */
    check_layout(HEAD " %c = reshape %b shape=[2, 120]\n %d = relu %c\n out %d\n", 2);
    check_layout(HEAD " %c = reshape %b shape=[2, 2, 2, 30]\n %t = transpose %c perm=[0, 2, 1, "
                      "3]\n %d = reshape %t shape=[2, 4, 6, 5]\n"
                      " %e = conv %d %v\n out %e\n",
                 5);
    check_layout(HEAD " %m = reduce_mean %b axes=[2, 3]\n %d = relu %m\n out %d\n", 4);
    /* A norm over the channels reads them in the last place, and its result stays so. */
    check_layout(HEAD " %t = transpose %b perm=[0, 2, 3, 1]\n %s = mul %t %t\n %m = reduce_mean %s "
                      "axes=[3]\n out %m\n",
                 3);
    /* A result has the layout of the operand although its axes are not those of an image. */
    check_layout("graph g %x : F [1, 3, 6, 5] %w : F [4, 3, 3, 3] %v : F [4, 4, 1, 1]\nbody\n %a = "
                 "conv %x %w pads=[1, 1, 1, 1]\n %b = conv %a %v\n %r = reshape %b shape=[4, 1, 6, "
                 "5]\n %s = mul %r %r\n %q = reshape %s shape=[1, 4, 6, 5]\n %m = reduce_mean %q "
                 "axes=[1]\n out %m\n",
                 5);
    /* A depthwise convolution whose result is flattened reads planes, too. */
    check_layout(
        "graph g %x : F [2, 3, 6, 5] %w : F [4, 3, 3, 3] %v : F [4, 4, 1, 1] %u : F [4, 1, 3, "
        "3]\nbody\n %a = conv %x %w pads=[1, 1, 1, 1]\n %b = conv %a %v\n %r = reshape %b "
        "shape=[2, 120]\n %s = relu %r\n %q = reshape %s shape=[2, 4, 6, 5]\n %m = mul %q %q\n "
        "%d = conv %m %u group=4 pads=[1, 1, 1, 1]\n %f = reshape %d shape=[2, 120]\n %e = "
        "softmax %f axis=1\n out %e\n",
        2);
#undef HEAD
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epilogues_are_fused),
        cmocka_unit_test(types_are_fused),
        cmocka_unit_test(views_are_free),
        cmocka_unit_test(shuffles_are_copies),
        cmocka_unit_test(outputs_that_are_views_are_copied),
        cmocka_unit_test(concats_are_written_in_place),
        cmocka_unit_test(constants_alone_are_computed_once),
        cmocka_unit_test(what_repeats_is_computed_once),
        cmocka_unit_test(what_is_left_out_has_no_slot),
        cmocka_unit_test(convolutions_lie_channels_last),
        cmocka_unit_test(the_ends_of_a_part_may_lie_channels_last),
        cmocka_unit_test(memory_is_shared),
        cmocka_unit_test(running_out_of_memory_is_an_error),
        cmocka_unit_test(parts_of_graphs_can_be_planned),
        cmocka_unit_test(random_graphs_run_as_defined),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
