/* graphs_choose.c -- tests the choice of the fastest algorithm of a step, with a back end whose
   algorithms take known times. The choice is measured, stored in the cost file and then found there
   without measuring. An algorithm that cannot be compiled is left out, and a small gain is no
   reason to leave the usual algorithm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "graphs/plan/choose.h"
#include "graphs/plan/profile.h"
#include "graphs/plan/weights.h"
#include "ops/backend/view.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALGORITHMS = 4, MICROSECONDS = 200 };
struct Device {
    int factor[ALGORITHMS]; /* time in units of MICROSECONDS; 0: cannot be compiled */
    int runs[ALGORITHMS];
    size_t largest;      /* the largest allocation so far, in bytes */
    size_t workspace;    /* bytes that the next kernel asks for; halved after each kernel */
    const void *seen[8]; /* addresses at which view 1 lay */
    int nseen;
    float weight[8]; /* the first elements of view 1, where it is known */
    int nweight;     /* the number of different ones */
    double busy;     /* simulated time since the last wait, in nanoseconds */
    /* full: there is no memory; full_host: there is none for kernels; broken: kernels fail; far: a
       step takes longer by the square of its first size. */
    bool full, full_host, broken, far;
};
struct Kernel {
    Device *device;
    int algorithm;
    double times;
};

static int slow_identity(Device *d, char *text, size_t n) {
    return (void)d, snprintf(text, n, "slow") < (int)n ? 0 : -1;
}
static void *slow_alloc(Device *d, size_t bytes) {
    if (bytes > d->largest) d->largest = bytes;
    return d->full ? NULL : calloc(1, bytes);
}
static void slow_release(Device *d, void *p) { (void)d, free(p); }
static int slow_copy(Device *d, void *to, const void *from, size_t bytes, CopyDirection direction) {
    (void)d, (void)direction;
    memmove(to, from, bytes);
    return 0;
}
static int slow_choices(Device *d, const Step *s) { return (void)d, (void)s, ALGORITHMS; }
static Kernel *slow_compile(Device *d, const Step *s, int choice, const void *const weights[],
                            size_t *workspace, CompileFailure *failure, char *why, size_t n) {
    const float *known = s->nview > 1 ? weights[1] : NULL;
    bool met = !known || d->nweight == 8;
    for (int j = 0; j < d->nweight && !met; j++) met = d->weight[j] == *known;
    if (!met) d->weight[d->nweight++] = *known;
    *workspace = d->workspace;
    d->workspace /= 2;
    *failure = d->full_host ? COMPILE_NO_MEMORY : COMPILE_REFUSED;
    if (d->full_host) return snprintf(why, n, "the host is full"), NULL;
    if (!d->factor[choice]) return snprintf(why, n, "no such algorithm"), NULL;
    Kernel *k = malloc(sizeof *k);
    const double first = (double)s->view[0].dim[0];
    *k = (Kernel){d, choice, d->far ? first * first : 1};
    return k;
}
static int slow_run(Kernel *k, void *const slot[], void *workspace) {
    Device *d = k->device;
    bool met = d->nseen == 8;
    if (d->broken) return -1;
    (void)workspace;
    for (int j = 0; j < d->nseen; j++) met |= d->seen[j] == slot[1];
    if (!met) d->seen[d->nseen++] = slot[1];
    k->device->runs[k->algorithm]++;
    k->device->busy += k->times * k->device->factor[k->algorithm] * MICROSECONDS * 1e3;
    return 0;
}
static int slow_wait(Device *d, double *ns) {
    if (ns) *ns = d->busy;
    d->busy = 0;
    return 0;
}
static void slow_forget(Kernel *k) { free(k); }

static const Backend backend = {.abi = BACKEND_ABI,
                                .size = sizeof(Backend),
                                .name = "slow",
                                .identity = slow_identity,
                                .alloc = slow_alloc,
                                .release = slow_release,
                                .copy = slow_copy,
                                .choices = slow_choices,
                                .compile = slow_compile,
                                .run = slow_run,
                                .wait = slow_wait,
                                .forget = slow_forget};

static PlanStep step_of(Arena *a, int64_t size) {
    View v[2] = {view_dense(0, 1, 1, &size), view_dense(1, 1, 1, &size)};
    return (PlanStep){.step = {.kind = S_COPY, .nview = 2, .view = arena_copy(a, v, sizeof v)},
                      .choice = -1,
                      .bytes = 6e9};
}

typedef struct Fixture {
    Arena *arena;
    CostDb *db;
    Device device;
    Error error;
} Fixture;

