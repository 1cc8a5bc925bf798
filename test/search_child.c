/* search_child.c -- tests running other programs: what they write and how they end is told, and a
   program that is stopped ends with all that it started. */
#include "search/child.h"
#include "ops/base/process.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static int run_shell(Arena *a, const char *line, const Text *in, ChildSaid *said) {
    char shell[] = "sh", option[] = "-c";
    char *argv[] = {shell, option, arena_string(a, line, strlen(line)), NULL};
    return child_run(a, argv, in, said);
}

static void what_a_program_writes_is_told(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    ChildSaid said;
    Text in = text_new(a);
    text_add(&in, "given");
    assert_int_equal(run_shell(a, "cat; printf ' more'", &in, &said), 0);
    assert_string_equal(said.out, "given more");
    assert_int_equal(said.n, 10);
    assert_string_equal(said.reason, "");
    assert_int_equal(
        run_shell(a, "echo first >&2; echo 'the reason' >&2; echo >&2; exit 3", NULL, &said), 3);
    assert_string_equal(said.reason, "the reason");
    assert_string_equal(said.out, "");
    arena_free(a);
}

static void what_cannot_be_run_is_an_error(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    ChildSaid said;
    char name[] = "/no/such/program", *argv[] = {name, NULL};
    assert_int_equal(child_run(a, argv, NULL, &said), -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(said.out, "");
    assert_string_equal(said.reason, "");
    arena_free(a);
}

static bool after_three(void *asked) { return ++*(int *)asked > 3; }

static void a_program_can_be_stopped(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    ChildSaid said;
    int asked = 0;
    char name[] = "sleep", time[] = "1000", *argv[] = {name, time, NULL};
    assert_int_equal(child_run_until(a, argv, NULL, &said, after_three, &asked), -1);
    assert_int_equal(errno, ECANCELED);
    assert_string_equal(said.out, "");
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_program_writes_is_told),
        cmocka_unit_test(what_cannot_be_run_is_an_error),
        cmocka_unit_test(a_program_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
