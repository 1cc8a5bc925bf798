/* ops_cpu.c -- the CPU back end against the reference of steps_reference.h: every kind of step at
   randomly drawn sizes, strides, types and parameters (0 and 1 included), every choice, with and
   without special instruction sets; and with three threads, which must give the same bytes. */
#include "test/shared/step_cases.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

typedef struct Fixture {
    Device *device[4]; /* the machine's best, and generic; the same with threads */
} Fixture;

static void check_threads(Case *c, Device *d, int choice, int known, const char *what) {
    const size_t n = c->bytes[0] + 2 * GUARD;
    char *one = memcpy(test_malloc(n), c->buffer[0], n);
    const bool ran = case_run(c, backend_open("cpu", NULL), d, choice, known);
    if (!ran || memcmp(one, c->buffer[0], n)) fail_msg("other bytes with threads: %s", what);
    test_free(one);
}

/* Every choice on both devices, with and without known weights. Returns how many were run. */
static int check_case(Case *c, const Fixture *f) {
    const Backend *b = backend_open("cpu", NULL);
    int64_t count;
    int ran = 0;
    char text[200], what[1500];
    Num *want = ref_run(&c->step, c->slot, &count);
    case_describe(c, what, sizeof what);
    for (int d = 0; d < 2; d++) {
        const int n = b->choices(f->device[d], &c->step);
        if (n < 1) fail_msg("no algorithm to run %s", what);
        for (int choice = 0; choice < n; choice++) {
            const int known = 2 * (int)(case_draw(c, 0, 7) | (case_draw(c, 0, 1) ? 0x1f8 : 0));
            const bool done = case_run(c, b, f->device[d], choice, known);
            if (!done && choice == 0) fail_msg("choice 0 refused: %s", what);
            if (!done) continue;
            ran++;
            if (case_compare(c, want, count, text, sizeof text))
                fail_msg("choice %d, device %d: %s: %s", choice, d, text, what);
            check_threads(c, f->device[d + 2], choice, known, what);
        }
    }
    free(want);
    case_end(c);
    return ran;
}

static void check_many(const Fixture *f, StepKind kind, int count) {
    int ran = 0;
    for (int i = 0; i < count; i++) {
        Case c;
        case_start(&c, (uint64_t)i, kind);
        ran += check_case(&c, f);
    }
    assert_true(ran >= 2 * count);
}
static void gemm_agrees(void **f) { check_many(*f, S_GEMM, 400); }
static void conv_agrees(void **f) { check_many(*f, S_CONV, 600); }
static void pool_agrees(void **f) { check_many(*f, S_POOL, 300); }
static void ewise_agrees(void **f) { check_many(*f, S_EWISE, 800); }
static void reduce_agrees(void **f) { check_many(*f, S_REDUCE, 500); }
static void copy_agrees(void **f) { check_many(*f, S_COPY, 500); }
static void fill_agrees(void **f) { check_many(*f, S_FILL, 60); }
static void softmax_agrees(void **f) { check_many(*f, S_SOFTMAX, 200); }

/* ---- the comparison itself: a back end that changes one element a little, or writes one byte too
   far, is caught */
typedef enum Fault { FAULT_VALUE, FAULT_BEFORE, FAULT_AFTER, FAULT_COUNT } Fault;
static void commit_fault(Case *c, Fault fault) {
    char *const y = c->slot[0];
    if (fault == FAULT_VALUE) ((float *)c->slot[0])[c->view[0].offset] += 1e-3f;
    if (fault == FAULT_BEFORE) y[-1] = 0;
    if (fault == FAULT_AFTER) y[c->bytes[0]] = 0;
}
static void planted_faults_are_caught(void **state) {
    const Fixture *f = *state;
    const Backend *b = backend_open("cpu", NULL);
    int planted = 0, caught = 0, clean = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        Case c;
        char text[200];
        int64_t count;
        case_start(&c, seed, S_SOFTMAX);
        Num *want = ref_run(&c.step, c.slot, &count);
        assert_true(case_run(&c, b, f->device[0], 0, 0));
        if (c.view[0].dtype == DT_FLOAT && count > 0) {
            clean += case_compare(&c, want, count, text, sizeof text) == 0;
            for (Fault fault = 0; fault < FAULT_COUNT; fault++) {
                assert_true(case_run(&c, b, f->device[0], 0, 0));
                commit_fault(&c, fault);
                planted++;
                caught += case_compare(&c, want, count, text, sizeof text) > 0;
            }
        }
        free(want);
        case_end(&c);
    }
    assert_true(planted > 30);
    assert_int_equal(caught, planted);
    assert_int_equal(clean * FAULT_COUNT, planted);
}

static int setup(void **state) {
    static Fixture f;
    char why[300];
    const Backend *b = backend_open("cpu", NULL);
    const char *options[] = {"", "generic", "threads=3,grain=1", "generic,threads=2,grain=1"};
    for (int i = 0; i < 4; i++)
        if (!(f.device[i] = b->open(options[i], why, sizeof why)))
            return fprintf(stderr, "%s\n", why), -1;
    *state = &f;
    return 0;
}
static int teardown(void **state) {
    for (int i = 0; i < 4; i++) backend_open("cpu", NULL)->close(((Fixture *)*state)->device[i]);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copy_agrees),
        cmocka_unit_test(fill_agrees),
        cmocka_unit_test(ewise_agrees),
        cmocka_unit_test(reduce_agrees),
        cmocka_unit_test(softmax_agrees),
        cmocka_unit_test(gemm_agrees),
        cmocka_unit_test(pool_agrees),
        cmocka_unit_test(conv_agrees),
        cmocka_unit_test(planted_faults_are_caught),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
