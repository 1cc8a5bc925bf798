/* generator_derive.c -- compares the rules that TASO ships with the generated ones. All of TASO's
   rules that hold for any number of groups follow from the proved rules of size 3. Of the other
   eleven, seven hold for one group only and follow under that condition. Four are unsound even for
   one group, because their kernels may have different types; trials at random sizes refute them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "generator/generate.h"
#include "generator/relate.h"
#include "rules/taso.h"
#include "test/shared/rule_trial.h"
#include "graphs/world.h"
#include <glob.h>
#include <stdio.h>
#include <string.h>

static const char shipped[] = "test/cases/taso/graph_subst.pb",
                  proved[] = "rules/generated/taso-3.rules";
static const int unsound[] = {99, 100, 130, 131}, one_group[] = {98, 105, 125, 126, 127, 128, 129};
enum { RULES = 133, DRAWS = 400 };
#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

typedef struct Known {
    Arena *arena;
    RuleSet taso, rules;
} Known;

static Known open_known(void) {
    Known k = {.arena = arena_new(NULL, 0)};
    TasoRefusals refused = {0};
    Error e = {0};
    k.taso.arena = k.rules.arena = k.arena;
    assert_true(rules_load(k.arena, shipped, &k.taso, &refused, &e));
    assert_true(rules_read(k.arena, proved, &k.rules, &e));
    assert_int_equal(k.taso.n, RULES);
    return k;
}

static bool among(int number, int n, const int list[]) {
    for (int k = 0; k < n; k++)
        if (list[k] == number) return true;
    return false;
}

static int underived(const Known *k, const RuleSet *given, const char **text) {
    Text out = text_new(k->arena);
    Error e = {0};
    int missing;
    if (!relate_derive(k->arena, given, &k->rules, &out, &missing, &e)) fail_msg("%s", e.reason);
    *text = out.data;
    return missing;
}

/* Appends TASO's rule of this number, with an additional condition, to the set. */
static void put_with(Known *k, int number, const char *condition, RuleSet *out) {
    Text t = text_new(k->arena);
    Error e = {0};
    Rule rule = k->taso.v[number];
    const char *where = rule.where.text ? rule.where.text : "";
    size_t n = strcspn(where, "\n");
    rule.where.text = n ? arena_format(k->arena, "%.*s, %s\n", (int)n, where, condition)
                        : arena_format(k->arena, "%s\n", condition);
    rule_print(&rule, &t);
    if (!rules_parse(k->arena, "given", t.data, t.size, out, &e)) fail_msg("%s", e.reason);
}

/* ---- all rules of TASO */

static void sound_rules_follow(void **state) {
    (void)state;
    Known k = open_known();
    const char *text;
    assert_int_equal(underived(&k, &k.taso, &text), COUNT(unsound) + COUNT(one_group));
    for (int n = 0; n < RULES; n++) {
        const char *line = strstr(text, arena_format(k.arena, "not derived taso-%d\n", n));
        assert_int_equal(line != NULL, among(n, COUNT(unsound), unsound) ||
                                           among(n, COUNT(one_group), one_group));
    }
    arena_free(k.arena);
}

static void seven_follow_for_one_group(void **state) {
    (void)state;
    Known k = open_known();
    RuleSet given = {.arena = k.arena};
    const char *text;
    for (int n = 0; n < COUNT(one_group); n++)
        put_with(&k, one_group[n], "G0 == 1, G1 == 1", &given);
    if (underived(&k, &given, &text)) fail_msg("%s", text);
    arena_free(k.arena);
}

/* ---- the four unsound rules */

/* The generator does find the equation behind the four rules, but only with kernels of one type,
   since its set has no others. */
static const char meets[] = "  %x1 : F [a, b, c, d]   %x2 : F [a, b, c, d]   %x3 : F [b, b, 3, 3]  "
                            " %x4 : F [b, b, 3, 3]\nfrom\n"
                            "  %1 = concat %x1 %x2 axis=1\n  %2 = concat %x3 %x4 axis=0\n  %3 = "
                            "conv %1 %2 group=2 pads=[1, 1, 1, 1]\n";
static void add_generated(Known *k) {
    Text out = text_new(k->arena);
    GenerateReport report;
    Error e = {0};
    GenerateOptions o = {.set = "test/cases/generator/groups.set",
                         .size = 3,
                         .jobs = 1,
                         .nshard = 1,
                         .seed = 1,
                         .memory = 1u << 30};
    if (!generate(&o, k->arena, &out, &report, &e)) fail_msg("%s", e.reason);
    assert_non_null(strstr(out.data, meets));
    if (!rules_parse(k->arena, "groups", out.data, out.size, &k->rules, &e))
        fail_msg("%s", e.reason);
}

