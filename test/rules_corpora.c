/* rules_corpora.c -- checks the corpora with which the verifier is tested (test/cases/verifier) by
   the oracle. Every rule has types at all its lengths. The rules expected to be true agree at
   random sizes, and each of the others differs at some. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "test/shared/rule_trial.h"
#include <string.h>

enum { TRUE_DRAWS = 24, FALSE_DRAWS = 400 };
typedef struct Corpus {
    const char *file;
    int proved, refuted;
} Corpus;

static bool expected_true(const Rule *rule) {
    bool proved = strstr(rule->comment, "expect: proved") != NULL,
         refuted = strstr(rule->comment, "expect: refuted") || /* unknown: NaN against a number */
                   strstr(rule->comment, "expect: unknown");
    if (proved == refuted)
        fail_msg("%s: one line `# expect: proved` or `# expect: refuted` stands above it",
                 rule->name);
    return proved;
}

static void try_rule(const Rule *rule, const int length[], bool expect) {
    Trial t;
    int done;
    if (!trial_open(&t, rule, length, TRIAL_BOTH, 1)) fail_msg("%s", t.why);
    TrialResult r = trial_rule(&t, expect ? TRUE_DRAWS : FALSE_DRAWS, &done);
    t.zeros = !expect && r == TRIAL_SAME;
    if (t.zeros) r = trial_rule(&t, FALSE_DRAWS, &done);
    if (r == TRIAL_ERROR || (expect && done < TRUE_DRAWS))
        fail_msg("computed %d times: %s", done, t.why);
    if (expect && r == TRIAL_DIFFERENT) fail_msg("expected to be true: %s", t.why);
    if (!expect && r == TRIAL_SAME)
        fail_msg("%s: expected to be false, but agrees %d times", rule->name, done);
    trial_close(&t);
}

static void try_corpus(const Corpus *c) {
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {.arena = a};
    Error e = {0};
    int count[2] = {0};
    if (!rules_read(a, c->file, &set, &e)) fail_msg("%s:%d: %s", e.place, e.line, e.reason);
    for (int k = 0; k < set.n; k++) {
        int length[RULE_BLOCKS];
        bool expect = expected_true(&set.v[k]);
        count[expect]++;
        rule_lengths_first(&set.v[k], length);
        do try_rule(&set.v[k], length, expect);
        while (rule_lengths_next(&set.v[k], length));
    }
    assert_int_equal(count[true], c->proved);
    assert_int_equal(count[false], c->refuted);
    arena_free(a);
}

static void test_further_rules(void **state) {
    (void)state;
    try_corpus(&(Corpus){"test/cases/verifier/corpus_b.rules", 67, 10});
}
static void test_axioms_of_one_group(void **state) {
    (void)state;
    try_corpus(&(Corpus){"test/cases/verifier/axioms.rules", 104, 10});
}
/* These are the axioms with a convolution, for any number of groups. Of all 114 axioms, 98 are true
   then. */
static void test_axioms_of_any_groups(void **state) {
    (void)state;
    try_corpus(&(Corpus){"test/cases/verifier/axioms_groups.rules", 18, 16});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_further_rules),
        cmocka_unit_test(test_axioms_of_one_group),
        cmocka_unit_test(test_axioms_of_any_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
