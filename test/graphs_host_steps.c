/* graphs_host_steps.c -- tests that steps which a back end cannot run are run by the CPU back end,
   with copies before and after. With a plug-in that runs fills only (null_backend.c) and one that
   runs all steps but loops and operators (wrong_backend.c), the results are those of the CPU back
   end, and measured times include the steps on the host. A step that the CPU back end cannot run
   either is an error. A layout for which a back end would refuse a step is not chosen. */
#include "graphs/plan/execute.h"
#include "graphs/plan/profile.h"
#include "graphs/world.h"
#include "ops/backend/backend.h"
#include "test/shared/fixture.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { INPUT = 2 * 3 * 8 * 8, OUTPUT = 2 * 5 * 64, STEPS = 16 };
/* A convolution written in place into a part of a concatenation, a reshape and a softmax. */
static const char text[] = "graph g %x : F [2, 3, 8, 8]\nbody\n"
                           " %w = constant F [2, 3, 3, 3] seed(1)\n"
                           " %y = conv %x %w pads=[1, 1, 1, 1]\n"
                           " %r = relu %y\n"
                           " %c = concat %r %x axis=1\n"
                           " %f = reshape %c shape=[2, 5, 64]\n"
                           " %s = softmax %f axis=2\n"
                           " out %s\n";

static void open_plugin(OpenDevice *d, const char *name) {
    char path[300];
    const char *build = getenv("BUILD");
    Error e = {0};
    snprintf(path, sizeof path, "%s/test/plugin/%s.so", build ? build : "build", name);
    if (!device_open(d, NULL, strcmp(name, "cpu") ? path : name, "", &e))
        fail_msg("%s: %s", name, e.reason);
}

static Plan *planned(World *w) {
    Error e = {0};
    Graph g = graph_of(w, text);
    Plan *p = plan_build(w, w->arena, &g, (Sizes){0}, &e);
    if (!p) fail_msg("%s: %s", e.place, e.reason);
    return p;
}

static void run(const Plan *p, const char *name, const float *x, float *y) {
    OpenDevice d;
    open_plugin(&d, name);
    Error e = {0};
    double seconds = 0, step[STEPS];
    Runner *r = runner_new(p, d.backend, d.device, &e);
    if (!r) fail_msg("%s: %s: %s", name, e.place, e.reason);
    for (int twice = 0; twice < 2; twice++)
        if (!runner_run(r, (const void *[]){x}, (void *[]){y}, &e)) fail_msg("%s", e.reason);
    assert_true(runner_time(r, &seconds, &e));
    assert_true(p->nstep <= STEPS);
    assert_true(runner_profile(r, step, &e));
    for (int k = 0; k < p->nstep; k++) assert_true(p->step[k].once || step[k] > 0 || *name == 'w');
    assert_true(seconds > 0 || *name == 'w'); /* the clock of wrong_backend stands still */
    runner_free(r);
    device_close(&d);
}

static void the_host_runs_what_a_back_end_cannot(void **state) {
    static const char *const other[] = {"null_backend", "wrong_backend"};
    static float x[INPUT], want[OUTPUT], got[OUTPUT];
    (void)state;
    World *w = graph_world_new(NULL, 0);
    const Plan *p = planned(w);
    for (int k = 0; k < INPUT; k++) x[k] = (float)(k * 37 % 101) / 50 - 1;
    run(p, "cpu", x, want);
    for (int b = 0; b < 2; b++) {
        memset(got, 0xee, sizeof got);
        run(p, other[b], x, got);
        for (int k = 0; k < OUTPUT; k++) assert_true(fabsf(got[k] - want[k]) < 1e-5f);
    }
    world_free(w);
}

/* A step that the host runs can be timed alone. */
static void a_step_on_the_host_has_a_time(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    const Plan *p = planned(w);
    OpenDevice d;
    open_plugin(&d, "null_backend");
    bool known[64] = {false};
    for (int k = 0; k < p->nstep; k++) {
        Error e = {0};
        if (p->step[k].step.kind == S_FILL || p->step[k].once) continue;
        const double seconds = profile_step(&(StepTiming){.backend = d.backend,
                                                          .device = d.device,
                                                          .step = &p->step[k].step,
                                                          .known = known,
                                                          .seed = 1,
                                                          .give_up_seconds = (double)INFINITY},
                                            &e);
        if (seconds <= 0) fail_msg("step %d: %s", k, e.reason);
    }
    device_close(&d);
    world_free(w);
}

static void what_nobody_can_run_is_an_error(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Plan *p = planned(w);
    OpenDevice d;
    open_plugin(&d, "null_backend");
    Error e = {0};
    p->step[0].step.kind = S_OP;
    p->step[0].step.op = "no-such-operator";
    assert_null(runner_new(p, d.backend, d.device, &e));
    assert_int_equal(e.kind, E_ENVIRONMENT);
    assert_true(*e.reason != 0);
    device_close(&d);
    world_free(w);
}

/* A back end that refuses pools of images that lie channels last. */
static const Backend *cpu;
static int pools_planes_only(Device *d, const Step *s) {
    const bool last = s->kind == S_POOL && (s->view[0].stride[1] == 1 || s->view[1].stride[1] == 1);
    return last ? 0 : cpu->choices(d, s);
}
static int views_last(const Plan *p) {
    int n = 0;
    for (int k = 0; k < p->nstep; k++)
        for (int j = 0; j < p->step[k].step.nview; j++) {
            const View *v = &p->step[k].step.view[j];
            n += v->rank == 4 && v->dim[1] > 1 && v->stride[1] == 1 && v->stride[3] >= v->dim[1];
        }
    return n;
}
static void images_of_a_step_that_would_be_refused_stay(void **state) {
    (void)state;
    OpenDevice on;
    open_plugin(&on, "cpu");
    cpu = on.backend;
    Backend picky = *cpu;
    const OpenDevice other = {.backend = &picky, .device = on.device};
    World *w = graph_world_new(NULL, 0);
    Error e = {0};
    Graph g = graph_of(w, "graph g %x : F [2, 3, 6, 5] %w : F [4, 3, 3, 3] %v : F [4, 4, 1, 1]\n"
                          "body\n %a = conv %x %w pads=[1, 1, 1, 1]\n %b = conv %a %v\n"
                          " %c = maxpool %b kernel=[2, 2]\n %d = conv %c %v\n out %d\n");
    for (int refuses = 0; refuses < 2; refuses++) {
        picky.choices = refuses ? pools_planes_only : cpu->choices;
        const Plan *p = plan_build_for(&other, w, w->arena, &g, (Sizes){0}, NULL, &e);
        assert_non_null(p);
        for (int k = 0; k < p->nstep; k++)
            assert_true(picky.choices(other.device, &p->step[k].step) > 0);
        assert_int_equal(views_last(p), refuses ? 2 : 6); /* the views that write and read %a */
    }
    device_close(&on);
    world_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_runs_what_a_back_end_cannot),
        cmocka_unit_test(a_step_on_the_host_has_a_time),
        cmocka_unit_test(what_nobody_can_run_is_an_error),
        cmocka_unit_test(images_of_a_step_that_would_be_refused_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