static int set_up(void **state) {
    Fixture *f = calloc(1, sizeof *f);
    f->arena = arena_new(NULL, 0);
    f->db = costdb_open(NULL, NULL, &f->error);
    f->device.factor[0] = 4, f->device.factor[1] = 0, f->device.factor[2] = 1,
    f->device.factor[3] = 60;
    *state = f;
    return 0;
}
static int tear_down(void **state) {
    Fixture *f = *state;
    costdb_close(f->db);
    arena_free(f->arena);
    free(f);
    return 0;
}

static double choose(Fixture *f, bool measured, bool frozen, PlanStep *s, int *missing) {
    const ChooseOptions o = {.measured = measured, .frozen = frozen, .seed = 1};
    bool known[2] = {false, false};
    Chooser *c = chooser_new(f->arena, f->db, &backend, &f->device, &o, &f->error);
    assert_non_null(c);
    memset(f->device.runs, 0, sizeof f->device.runs);
    double seconds = choose_step(c, f->arena, s, known);
    PlanStep again = *s;
    int runs = f->device.runs[0];
    assert_true(choose_step(c, f->arena, &again, known) == seconds && again.choice == s->choice);
    assert_int_equal(f->device.runs[0], runs); /* the time is remembered */
    if (missing) *missing = chooser_missing(c);
    chooser_free(c);
    return seconds;
}

static void the_fastest_way_is_taken_and_kept(void **state) {
    Fixture *f = *state;
    PlanStep s = step_of(f->arena, 8);
    double seconds = choose(f, true, false, &s, NULL);
    assert_int_equal(s.choice, 2);
    assert_true(seconds >= (double)MICROSECONDS * 1e-6 &&
                seconds < 3 * (double)MICROSECONDS * 1e-6);
    assert_true(f->device.runs[2] > 10);
    assert_int_equal(f->device.runs[3], 1); /* one call shows it is too slow */
    int missing;
    PlanStep later = step_of(f->arena, 8);
    assert_true(choose(f, true, true, &later, &missing) == seconds);
    assert_int_equal(later.choice, 2);
    assert_int_equal(missing, 0);
    assert_int_equal(f->device.runs[0] + f->device.runs[2] + f->device.runs[3], 0);
}

static void nothing_is_measured_when_frozen(void **state) {
    Fixture *f = *state;
    PlanStep s = step_of(f->arena, 9);
    int missing;
    double seconds = choose(f, true, true, &s, &missing);
    assert_int_equal(s.choice, 0);
    assert_int_equal(missing, 1);
    assert_true(fabs(seconds - choose_model(S_COPY, 0, 6e9)) < 1e-12);
    assert_true(choose(f, false, false, &s, &missing) == seconds);
    assert_int_equal(missing, 0);
    assert_int_equal(f->device.runs[0], 0);
}

static int other_identity(Device *d, char *text, size_t n) {
    return (void)d, snprintf(text, n, "slow, other kernels") < (int)n ? 0 : -1;
}

/* A time measured on another build of the kernels says nothing about this one. */
static void times_of_another_device_are_not_used(void **state) {
    Fixture *f = *state;
    Backend other = backend;
    other.identity = other_identity;
    PlanStep s = step_of(f->arena, 11);
    const bool known[2] = {false, false};
    assert_true(choose(f, true, false, &s, NULL) > 0);
    for (int same = 0; same < 2; same++) {
        Chooser *c =
            chooser_new(f->arena, f->db, same ? &backend : &other, &f->device,
                        &(ChooseOptions){.measured = true, .frozen = true, .seed = 1}, &f->error);
        const double seconds = choose_step(c, f->arena, &s, known);
        assert_int_equal(chooser_missing(c), !same);
        assert_int_equal(seconds == choose_model(S_COPY, 0, 6e9), !same);
        chooser_free(c);
    }
}

static double priced(Fixture *f, double weights, StepKind kind, bool known_weight) {
    const View v[3] = {view_dense(0, 1, 2, (int64_t[]){1, 500}),
                       view_dense(1, 1, 2, (int64_t[]){1, 1000}),
                       view_dense(2, 1, 2, (int64_t[]){1000, 500})};
    PlanStep s = {
        .step = {.kind = kind, .nview = 3, .view = v}, .choice = -1, .flops = 1e9, .bytes = 6e9};
    const bool known[3] = {false, false, known_weight};
    const ChooseOptions o = {.measured = true, .frozen = true, .seed = 1, .weights = weights};
    Chooser *c = chooser_new(f->arena, f->db, &backend, &f->device, &o, &f->error);
    const double seconds = choose_step(c, f->arena, &s, known);
    assert_true(choose_step(c, f->arena, &s, known) == seconds);
    chooser_free(c);
    return seconds;
}

