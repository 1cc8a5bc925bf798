/* graphs_rotate.c -- tests which element-wise steps the planner joins to a step "rotate"
   (graphs/plan/plan_rotate.c): rotations of pairs, in any order of their operands, and nothing
   else. Joined or not, a graph gives the same bytes. Pairs that are interleaved by axes of size 1
   are written in place, without copies. */
#include "graphs/plan/execute.h"
#include "graphs/world.h"
#include "ops/backend/backend.h"
#include "ops/backend/isomer_op_steps.h"
#include "ops/base/random.h"
#include "test/shared/fixture.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static OpenDevice cpu;
static int open_device(void **state) {
    (void)state;
    Error e = {0};
    char why[256] = "";
    cpu.backend = backend_open("cpu", &e);
    cpu.device = cpu.backend ? cpu.backend->open("", why, sizeof why) : NULL;
    return cpu.device ? 0 : -1;
}
static int close_device(void **state) {
    (void)state;
    cpu.backend->close(cpu.device);
    return 0;
}

enum { ELEMENTS = 48, MOST = 96, OUTPUTS = 3 };
/* Runs a plan of a graph whose inputs have 48 elements, and whose results have at most MOST. */
static void run(const Plan *p, const Graph *g, float y[OUTPUTS][MOST]) {
    Random random = {.seed = 1};
    static float x[8][ELEMENTS];
    const void *in[8];
    void *out[OUTPUTS];
    Error e = {0};
    for (int k = 0; k < g->nin; k++) {
        for (int i = 0; i < ELEMENTS; i++) x[k][i] = (float)random_unit(&random) - 0.5f;
        in[k] = x[k];
    }
    for (int k = 0; k < g->nout; k++) out[k] = y[k];
    Runner *r = runner_new(p, cpu.backend, cpu.device, &e);
    assert_non_null(r);
    assert_true(runner_run(r, in, out, &e));
    runner_free(r);
}
static int turns(const Plan *p) {
    int n = 0;
    for (int k = 0; k < p->nstep; k++) n += step_is_rotate(&p->step[k].step);
    return n;
}
#define HEAD "graph g %p : F [2, 3, 8] %q : F [2, 3, 8] %c : F [2, 3, 8] %d : F [2, 3, 8]\nbody\n"
static void check_turns(const char *text, int expected) {
    World *w = graph_world_new(NULL, 0);
    const Graph g = graph_of(w, text);
    Error e = {0};
    const Plan *joined = plan_build_for(&cpu, w, w->arena, &g, (Sizes){0}, NULL, &e),
               *apart = plan_build(w, w->arena, &g, (Sizes){0}, &e);
    float y[2][OUTPUTS][MOST];
    memset(y, 0, sizeof y);
    assert_true(joined && apart);
    if (turns(joined) != expected) fail_msg("%d turns in %s", turns(joined), text);
    assert_int_equal(turns(apart), 0);
    run(joined, &g, y[0]), run(apart, &g, y[1]);
    assert_memory_equal(y[0], y[1], sizeof y[0]);
    world_free(w);
}
static void rotations_are_joined(void **state) {
    (void)state;
    check_turns(HEAD " %a = mul %p %c\n %b = mul %q %d\n %f = sub %a %b\n %e = mul %q %c\n %g = "
                     "mul %p %d\n %s = add %e %g\n out %f %s\n",
                1);
    /* the sum first, factors and terms in the other order, and the halves of one result */
    check_turns(HEAD " %e = mul %c %q\n %g = mul %d %p\n %s = add %g %e\n %a = mul %c %p\n %b = "
                     "mul %d %q\n %f = sub %a %b\n %h = concat %f %s axis=1\n %i = slice %h "
                     "starts=[0, 1, 0] sizes=[2, 3, 8] steps=[1, 1, 1]\n out %i\n",
                1);
}
static void other_steps_stay_apart(void **state) {
    (void)state;
    /* two differences, other factors, and a sum of what the difference computes */
    check_turns(HEAD " %a = mul %p %c\n %b = mul %q %d\n %f = sub %a %b\n %e = mul %q %c\n %g = "
                     "mul %p %d\n %s = sub %e %g\n out %f %s\n",
                0);
    check_turns(HEAD " %a = mul %p %c\n %b = mul %q %d\n %f = sub %a %b\n %e = mul %q %c\n %g = "
                     "mul %p %c\n %s = add %e %g\n out %f %s\n",
                0);
    check_turns(HEAD " %a = mul %p %c\n %b = mul %q %d\n %f = sub %a %b\n %e = mul %q %f\n %g = "
                     "mul %p %d\n %s = add %e %g\n out %f %s\n",
                0);
}
static int copies(const Plan *p) {
    int n = 0;
    for (int k = 0; k < p->nstep; k++)
        n += p->step[k].step.kind == S_COPY && view_count(&p->step[k].step.view[0]) > 0;
    return n;
}
static void check_copies(const char *text, int expected) {
    World *w = graph_world_new(NULL, 0);
    const Graph g = graph_of(w, text);
    Error e = {0};
    const Plan *p = plan_build(w, w->arena, &g, (Sizes){0}, &e);
    assert_non_null(p);
    if (copies(p) != expected) fail_msg("%d copies in %s", copies(p), text);
    world_free(w);
}
#define WOVEN                                                                                    \
    HEAD " %f = mul %p %c\n %s = mul %q %d\n %g = reshape %f shape=[2, 3, 8, 1]\n %t = reshape " \
         "%s shape=[2, 3, 8, 1]\n %w = concat %g %t axis=3\n"
static void interleaved_pairs_are_written_in_place(void **state) {
    (void)state;
    check_copies(WOVEN " out %w\n", 0);
    check_turns(WOVEN " out %w\n", 0);
    /* the whole of another result, with other axes, but not the first half of one */
    check_copies(WOVEN " %r = reshape %w shape=[2, 3, 16]\n %z = slice %p starts=[0, 0, 0] "
                       "sizes=[2, 3, 0] steps=[1, 1, 1]\n %y = concat %r %z axis=2\n out %y\n",
                 0);
    check_copies(WOVEN " %r = reshape %w shape=[2, 3, 16]\n %y = concat %r %p axis=2\n out %y\n",
                 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rotations_are_joined),
                                       cmocka_unit_test(other_steps_stay_apart),
                                       cmocka_unit_test(interleaved_pairs_are_written_in_place)};
    return cmocka_run_group_tests(tests, open_device, close_device);
}