static void unsound_ones_do_not_follow(void **state) {
    (void)state;
    Known k = open_known();
    RuleSet wrong = {.arena = k.arena}, right = {.arena = k.arena};
    const char *text;
    add_generated(&k);
    for (int n = 0; n < COUNT(unsound); n++) {
        put_with(&k, unsound[n], "G0 == 1, G1 == 1", &wrong);
        put_with(&k, unsound[n], "G0 == 1, G1 == 1, q0 == q1, q0 == c10", &right);
    }
    assert_int_equal(underived(&k, &wrong, &text), COUNT(unsound));
    if (underived(&k, &right, &text)) fail_msg("%s", text);
    arena_free(k.arena);
}

/* Trials at random sizes are the stage that refutes the four rules: they differ for one group, and
   agree for one group with kernels of one type. */
static void random_sizes_tell_them(void **state) {
    (void)state;
    Known k = open_known();
    for (int n = 0; n < COUNT(unsound); n++) {
        static const char *const condition[] = {"G0 == 1, G1 == 1", "G0 == 1, G1 == 1, q0 == q1"};
        for (int c = 0; c < 2; c++) {
            RuleSet given = {.arena = k.arena};
            Trial t;
            int length[RULE_BLOCKS], done;
            put_with(&k, unsound[n], condition[c], &given);
            rule_lengths_first(&given.v[0], length);
            if (!trial_open(&t, &given.v[0], length, TRIAL_BOTH, 1)) fail_msg("%s", t.why);
            TrialResult r = trial_rule(&t, c ? 24 : DRAWS, &done);
            if (r != (c ? TRIAL_SAME : TRIAL_DIFFERENT))
                fail_msg("taso-%d where %s: %d after %d", unsound[n], condition[c], (int)r, done);
            trial_close(&t);
        }
    }
    arena_free(k.arena);
}

/* ---- rules that neither TASO's file nor the library gives (rules/README.md names these) */

/* The names of the rules have numbers, which change when rules are generated anew; the operators of
   their left sides tell whether the names still mean the rules that the README describes. */
static const struct Family {
    const char *name, *left;
} family[] = {
    {"attention-3-107", "matmul matmul"},
    {"attention-3-165", "matmul matmul"},
    {"attention-3-162", "mul matmul"},
    {"attention-3-163", "mul matmul"},
    {"attention-3-114", "mul matmul"},
    {"attention-3-102", "add add"},
    {"attention-3-115", "add add"},
    {"attention-3-210", "softmax softmax concat"},
    {"attention-3-234", "softmax softmax concat"},
    {"attention-3-45", "reduce_mean mul"},
    {"attention-3-190", "reduce_mean reduce_mean add"},
    {"elementwise-3-10", "max min"},
    {"elementwise-3-11", "min max"},
    {"elementwise-3-140", "max min add"},
    {"elementwise-3-20", "neg max"},
    {"elementwise-3-66", "add exp sqrt"},
};

/* The operators of a part of a rule, in order, with blanks between them. */
static const char *operators(Arena *a, const char *part) {
    Text t = text_new(a);
    for (const char *at = strstr(part, " = "); at; at = strstr(at, " = "))
        at += 3, text_add(&t, "%s%.*s", t.size ? " " : "", (int)strcspn(at, " \n"), at);
    return t.data ? t.data : "";
}

/* Reads every file of the library, and then TASO's rules. */
static void read_known(Arena *a, RuleSet *known) {
    TasoRefusals refused = {0};
    Error e = {0};
    glob_t found;
    assert_int_equal(glob("rules/library/*.rules", 0, NULL, &found), 0);
    for (size_t f = 0; f < found.gl_pathc; f++)
        if (!rules_read(a, found.gl_pathv[f], known, &e)) fail_msg("%s", e.reason);
    globfree(&found);
    const int hand = known->n;
    assert_true(rules_load(a, shipped, known, &refused, &e));
    assert_int_equal(known->n, hand + RULES);
}

static void families_are_new(void **state) {
    (void)state;
    Known k = open_known();
    RuleSet known = {.arena = k.arena}, generated = {.arena = k.arena},
            given = {.v = ARENA_NEW(k.arena, Rule, COUNT(family)), .arena = k.arena};
    Error e = {0};
    const char *text;
    World *w = graph_world_new(NULL, 0);
    read_known(k.arena, &known);
    assert_true(rules_read(k.arena, "rules/generated/attention-3.rules", &generated, &e));
    assert_true(rules_read(k.arena, "rules/generated/elementwise-3.rules", &generated, &e));
    for (int f = 0; f < COUNT(family); f++) {
        const Rule *rule = rules_find(&generated, family[f].name);
        assert_non_null(rule);
        assert_string_equal(operators(k.arena, rule->from.text), family[f].left);
        assert_true(rule_check(w, rule, &e));
        given.v[given.n++] = *rule;
    }
    k.rules = known;
    if (underived(&k, &given, &text) != COUNT(family)) fail_msg("%s", text);
    world_free(w);
    arena_free(k.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_rules_follow),         cmocka_unit_test(seven_follow_for_one_group),
        cmocka_unit_test(unsound_ones_do_not_follow), cmocka_unit_test(random_sizes_tell_them),
        cmocka_unit_test(families_are_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
