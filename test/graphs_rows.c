/* graphs_rows.c -- tests the steps over rows that the planner makes for the CPU
   (graphs/plan/plan_rows.c), with 16-bit floats: a chain becomes one step, which rounds where the
   single steps would have stored a value. */
#include "graphs/plan/execute.h"
#include "graphs/world.h"
#include "ops/base/random.h"
#include "ops/core/element.h"
#include "test/shared/fixture.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { ROWS = 6, COLUMNS = 80, COUNT = ROWS * COLUMNS };
typedef struct Planned {
    World *w;
    OpenDevice cpu;
    Plan *plain, *joined; /* for no particular device; for the CPU */
} Planned;
/* Builds both plans of `body`, whose inputs are x [6, 80], s [80] and b [80] of one type. */
static void make_plans(Planned *p, const char *body, const char *type) {
    p->w = graph_world_new(NULL, 0);
    Error e = {0};
    char text[1000];
    int n =
        snprintf(text, sizeof text, "graph g %%x : %s [6, 80] %%s : %s [80] %%b : %s [80]\nbody\n",
                 type, type, type);
    snprintf(text + n, sizeof text - (size_t)n, "%s", body);
    Graph g = graph_of(p->w, text);
    if (!device_open(&p->cpu, NULL, "cpu", "", &e)) fail_msg("%s", e.reason);
    p->plain = plan_build(p->w, p->w->arena, &g, (Sizes){0}, &e);
    p->joined = plan_build_for(&p->cpu, p->w, p->w->arena, &g, (Sizes){0}, NULL, &e);
    if (!p->plain || !p->joined) fail_msg("%s", e.reason);
}
static void run_plan(const Planned *p, const Plan *plan, const void *const in[], void *y) {
    Error e = {0};
    Runner *r = runner_new(plan, p->cpu.backend, p->cpu.device, &e);
    if (!r || !runner_run(r, in, (void *[]){y}, &e)) fail_msg("%s", e.reason);
    runner_free(r);
}
/* Compares the two plans of `body`, with x drawn around a number at which 16-bit floats are
   coarse. */
static void check_chain(const char *body, DType type, double around, int steps) {
    Planned p;
    make_plans(&p, body, dtype_name(type));
    uint16_t x[COUNT], s[COLUMNS], b[COLUMNS], want[COUNT], got[COUNT];
    const double step = type == DT_FLOAT16 ? 1.0 / 1024 : 1.0 / 128;
    Random r = {7, 0};
    for (int k = 0; k < COUNT; k++) element_set_real(type, x, k, around + random_normal(&r));
    for (int k = 0; k < COLUMNS; k++) {
        element_set_real(type, s, k, random_normal(&r));
        element_set_real(type, b, k, random_normal(&r));
    }
    assert_int_equal(p.joined->nstep, steps);
    assert_int_equal(p.joined->step[steps - 1].step.kind, S_ROWS);
    for (int k = 0; k < p.plain->nstep; k++)
        assert_int_not_equal(p.plain->step[k].step.kind, S_ROWS);
    run_plan(&p, p.plain, (const void *[]){x, s, b}, want);
    run_plan(&p, p.joined, (const void *[]){x, s, b}, got);
    for (int k = 0; k < COUNT; k++) {
        const double a = element_real(type, want, k), c = element_real(type, got, k);
        if (fabs(a - c) > 2 * step * fmax(fabs(a), 1e-3))
            fail_msg("%s: element %d is %g, should be %g", dtype_name(type), k, c, a);
    }
    device_close(&p.cpu);
    world_free(p.w);
}
static void chains_of_16_bits_are_one_step(void **state) {
    static const DType types[] = {DT_FLOAT16, DT_BFLOAT16};
    (void)state;
    for (int k = 0; k < 2; k++) {
        check_chain(" %n = layernorm %x %s %b axis=1\n out %n\n", types[k], 0, 1);
        check_chain(" %p = softmax %x axis=1\n %r = exp %p\n out %r\n", types[k], 0, 1);
        /* Here the rounding of the intermediate value decides. */
        check_chain(" %t = broadcast %s shape=[6, 80]\n %a = add %x %t\n %p = softmax %a axis=1\n"
                    " out %p\n",
                    types[k], 300, 1);
        check_chain(" %m = reduce_mean %x axes=[1]\n %v = reshape %m shape=[6, 1]\n"
                    " %t = broadcast %v shape=[6, 80]\n %d = sub %x %t\n out %d\n",
                    types[k], 300, 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains_of_16_bits_are_one_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
