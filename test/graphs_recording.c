/* graphs_recording.c -- tests the recording of plans on the back end for GPUs, with the
   host in place of a GPU (test/cuda). A recorded run gives the bytes that single steps give, for
   the input of the first run and for others, also with steps on the host between two recordings.
   Where recording fails, the steps run one by one. A recording that misses an operation gives a
   wrong result, which the comparison notices. The tests are skipped where CUDA's headers are
   missing. */
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
#include <unistd.h>
#include <cmocka.h>

enum { INPUT = 2 * 3 * 8 * 8, OUTPUT = 2 * 5 * 64, STEPS = 16 };
/* Weights that are negated once, a convolution written in place into a part of a concatenation, a
   matrix product by a library's algorithm with a program after it, and an operator that only the
   host runs. */
static const char text[] = "graph g %x : F [2, 3, 8, 8]\nbody\n"
                           " %v = constant F [2, 3, 3, 3] seed(1)\n"
                           " %w = neg %v\n"
                           " %y = conv %x %w pads=[1, 1, 1, 1]\n"
                           " %r = relu %y\n"
                           " %c = concat %r %x axis=1\n"
                           " %f = reshape %c shape=[2, 5, 64]\n"
                           " %m = constant F [64, 64] seed(2)\n"
                           " %p = matmul %f %m\n"
                           " %t = tanh %p\n"
                           " %h = hardmax %t axis=2\n"
                           " %u = add %h %t\n"
                           " %q = softmax %u axis=2\n"
                           " %s = matmul %q %m\n"
                           " out %s\n";
typedef struct Bed {
    World *w;
    OpenDevice device;
    Plan *plan;
} Bed;

static void path_of(char path[], size_t n) {
    const char *build = getenv("BUILD");
    snprintf(path, n, "%s/test/cuda/isomer-host.so", build ? build : "build");
}
static void bed_make(Bed *b, const char *behaviour) {
    char path[300], options[320];
    Error e = {0};
    const char *build = getenv("BUILD");
    path_of(path, sizeof path);
    snprintf(options, sizeof options, "cache=%s/test/cuda/kernels", build ? build : "build");
    setenv("ISOMER_HOST", behaviour, 1);
    if (!device_open(&b->device, NULL, path, options, &e)) fail_msg("%s", e.reason);
    b->w = graph_world_new(NULL, 0);
    Graph g = graph_of(b->w, text);
    b->plan = plan_build_for(&b->device, b->w, b->w->arena, &g, (Sizes){0}, NULL, &e);
    if (!b->plan) fail_msg("%s: %s", e.place, e.reason);
}
static void bed_free(Bed *b) {
    device_close(&b->device);
    world_free(b->w);
}
static Runner *runner_of(const Bed *b) {
    Error e = {0};
    Runner *r = runner_new(b->plan, b->device.backend, b->device.device, &e);
    if (!r) fail_msg("%s: %s", e.place, e.reason);
    return r;
}
static void draw(float x[INPUT], int seed) {
    for (int k = 0; k < INPUT; k++) x[k] = (float)((k + seed) * 37 % 101) / 50 - 1;
}
static void run(Runner *r, int seed, float y[OUTPUT]) {
    float x[INPUT];
    Error e = {0};
    draw(x, seed);
    memset(y, 0xee, OUTPUT * sizeof *y);
    if (!runner_run(r, (const void *[]){x}, (void *[]){y}, &e)) fail_msg("%s", e.reason);
}

static void recordings_equal_single_steps(void **state) {
    float want[3][OUTPUT], got[OUTPUT];
    int pieces;
    const char *why;
    Bed b;
    (void)state;
    bed_make(&b, "");
    for (int seed = 0; seed < 3; seed++) {
        Runner *single = runner_of(&b);
        run(single, seed, want[seed]);
        assert_int_equal(runner_recorded(single, &pieces, &why), 0);
        runner_free(single);
    }
    assert_true(memcmp(want[0], want[1], sizeof want[0]) != 0);
    Runner *r = runner_of(&b);
    for (int turn = 0; turn < 6; turn++) {
        run(r, turn % 3, got);
        assert_memory_equal(got, want[turn % 3], sizeof got);
    }
    const int steps = runner_recorded(r, &pieces, &why);
    assert_string_equal(why, "");
    assert_true(steps >= 3);
    assert_int_equal(pieces, 2); /* one before and one after the host's step */
    runner_free(r);
    bed_free(&b);
}

