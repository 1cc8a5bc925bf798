/* ops_errors.c -- tests errors and what is released when an Escape is taken. */
#include "ops/base/intern.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* ---- errors */

static void errors_keep_the_first_and_print_their_place(void **state) {
    (void)state;
    char text[600];
    Error e = {0};
    assert_int_equal(error_exit_code(&e), 0);
    assert_int_equal(error_exit_code(NULL), 0);
    assert_false(error_set(NULL, E_USAGE, "x", "dropped"));
    assert_false(error_at(&e, E_INVALID, "a.rule", 3, 14, "bad %s", "name"));
    assert_false(error_set(&e, E_LIMIT, "later", "is not news"));
    error_print(&e, text, sizeof text);
    assert_string_equal(text, "a.rule:3:14: bad name (invalid input)");
    assert_int_equal(error_exit_code(&e), 3);

    Error second = {0};
    error_set(&second, E_ENVIRONMENT, "m.onnx", "no such file\n  detail");
    error_print(&second, text, sizeof text);
    assert_string_equal(text, "m.onnx: no such file (environment)\n  detail");
    error_print(&second, text, 6);
    assert_string_equal(text, "m.onn");
    Error third = {0};
    error_set(&third, E_INTERRUPTED, NULL, "stopped");
    error_print(&third, text, sizeof text);
    assert_string_equal(text, "stopped (interrupted)");
    assert_int_equal(error_exit_code(&third), 130);
}

static void long_errors_are_cut(void **state) {
    (void)state;
    char text[2000];
    Error e = {0};
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    error_set(&e, E_USAGE, text, "%s", text);
    assert_int_equal(strlen(e.place), sizeof e.place - 1);
    assert_int_equal(strlen(e.reason), sizeof e.reason - 1);
}

/* ---- escapes */

static char given_back[8];

static void note(void *letter) { strcat(given_back, letter); }

static void the_latest_is_given_back_first(void **state) {
    (void)state;
    Escape escape = {.error = {0}};
    Cleanup cleanup[4];
    char letter[][2] = {"a", "b", "c", "d"};
    given_back[0] = 0;
    for (int k = 0; k < 4; k++) cleanup_add(&escape, &cleanup[k], note, letter[k]);
    cleanup_cancel(&cleanup[1]);
    cleanup_cancel(&cleanup[1]);
    cleanup_run(&cleanup[3]);
    assert_string_equal(given_back, "d");
    escape_free(&escape);
    assert_string_equal(given_back, "dca");
    escape_free(&escape);
    assert_string_equal(given_back, "dca");
    cleanup_add(NULL, &cleanup[0], note, letter[0]); /* under no Escape */
    cleanup_run(&cleanup[0]);
    assert_string_equal(given_back, "dcaa");
}

static void an_escape_frees_what_was_made_under_it(void **state) {
    (void)state;
    const size_t before = mem_bytes();
    Escape escape = {.error = {0}};
    Arena *kept = arena_new(&escape, 0), *freed = arena_new(&escape, 0);
    arena_alloc(arena_new(&escape, 0), 1 << 20);
    intern_put(intern_new(freed), "x", 1);
    intern_free(intern_new(kept));
    arena_alloc(kept, 100000);
    assert_true(mem_bytes() >= before + (1 << 20) + 100000);
    arena_keep(kept);
    assert_null(arena_escape(kept));
    escape_free(&escape);
    assert_true(mem_bytes() >= before + 100000 && mem_bytes() < before + (1 << 20));
    arena_free(kept);
    assert_true(mem_bytes() == before);
}

/* An Escape within another one ends with it, and before what was registered earlier. */
static void an_escape_may_lie_within_another(void **state) {
    (void)state;
    Escape outer = {.error = {0}}, inner = {.error = {0}};
    Cleanup cleanup[3];
    char letter[][2] = {"a", "b", "c"};
    given_back[0] = 0;
    cleanup_add(&outer, &cleanup[0], note, letter[0]);
    for (int k = 0; k < 2; k++) { /* it can be used again */
        escape_within(&inner, &outer);
        cleanup_add(&inner, &cleanup[1], note, letter[1]);
        if (k) break;
        escape_free(&inner);
        assert_string_equal(given_back, "b");
        assert_ptr_equal(outer.cleanup, &cleanup[0]);
    }
    cleanup_add(&outer, &cleanup[2], note, letter[2]);
    escape_free(&outer);
    assert_string_equal(given_back, "bcba");
    assert_null(inner.cleanup);
    escape_within(&inner, NULL);
    escape_free(&inner);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_keep_the_first_and_print_their_place),
        cmocka_unit_test(long_errors_are_cut),
        cmocka_unit_test(the_latest_is_given_back_first),
        cmocka_unit_test(an_escape_frees_what_was_made_under_it),
        cmocka_unit_test(an_escape_may_lie_within_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
