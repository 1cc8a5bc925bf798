/* verifier_classes.c -- checks by machine arithmetic that classes keep their promises: the classes
   that the prover now gives the rules of classes.rules and refinement.rules, those in the library,
   and those of a sample of the generated rules. A class that promises too much must be noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "test/shared/class_check.h"
#include "verifier/verify.h"
#include <stdio.h>
#include <string.h>

enum { SIZES = 6, SEED = 7 };
static RuleSet read_rules(Arena *a, const char *path) {
    RuleSet set = {.arena = a};
    Error e = {0};
    if (!rules_read(a, path, &set, &e)) fail_msg("%s:%d: %s", path, e.line, e.reason);
    return set;
}
static bool proves(Arena *a, Rule *rule) {
    VerifyOptions o = verify_defaults();
    VerifyResult r = verify_rule(a, rule, &o);
    rule->verdict = r.verdict;
    rule->classes = r.classes;
    rule->condition = r.condition;
    return r.verdict == VERDICT_PROVED;
}
static void check(const Rule *rule, ClassCheck *c) {
    if (!class_check(rule, SIZES, SEED, c)) fail_msg("%s", c->why);
}

/* The class that a rule must get, from the comment `# class: WORDS` above it; NULL if there is
   none. */
static const char *wanted(Arena *a, const Rule *rule) {
    const char *at = strstr(rule->comment, "class: ");
    return at ? arena_string(a, at + 7, strcspn(at + 7, "\n")) : NULL;
}
static void test_given_now(void **state) {
    (void)state;
    static const char *const files[] = {"test/cases/verifier/classes.rules",
                                        "test/cases/verifier/refinement.rules"};
    Arena *a = arena_new(NULL, 0);
    ClassCheck c = {0};
    int stated = 0;
    for (int f = 0; f < 2; f++) {
        RuleSet set = read_rules(a, files[f]);
        for (int k = 0; k < set.n; k++) {
            const char *want = wanted(a, &set.v[k]);
            bool proved = proves(a, &set.v[k]);
            if (want) assert_string_equal(classes_text(a, set.v[k].classes), want);
            stated += want != NULL;
            if (proved) check(&set.v[k], &c);
        }
    }
    assert_true(stated >= 20 && c.draws > 3000 && c.elements > 5000);
    arena_free(a);
}
static void check_file(const char *path, int step, int least) {
    Arena *a = arena_new(NULL, 0);
    RuleSet set = read_rules(a, path);
    ClassCheck c = {0};
    for (int k = 0; k < set.n; k += step) check(&set.v[k], &c);
    assert_true(c.draws >= least);
    arena_free(a);
}
static void test_library(void **state) {
    (void)state;
    static const char *const names[] = {"activation", "attention", "convtranspose", "fold",
                                        "gather",     "layout",    "merge",         "normalization",
                                        "pool",       "recurrent", "simplify"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char path[100];
        snprintf(path, sizeof path, "rules/library/%s.rules", names[k]);
        check_file(path, 1, 50);
    }
}
static void test_generated(void **state) {
    (void)state;
    check_file("rules/generated/search/gains.rules", 8, 2000);
    check_file("rules/generated/attention-3.rules", 40, 1000);
}

/* Checks that a class which promises too much is noticed; `broken` is the broken promise. */
static void lie(const char *text, unsigned classes, const char *broken) {
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {.arena = a};
    Error e = {0};
    ClassCheck c = {0};
    if (!rules_parse(a, "lie", text, strlen(text), &set, &e)) fail_msg("%s", e.reason);
    set.v[0].verdict = VERDICT_PROVED;
    set.v[0].classes = classes;
    if (class_check(&set.v[0], SIZES, SEED, &c)) fail_msg("%s is not found out", set.v[0].name);
    if (!strstr(c.why, broken)) fail_msg("%s: not for \"%s\": %s", set.v[0].name, broken, c.why);
    arena_free(a);
}
#define FILLED(name, type, more, from, to) \
    "rule " name "\n  %x : " type " [n]" more "\nfrom\n" from "  out %y\nto\n" to "  out %y\n"