static void what_cannot_be_recorded_runs_step_by_step(void **state) {
    static const char *const behaviour[] = {"no-capture", "capture-breaks", "no-graph"};
    static const char *const reason[] = {"the cuda back end does not record",
                                         "recording: ", "a graph of what was recorded: "};
    float want[OUTPUT], got[OUTPUT];
    (void)state;
    for (int k = 0; k < 3; k++) {
        int pieces;
        const char *why;
        double seconds, each[STEPS];
        Error e = {0};
        Bed b;
        bed_make(&b, behaviour[k]);
        Runner *r = runner_of(&b);
        for (int turn = 0; turn < 3; turn++) run(r, turn == 1, turn ? got : want);
        assert_memory_equal(got, want, sizeof got);
        assert_int_equal(runner_recorded(r, &pieces, &why), 0);
        if (strncmp(why, reason[k], strlen(reason[k])) != 0) fail_msg("%s: %s", behaviour[k], why);
        assert_true(runner_time(r, &seconds, &e));
        assert_true(runner_profile(r, each, &e));
        runner_free(r);
        bed_free(&b);
    }
}

static void a_recording_that_misses_something_is_seen(void **state) {
    float want[OUTPUT], got[OUTPUT];
    Bed b;
    (void)state;
    bed_make(&b, "loses");
    Runner *r = runner_of(&b), *single = runner_of(&b);
    run(single, 1, want);
    run(r, 0, got);
    run(r, 1, got);
    assert_true(memcmp(got, want, sizeof got) != 0);
    runner_free(r);
    runner_free(single);
    bed_free(&b);
}

/* A profile records the plan anew with time marks; runs after it give what they gave before. */
static void every_step_has_a_time(void **state) {
    float want[OUTPUT], got[OUTPUT];
    double seconds, each[STEPS], sum = 0;
    Error e = {0};
    Bed b;
    (void)state;
    bed_make(&b, "");
    Runner *r = runner_of(&b);
    assert_true(b.plan->nstep <= STEPS);
    run(r, 0, want);
    for (int twice = 0; twice < 2; twice++) {
        assert_true(runner_profile(r, each, &e));
        for (int k = 0; k < b.plan->nstep; k++)
            if (b.plan->step[k].once) assert_true(each[k] == 0);
            else assert_true(each[k] > 0);
    }
    for (int k = 0; k < b.plan->nstep; k++) sum += each[k];
    run(r, 0, got);
    assert_memory_equal(got, want, sizeof got);
    assert_true(runner_time(r, &seconds, &e) && seconds > 0 && sum > 0);
    runner_free(r);
    bed_free(&b);
}

static void steps_alone_are_timed_by_recordings(void **state) {
    static const char *const behaviour[] = {"", "no-capture", "capture-breaks", "no-graph"};
    (void)state;
    for (int b = 0; b < 4; b++) {
        Bed bed;
        bed_make(&bed, behaviour[b]);
        for (int k = 0; k < bed.plan->nstep; k++) {
            Error e = {0};
            if (bed.plan->step[k].once) continue;
            const double seconds = profile_step(&(StepTiming){.backend = bed.device.backend,
                                                              .device = bed.device.device,
                                                              .step = &bed.plan->step[k].step,
                                                              .seed = 1,
                                                              .give_up_seconds = (double)INFINITY},
                                                &e);
            if (seconds <= 0) fail_msg("step %d: %s", k, e.reason);
        }
        bed_free(&bed);
    }
}

/* A gather has a kernel on the host and a definition. For a back end that runs loop programs, the
   plan contains the definition instead of the operator, so that the device runs it. */