/* Where the weights of a model do not stay in the cache, each byte of a step's weights costs the
   time that the cost file gives. It costs nothing where the weights stay in the cache, or where the
   cost file has no such time. */
static void weights_that_leave_the_cache_cost(void **state) {
    Fixture *f = *state;
    const double alone = priced(f, 0, S_GEMM, true), much = 8 << 20, more = 200 << 20;
    assert_true(priced(f, much, S_GEMM, true) == alone);
    assert_true(costdb_put(f->db, "machine", "slow", "weights of 8 MiB", 1e-9, &f->error));
    assert_true(costdb_put(f->db, "machine", "slow", "weights of 96 MiB", 2e-9, &f->error));
    assert_true(fabs(priced(f, much, S_GEMM, true) - alone - 2e6 * 1e-9) < 1e-12);
    assert_true(fabs(priced(f, more, S_GEMM, true) - alone - 2e6 * 2e-9) < 1e-12);
    assert_true(priced(f, 1 << 20, S_GEMM, true) == alone);
    assert_true(priced(f, more, S_GEMM, false) == alone);
    assert_true(priced(f, more, S_COPY, true) == priced(f, 0, S_COPY, true));
}

/* If far weights are not slower than near ones, or cannot be timed, nothing is kept that later runs
   would take for a measurement. */
static void only_times_of_weights_that_were_measured_are_kept(void **state) {
    Fixture *f = *state;
    double seconds;
    for (int failing = 0; failing < 2; failing++) {
        f->device.broken = failing;
        assert_true(weights_cold(&backend, &f->device, f->db, "slow", false, 8 << 20) == 0);
        assert_false(costdb_get(f->db, "machine", "slow", "weights of 8 MiB", &seconds));
    }
    /* A 0 from an earlier version is not a measurement either, and is replaced. */
    assert_true(costdb_put(f->db, "machine", "slow", "weights of 8 MiB", 0, &f->error));
    f->device.broken = false, f->device.far = true;
    const double cold = weights_cold(&backend, &f->device, f->db, "slow", false, 8 << 20);
    assert_true(cold > 0);
    assert_true(costdb_get(f->db, "machine", "slow", "weights of 8 MiB", &seconds));
    assert_true(seconds == cold);
}

/* A lack of memory says nothing about later runs, which measure again. */
static void a_lack_of_memory_is_not_kept(void **state) {
    Fixture *f = *state;
    for (int host = 0; host < 2; host++) {
        PlanStep s = step_of(f->arena, 12 + host), later = s;
        int missing;
        *(host ? &f->device.full_host : &f->device.full) = true;
        choose(f, true, false, &s, &missing);
        assert_int_equal(missing, 1);
        f->device.full = f->device.full_host = false;
        choose(f, true, false, &later, &missing);
        assert_int_equal(missing, 0);
        assert_int_equal(later.choice, 2);
    }
}

static void check_untimed(Fixture *f, const Step *s, ErrorKind kind, const char *why) {
    Error e = {0};
    assert_true(profile_step(&(StepTiming){.backend = &backend,
                                           .device = &f->device,
                                           .step = s,
                                           .seed = 1,
                                           .give_up_seconds = INFINITY},
                             &e) < 0);
    assert_int_equal(e.kind, kind);
    assert_string_equal(e.reason, why);
}
static void a_step_that_cannot_be_timed_says_why(void **state) {
    Fixture *f = *state;
    View many[65];
    for (int k = 0; k < 65; k++) many[k] = view_dense(k, 1, 1, (int64_t[]){1});
    const Step wide = {.kind = S_COPY, .nview = 65, .view = many};
    check_untimed(f, &wide, E_LIMIT, "a step with 65 views cannot be timed, at most 64");
    f->device.broken = true;
    const PlanStep s = step_of(f->arena, 12);
    check_untimed(f, &s.step, E_ENVIRONMENT, "the kernel failed");
}

/* A step that does little but read weights is timed with as many copies of its weights as fill the
   bytes of the model's weights. The kernels for the copies may need different workspaces; the
   largest of them is allocated. */
static void copies_of_weights_take_turns(void **state) {
    Fixture *f = *state;
    const double mib = 1 << 20;
    assert_int_equal(weights_copies(200 * mib, mib, 0), 96);
    assert_int_equal(weights_copies(10 * mib, mib, 2 * mib), 8);
    assert_int_equal(weights_copies(200 * mib, mib, 100 * mib), 1); /* computes for long */
    assert_int_equal(weights_copies(mib, mib, 0), 1);               /* the weights stay cached */
    assert_int_equal(weights_copies(200 * mib, 1000, 0), 1);        /* the step has few weights */
    const PlanStep s = step_of(f->arena, 12);
    const bool known[2] = {false, true};
    for (int copies = 1; copies <= 5; copies += 4) {
        f->device.nseen = f->device.nweight = 0;
        f->device.largest = 0, f->device.workspace = 1 << 20;
        assert_true(profile_step(&(StepTiming){.backend = &backend,
                                               .device = &f->device,
                                               .step = &s.step,
                                               .choice = 2,
                                               .known = known,
                                               .copies = copies,
                                               .seed = 1,
                                               .give_up_seconds = INFINITY},
                                 &f->error) > 0);
        assert_int_equal(f->device.nseen, copies);
        assert_true(f->device.largest >= 1 << 20);
        assert_int_equal(f->device.nweight, copies); /* equal weights are kept once */
    }
}

