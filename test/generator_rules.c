/* generator_rules.c -- tests the committed generated rules: their verdicts are valid, and a run of
   the generator yields the same candidates again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "generator/generate.h"
#include "graphs/world.h"
#include "ops/base/file.h"
#include "rules/rule.h"
#include <stdlib.h>
#include <string.h>

static const char *const files[] = {
    "rules/generated/attention-3.rules",   "rules/generated/cnn-3.rules",
    "rules/generated/elementwise-3.rules", "rules/generated/taso-3.rules",
    "rules/generated/search/gains.rules",  "rules/generated/trades.rules",
    "rules/generated/taso-4.rules"};
enum { EVERY = 5 }; /* only every fifth rule is checked */

static void verdicts_hold(void **state) {
    (void)state;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        Arena *a = arena_new(NULL, 0);
        World *w = graph_world_new(NULL, 0);
        RuleSet set = {.arena = a};
        Error e = {0};
        if (!rules_read(a, files[f], &set, &e)) print_message("%s\n", e.reason);
        assert_int_equal(e.kind, E_NONE);
        assert_true(set.n > 250);
        for (int k = 0; k < set.n; k += EVERY) {
            if (!rule_check(w, &set.v[k], &e)) print_message("%s: %s\n", set.v[k].name, e.reason);
            assert_int_equal(e.kind, E_NONE);
        }
        Rule forged = set.v[0];
        forged.condition = "a >= 2";
        assert_false(rule_check(w, &forged, &e));
        world_free(w);
        arena_free(a);
    }
}

static Text generated(Arena *a, const char *operators, int size) {
    Text out = text_new(a);
    GenerateOptions o = {
        .set = operators, .size = size, .jobs = 2, .nshard = 1, .seed = 1, .memory = 1u << 30};
    GenerateReport report;
    Error e = {0};
    assert_true(generate(&o, a, &out, &report, &e));
    return out;
}
static void candidates_are_made_again(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    const Text out = generated(a, "generator/sets/taso.set", 2);
    Error e = {0};
    char *text;
    size_t n;
    assert_true(file_read(a, "rules/generated/taso-2.candidates", &text, &n, &e));
    assert_int_equal(n, out.size);
    assert_memory_equal(text, out.data, n);
    arena_free(a);
}
/* Every candidate can be read back and built. A rule found false where an entry of a free list of
   attributes is 0 is not a candidate, because the text of a rule, which writes a free list as one
   name, cannot exclude this value. */
static void candidates_are_rules(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    World *w = graph_world_new(NULL, 0);
    const Text out = generated(a, "generator/sets/cnn.set", 3);
    RuleSet set = {.arena = a};
    Error e = {0};
    assert_true(rules_parse(a, "cnn.set", out.data, out.size, &set, &e));
    assert_true(set.n > 250);
    for (int k = 0; k < set.n; k++) {
        int length[RULE_BLOCKS];
        Instance i;
        rule_lengths_first(&set.v[k], length);
        do {
            if (!rule_instance(w, a, &set.v[k], length, &i, &e)) print_message("%s\n", e.reason);
            assert_int_equal(e.kind, E_NONE);
        } while (rule_lengths_next(&set.v[k], length));
    }
    world_free(w);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(verdicts_hold),
                                       cmocka_unit_test(candidates_are_made_again),
                                       cmocka_unit_test(candidates_are_rules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
