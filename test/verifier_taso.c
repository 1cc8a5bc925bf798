/* verifier_taso.c -- verifies the rules that TASO ships, with every number of groups symbolic: as
   they stand, and by default, when conditions are inferred. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "rules/taso.h"
#include "test/shared/sample.h"
#include "verifier/verify.h"
#include <string.h>

enum { RULES = 133 };
/* Rules that are false for several groups, but true for one. */
static bool needs_groups(int k) { return k == 98 || k == 105 || (k >= 125 && k <= 129); }
static bool is_wrong(int k) { return k == 99 || k == 100 || k == 130 || k == 131; }

static void verify_shipped(bool no_preconditions, VerifyResult *r, Arena *a) {
    RuleSet set = {.arena = a};
    TasoRefusals refused = {0};
    Error e = {0};
    VerifyOptions o = verify_defaults();
    o.no_preconditions = no_preconditions;
    if (!rules_load(a, "test/cases/taso/graph_subst.pb", &set, &refused, &e))
        fail_msg("%s", e.reason);
    assert_int_equal(set.n, RULES);
    assert_int_equal(refused.n, 0);
    for (int k = 0; k < RULES; k += sample_step()) r[k] = verify_rule(a, &set.v[k], &o);
}
static void test_as_they_stand(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    VerifyResult r[RULES];
    verify_shipped(true, r, a);
    for (int k = 0; k < RULES; k += sample_step()) {
        bool wrong = is_wrong(k) || needs_groups(k);
        if (r[k].verdict != (wrong ? VERDICT_REFUTED : VERDICT_PROVED))
            fail_msg("taso-%d: %d: %s", k, (int)r[k].verdict, r[k].why);
        assert_string_equal(r[k].condition, "");
        assert_int_equal(r[k].counterexample != NULL, wrong);
    }
    arena_free(a);
}
/* A rule that is wrong for several groups is proved for one group. A rule that is wrong even for
   one group is refuted, or proved under a stronger condition. */
static void test_by_default(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    VerifyResult r[RULES];
    double ms = 0;
    verify_shipped(false, r, a);
    for (int k = 0; k < RULES; k += sample_step()) {
        ms += r[k].ms;
        if (is_wrong(k) && r[k].verdict == VERDICT_REFUTED) continue;
        if (r[k].verdict != VERDICT_PROVED)
            fail_msg("taso-%d: %d: %s", k, (int)r[k].verdict, r[k].why);
        if (is_wrong(k)) assert_true(*r[k].condition);
        else if (needs_groups(k)) assert_non_null(strstr(r[k].condition, "G0 == 1"));
        else assert_string_equal(r[k].condition, "");
    }
    print_message("%.0f ms\n", ms);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_they_stand),
                                       cmocka_unit_test(test_by_default)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