static void gathers_run_on_the_device(void **state) {
    static const char gather[] = "graph g %x : F [20, 6] %i : I64 [5]\nbody\n"
                                 " %y = gather %x %i axis=0\n out %y\n";
    static const int64_t index[5] = {3, 19, -1, 0, -20};
    float x[20 * 6], y[5 * 6];
    Error e = {0};
    Bed b;
    (void)state;
    bed_make(&b, "");
    Graph g = graph_of(b.w, gather);
    Plan *other = plan_build(b.w, b.w->arena, &g, (Sizes){0}, &e);
    assert_int_equal(other->step[0].step.kind, S_OP);
    b.plan = plan_build_for(&b.device, b.w, b.w->arena, &g, (Sizes){0}, NULL, &e);
    if (!b.plan) fail_msg("%s: %s", e.place, e.reason);
    assert_int_equal(b.plan->nstep, 1);
    assert_int_equal(b.plan->step[0].step.kind, S_LOOP);
    for (int k = 0; k < 20 * 6; k++) x[k] = (float)k;
    Runner *r = runner_of(&b);
    if (!runner_run(r, (const void *[]){x, index}, (void *[]){y}, &e)) fail_msg("%s", e.reason);
    for (int k = 0; k < 5 * 6; k++) {
        const int64_t at = index[k / 6] < 0 ? index[k / 6] + 20 : index[k / 6];
        assert_true(y[k] == (float)(6 * at + k % 6));
    }
    runner_free(r);
    bed_free(&b);
}

/* Normalizations and a softmax become one step each with the operators around them and give the
   results of single steps. A value that others read as well remains a step of its own. */
static void chains_over_rows_are_one_step(void **state) {
    static const char chains[] = "graph g %x : F [2, 3, 8, 8]\nbody\n"
                                 " %s = constant F [8] seed(1)\n"
                                 " %b = constant F [8] seed(2)\n"
                                 " %t = constant F [3] seed(3)\n"
                                 " %u = constant F [3] seed(4)\n"
                                 " %n = layernorm %x %s %b axis=3\n"
                                 " %e = exp %n\n"
                                 " %p = softmax %e axis=3\n"
                                 " %r = relu %p\n"
                                 " %k = reduce_mean %r axes=[3]\n"
                                 " %v = reshape %k shape=[2, 3, 8, 1]\n"
                                 " %m = broadcast %v shape=[2, 3, 8, 8]\n"
                                 " %d = sub %r %m\n"
                                 " %c = instancenorm %d %t %u\n"
                                 " %o = add %c %m\n"
                                 " out %o\n";
    float x[INPUT], want[INPUT], got[INPUT];
    Error e = {0};
    OpenDevice cpu;
    Bed b;
    (void)state;
    bed_make(&b, "");
    Graph g = graph_of(b.w, chains);
    if (!device_open(&cpu, NULL, "cpu", "", &e)) fail_msg("%s", e.reason);
    Plan *plain = plan_build(b.w, b.w->arena, &g, (Sizes){0}, &e); /* for no particular device */
    b.plan = plan_build_for(&b.device, b.w, b.w->arena, &g, (Sizes){0}, NULL, &e);
    if (!plain || !b.plan) fail_msg("%s", e.reason);
    int rows = 0;
    for (int k = 0; k < b.plan->nstep; k++) rows += b.plan->step[k].step.kind == S_ROWS;
    for (int k = 0; k < plain->nstep; k++) assert_int_not_equal(plain->step[k].step.kind, S_ROWS);
    assert_true(rows >= 2);
    assert_true(b.plan->nstep < plain->nstep - 4);
    draw(x, 0);
    Runner *one = runner_new(plain, cpu.backend, cpu.device, &e), *other = runner_of(&b);
    assert_true(runner_run(one, (const void *[]){x}, (void *[]){want}, &e));
    for (int twice = 0; twice < 2; twice++) {
        assert_true(runner_run(other, (const void *[]){x}, (void *[]){got}, &e));
        for (int k = 0; k < INPUT; k++) assert_true(fabsf(got[k] - want[k]) < 1e-4f);
    }
    runner_free(one);
    runner_free(other);
    device_close(&cpu);
    bed_free(&b);
}

static void nothing_to_test(void **state) {
    (void)state;
    print_message("CUDA's headers are missing: the back end for GPUs is not built\n");
    skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recordings_equal_single_steps),
        cmocka_unit_test(what_cannot_be_recorded_runs_step_by_step),
        cmocka_unit_test(a_recording_that_misses_something_is_seen),
        cmocka_unit_test(every_step_has_a_time),
        cmocka_unit_test(gathers_run_on_the_device),
        cmocka_unit_test(chains_over_rows_are_one_step),
        cmocka_unit_test(steps_alone_are_timed_by_recordings),
    };
    const struct CMUnitTest none[] = {cmocka_unit_test(nothing_to_test)};
    char path[300];
    path_of(path, sizeof path);
    if (access(path, F_OK)) return cmocka_run_group_tests(none, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