static void test_lies(void **state) {
    (void)state;
    lie(FILLED("half", "F16", "",
               "  %a = fill value=2049 shape=[n] dtype=F16\n"
               "  %b = fill value=3 shape=[n] dtype=F16\n  %m = mul %a %b\n  %y = max %x %m\n",
               "  %c = fill value=6147 shape=[n] dtype=F16\n  %y = max %x %c\n"),
        CLASS_EXACT, "other bits");
    lie(FILLED("zero", "F", "", "  %z = fill value=0 shape=[n]\n  %y = add %x %z\n",
               "  %y = reshape %x shape=[n]\n"),
        CLASS_EXACT, "other bits");
    lie(FILLED("two-roundings", "F", "   %z : F [n]", "  %y = div %x %z\n",
               "  %r = reciprocal %z\n  %y = mul %x %r\n"),
        CLASS_EXACT, "other bits");
    lie(FILLED("tenth", "F", "",
               "  %t = fill value=1/10 shape=[n]\n  %k = fill value=10 shape=[n]\n"
               "  %a = mul %x %t\n  %b = mul %a %k\n  %c = sub %b %x\n"
               "  %l = fill value=1000 shape=[n]\n  %y = mul %c %l\n",
               "  %z = fill value=0 shape=[n]\n  %y = mul %x %z\n"),
        CLASS_REASSOCIATES, "another number");
    lie(FILLED("root", "F", "", "  %s = sqrt %x\n  %y = mul %s %s\n", "  %y = relu %x\n"),
        CLASS_REASSOCIATES, "NaN came or went");
    lie(FILLED("unguarded", "F", "", "  %r = relu %x\n  %y = sqrt %r\n", "  %y = sqrt %x\n"),
        CLASS_REASSOCIATES | CLASS_DEFINES, "no number where one was");
    lie(FILLED("bytes-three", "U8", "   %z : U8 [n]   %w : U8 [n]",
               "  %a = cast %x to=F\n  %b = cast %z to=F\n  %c = cast %w to=F\n"
               "  %d = add %a %b\n  %y = add %d %c\n",
               "  %a = cast %x to=F\n  %b = cast %z to=F\n  %c = cast %w to=F\n"
               "  %d = add %b %c\n  %y = add %a %d\n"),
        CLASS_EXACT, "other bits");
    lie(FILLED("bytes-negated", "I8", "",
               "  %m = fill value=-1 shape=[]\n  %a = cast %x to=F\n  %y = mul %a %m\n",
               "  %m = fill value=-1 shape=[] dtype=I32\n  %a = cast %x to=I32\n"
               "  %b = mul %a %m\n  %y = cast %b to=F\n"),
        CLASS_EXACT, "other bits");
    lie(FILLED("saturates-elsewhere", "F", "   %s : F []",
               "  %p = quantize %x %s to=I8\n  %y = cast %p to=I32\n",
               "  %z = fill value=127 shape=[] dtype=U8\n  %m = fill value=127 shape=[] dtype=I32\n"
               "  %p = quantize %x %s %z to=U8\n  %i = cast %p to=I32\n  %y = sub %i %m\n"),
        CLASS_EXACT, "other bits");
    lie(FILLED("dropped", "F", "   %z : F [n]", "  %a = add %x %z\n  %y = sub %a %z\n",
               "  %y = reshape %x shape=[n]\n"),
        CLASS_REASSOCIATES, "NaN came or went");
    lie(FILLED("large", "F", "   %z : F [n]", "  %s = add %x %z\n  %y = exp %s\n",
               "  %a = exp %x\n  %b = exp %z\n  %y = mul %a %b\n"),
        CLASS_REASSOCIATES | CLASS_DIVIDES, "overflow");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_given_now), cmocka_unit_test(test_library),
        cmocka_unit_test(test_generated), cmocka_unit_test(test_lies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