/* A time that is 2 % less is not a reason to leave the usual algorithm. Where the usual one cannot
   be compiled and nothing else is known, the time is that of the model. */
static void ties_and_failures(void **state) {
    Fixture *f = *state;
    char text[64] = "";
    Text key = text_new(f->arena);
    PlanStep s = step_of(f->arena, 10);
    step_print(&s.step, &key);
    for (int k = 0; k < ALGORITHMS; k++) {
        snprintf(text, sizeof text, " known choice %d", k);
        assert_true(costdb_put(f->db, "step", "slow",
                               arena_format(f->arena, "%s%s", key.data, text), k == 2 ? 0.98 : 1,
                               &f->error));
    }
    assert_true(choose(f, true, true, &s, NULL) == 1);
    assert_int_equal(s.choice, 0);
    f->device.factor[0] = 0;
    PlanStep other = step_of(f->arena, 11);
    int missing;
    assert_true(choose(f, true, false, &other, &missing) == choose_model(S_COPY, 0, 6e9));
    assert_int_equal(other.choice, 0);
    assert_int_equal(missing, 1);
}

/* Timing a step allocates memory: a failed allocation is an error, and memory taken before it is
   freed. */
static void timing_survives_a_lack_of_memory(void **state) {
    Fixture *f = *state;
    PlanStep s = step_of(f->arena, 7);
    double seconds = -1;
    int failures = 0;
    for (int64_t k = 1; seconds < 0; k++, failures++) {
        Error e = {0};
        mem_fail_at(k);
        seconds = profile_step(&(StepTiming){.backend = &backend,
                                             .device = &f->device,
                                             .step = &s.step,
                                             .seed = 1,
                                             .give_up_seconds = 0},
                               &e);
        mem_fail_at(0);
        if (seconds < 0) assert_int_equal(e.kind, E_MEMORY);
    }
    assert_true(failures > 1);
}

/* Two results may be parts of one slot: its allocation must reach to the end of the last one. */
static void parts_of_one_slot_have_room(void **state) {
    Fixture *f = *state;
    int64_t size = 10;
    View v[2] = {view_dense(0, 1, 1, &size), view_dense(0, 1, 1, &size)};
    v[1].offset = 100000;
    const Step s = {.kind = S_COPY, .nview = 2, .view = v};
    assert_true(profile_step(&(StepTiming){.backend = &backend,
                                           .device = &f->device,
                                           .step = &s,
                                           .seed = 1,
                                           .give_up_seconds = 0},
                             &f->error) > 0);
    assert_true(f->device.largest >= 100010 * sizeof(float));
}

static void a_view_may_run_backwards(void **state) {
    Fixture *f = *state;
    int64_t size = 100000;
    View v[2] = {view_dense(0, 1, 1, &size), view_dense(1, 1, 1, &size)};
    v[0].stride[0] = 0;
    v[1].offset = size - 1, v[1].stride[0] = -1;
    const Step s = {.kind = S_COPY, .nview = 2, .view = v};
    f->device.largest = 0;
    assert_true(profile_step(&(StepTiming){.backend = &backend,
                                           .device = &f->device,
                                           .step = &s,
                                           .seed = 1,
                                           .give_up_seconds = 0},
                             &f->error) > 0);
    assert_true(f->device.largest >= (size_t)size * sizeof(float));
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {CASE(the_fastest_way_is_taken_and_kept),
                                       CASE(nothing_is_measured_when_frozen),
                                       CASE(times_of_another_device_are_not_used),
                                       CASE(ties_and_failures),
                                       CASE(weights_that_leave_the_cache_cost),
                                       CASE(only_times_of_weights_that_were_measured_are_kept),
                                       CASE(a_lack_of_memory_is_not_kept),
                                       CASE(a_step_that_cannot_be_timed_says_why),
                                       CASE(copies_of_weights_take_turns),
                                       CASE(timing_survives_a_lack_of_memory),
                                       CASE(parts_of_one_slot_have_room),
                                       CASE(a_view_may_run_backwards)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
