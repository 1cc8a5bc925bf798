/* graphs_chains.c -- tests that long chains of element-wise operators become programs of up to
   STEP_CODE instructions, and that such programs give the results of the operators. */
#include "graphs/plan/execute.h"
#include "graphs/world.h"
#include "ops/backend/backend.h"
#include "test/shared/fixture.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { ELEMENTS = 40 };

/* A chain of n functions of one number; tanh follows neg. */
static Graph chain(World *w, int n) {
    Text t = text_new(w->arena);
    text_add(&t, "graph g %%v0 : F [%d]\nbody\n", (int)ELEMENTS);
    for (int k = 0; k < n; k++)
        text_add(&t, " %%v%d = %s %%v%d\n", k + 1, k % 2 ? "tanh" : "neg", k);
    text_add(&t, " out %%v%d\n", n);
    return graph_of(w, t.data);
}
static void run(const Plan *p, const float *x, float *y) {
    OpenDevice d;
    Error e = {0};
    assert_true(device_open(&d, NULL, "cpu", "", &e));
    Runner *r = runner_new(p, d.backend, d.device, &e);
    if (!r || !runner_run(r, (const void *[]){x}, (void *[]){y}, &e)) fail_msg("%s", e.reason);
    runner_free(r);
    device_close(&d);
}
static void check_chain(int n, int steps) {
    World *w = graph_world_new(NULL, 0);
    const Graph g = chain(w, n);
    Error e = {0};
    float x[ELEMENTS], y[ELEMENTS];
    Plan *p = plan_build(w, w->arena, &g, (Sizes){0}, &e);
    assert_non_null(p);
    assert_int_equal(p->nstep, steps);
    for (int i = 0; i < ELEMENTS; i++) x[i] = (float)(i - ELEMENTS / 2) / 8;
    run(p, x, y);
    for (int i = 0; i < ELEMENTS; i++) {
        double v = (double)x[i];
        for (int k = 0; k < n; k++) v = k % 2 ? tanh(v) : -v;
        assert_true(fabs((double)y[i] - v) < 1e-4);
    }
    world_free(w);
}

/* A program also reads its input, which takes an instruction. */
static void programs_have_up_to_step_code_instructions(void **state) {
    (void)state;
    check_chain(STEP_CODE - 1, 1);
    check_chain(STEP_CODE, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_have_up_to_step_code_instructions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
