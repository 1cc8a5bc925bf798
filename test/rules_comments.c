/* rules_comments.c -- tests which comments of a file of rules stay when it is written again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "rules/rule.h"
#include <string.h>

#define SIDES                                                                            \
    "  %x : F [n]\nfrom\n  %y = relu %x\n  %z = relu %y\n  out %z\nto\n  %y = relu %x\n" \
    "  out %y\n"
static const char first[] = "# a file\n\n# a rule\nrule first\n" SIDES,
                  second[] = "rule second\n" SIDES,
                  after[] = "\n# an idea\n# of two lines\n\n# another";

static void read_text(Arena *a, const char *text, RuleSet *set) {
    Error e = {0};
    assert_true(rules_parse(a, "text", text, strlen(text), set, &e));
}
static void comments_after_the_last_rule_stay(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {0}, again = {0};
    read_text(a, arena_format(a, "%s%s", first, after), &set);
    assert_string_equal(set.end, "an idea\nof two lines\n\nanother\n");
    Text t = text_new(a);
    rule_print(&set.v[0], &t), rules_end_print(&set, &t);
    read_text(a, arena_string(a, t.data, t.size), &again);
    assert_string_equal(again.v[0].section, "a file\n");
    assert_string_equal(again.v[0].comment, "a rule\n");
    assert_string_equal(again.end, set.end);
    arena_free(a);
}
/* If several files are read, they stay before the rules of the next file. */
static void comments_between_files_stay(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {0};
    read_text(a, arena_format(a, "%s%s", first, after), &set);
    read_text(a, second, &set);
    assert_string_equal(set.v[1].section, "an idea\nof two lines\n\nanother\n");
    assert_string_equal(set.end, "");
    arena_free(a);
}
static void a_file_may_have_comments_alone(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {0};
    Text t = text_new(a);
    read_text(a, after, &set);
    assert_int_equal(set.n, 0);
    rules_end_print(&set, &t);
    assert_string_equal(arena_string(a, t.data, t.size),
                        "# an idea\n# of two lines\n\n# another\n");
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(comments_after_the_last_rule_stay),
                                       cmocka_unit_test(comments_between_files_stay),
                                       cmocka_unit_test(a_file_may_have_comments_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
