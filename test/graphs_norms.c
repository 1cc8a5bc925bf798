/* graphs_norms.c -- tests that the planner makes one reduction of a sum of squares or of absolute
   values (graphs/plan/plan_norms.c), along any axes, whose result is that of the separate steps. */
#include "graphs/plan/execute.h"
#include "graphs/world.h"
#include "ops/base/random.h"
#include "test/shared/fixture.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

enum { COUNT = 5 * 6 * 80 };
static void run_plan(const OpenDevice *cpu, const Plan *plan, const float *x, float *y) {
    Error e = {0};
    Runner *r = runner_new(plan, cpu->backend, cpu->device, &e);
    if (!r || !runner_run(r, (const void *[]){x}, (void *[]){y}, &e)) fail_msg("%s", e.reason);
    runner_free(r);
}
/* Plans `body`, whose input is x [5, 6, 80], for no particular device and for the CPU, where it
   must take so many steps, the last of which is a reduction of this kind. */
static void check(const char *body, int steps, ReduceKind kind) {
    World *w = graph_world_new(NULL, 0);
    OpenDevice cpu;
    Error e = {0};
    char text[400];
    float x[COUNT], want[COUNT] = {0}, got[COUNT] = {0};
    Random r = {3, 0};
    snprintf(text, sizeof text, "graph g %%x : F [5, 6, 80]\nbody\n%s", body);
    Graph g = graph_of(w, text);
    if (!device_open(&cpu, NULL, "cpu", "", &e)) fail_msg("%s", e.reason);
    const Plan *plain = plan_build(w, w->arena, &g, (Sizes){0}, &e),
               *joined = plan_build_for(&cpu, w, w->arena, &g, (Sizes){0}, NULL, &e);
    if (!plain || !joined) fail_msg("%s", e.reason);
    const Step *last = &joined->step[joined->nstep - 1].step;
    if (joined->nstep != steps || last->kind != S_REDUCE || last->param[REDUCE_KIND] != kind)
        fail_msg("%d steps of\n%s", joined->nstep, body);
    for (int k = 0; k < COUNT; k++) x[k] = (float)random_normal(&r);
    run_plan(&cpu, plain, x, want), run_plan(&cpu, joined, x, got);
    for (int k = 0; k < COUNT; k++)
        if (fabsf(want[k] - got[k]) > 1e-5f * fmaxf(1, want[k]))
            fail_msg("element %d is %g, should be %g:\n%s", k, (double)got[k], (double)want[k],
                     body);
    device_close(&cpu);
    world_free(w);
}
static void norms_are_one_step(void **state) {
    static const char *const axes[] = {"[0, 1, 2]", "[2]", "[0]", "[1]", "[0, 2]"};
    char body[200];
    (void)state;
    for (int k = 0; k < (int)(sizeof axes / sizeof *axes); k++) {
        snprintf(body, sizeof body, " %%y = reduce_squares %%x axes=%s\n out %%y\n", axes[k]);
        check(body, 1, REDUCE_SQUARES);
        snprintf(body, sizeof body, " %%y = reduce_l2 %%x axes=%s\n out %%y\n", axes[k]);
        check(body, 1, REDUCE_SQUARES);
        snprintf(body, sizeof body, " %%y = reduce_l1 %%x axes=%s\n out %%y\n", axes[k]);
        check(body, 1, REDUCE_MAGNITUDES);
    }
    check(" %t = transpose %x perm=[2, 0, 1]\n %s = mul %t %t\n %y = reduce_sum %s axes=[1]\n"
          " out %y\n",
          1, REDUCE_SQUARES);
}
static void other_sums_stay(void **state) {
    (void)state;
    check(" %e = exp %x\n %y = reduce_sum %e axes=[2]\n out %y\n", 2, REDUCE_SUM);
    check(" %s = mul %x %x\n %y = reduce_max %s axes=[2]\n out %y\n", 2, REDUCE_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(norms_are_one_step),
                                       cmocka_unit_test(other_sums_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
