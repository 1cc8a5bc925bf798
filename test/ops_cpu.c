/* ops_cpu.c -- compares the CPU back end with the reference of steps_reference.h: every kind of
   step at random sizes (0 and 1 included), strides, types and parameters, by every choice, with and
   without special instruction sets. With several threads the results must have the same bytes. */
#include "test/shared/conformance.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

typedef struct Fixture {
    Device *device[4]; /* the best instruction sets, generic code, and both with threads */
} Fixture;
static Fixture fixture;

/* Checks the kind of step that `state` names, with the machine's best instruction sets and with
   generic code. */
static void steps_agree(void **state) {
    const StepCount *kind = *state;
    for (int d = 0; d < 2; d++) {
        const Suite s = {.backend = backend_open("cpu", NULL),
                         .device = fixture.device[d],
                         .twin = fixture.device[d + 2],
                         .weights = true,
                         .may_refuse = true};
        Found found = {0};
        if (!conformance_run(&s, kind->kind, kind->steps, NULL, &found))
            fail_msg("device %d: %s", d, found.text);
        assert_true(kind->kind == S_ROWS ? found.steps > kind->steps / 4
                                         : found.steps == kind->steps);
        assert_true(found.runs >= found.steps);
    }
}

/* ---- tests of the comparison itself: it must notice a back end that changes one element a little
   or writes one byte too far */
typedef enum Fault { FAULT_VALUE, FAULT_BEFORE, FAULT_AFTER, FAULT_COUNT } Fault;
static void commit_fault(Case *c, Fault fault) {
    char *const y = c->slot[0];
    if (fault == FAULT_VALUE) ((float *)c->slot[0])[c->view[0].offset] += 1e-3f;
    if (fault == FAULT_BEFORE) y[-1] = 0;
    if (fault == FAULT_AFTER) y[c->bytes[0]] = 0;
}
static void planted_faults_are_caught(void **state) {
    const Fixture *f = &fixture;
    (void)state;
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
    char why[300];
    const Backend *b = backend_open("cpu", NULL);
    const char *options[] = {"", "generic", "threads=3,grain=1", "generic,threads=2,grain=1"};
    (void)state;
    for (int i = 0; i < 4; i++)
        if (!(fixture.device[i] = b->open(options[i], why, sizeof why)))
            return fprintf(stderr, "%s\n", why), -1;
    return 0;
}
static int teardown(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) backend_open("cpu", NULL)->close(fixture.device[i]);
    return 0;
}

int main(void) {
    struct CMUnitTest tests[CONFORMANCE_KINDS + 1] = {
        [CONFORMANCE_KINDS] = cmocka_unit_test(planted_faults_are_caught)};
    for (int k = 0; k < CONFORMANCE_KINDS; k++)
        tests[k] = (struct CMUnitTest){.name = conformance_kinds[k].name,
                                       .test_func = steps_agree,
                                       .initial_state = (void *)&conformance_kinds[k]};
    return cmocka_run_group_tests(tests, setup, teardown);
}
