/* verifier_rules.c -- tests the verdicts of the prover on the corpora and on planted false rules,
   the classes and conditions that it finds, and that each check inside the prover is necessary. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "graphs/world.h"
#include "test/shared/sample.h"
#include "verifier/infer.h"
#include "verifier/verify.h"
#include <malloc.h>
#include <string.h>

static RuleSet read_rules(Arena *a, const char *path) {
    RuleSet set = {.arena = a};
    Error e = {0};
    if (!rules_read(a, path, &set, &e)) fail_msg("%s:%d: %s", path, e.line, e.reason);
    return set;
}
static VerifyResult verdict(Arena *a, const Rule *rule, Switches check, bool no_preconditions) {
    VerifyOptions o = verify_defaults();
    o.check = check;
    o.prove_first = true; /* the prover is tested */
    o.no_preconditions = no_preconditions;
    return verify_rule(a, rule, &o);
}

static Verdict expected_verdict(const Rule *rule) {
    if (strstr(rule->comment, "expect: proved")) return VERDICT_PROVED;
    return strstr(rule->comment, "expect: unknown") ? VERDICT_UNKNOWN : VERDICT_REFUTED;
}
/* Checks that every rule has the verdict that the comment above it expects. A rule that is not
   proved as it stands may be proved under a condition by default, but never without one. */
static void check_corpus(const char *path, int proved, int refuted, int unknown) {
    Arena *a = arena_new(NULL, 0);
    RuleSet set = read_rules(a, path);
    int count[4] = {0};
    for (int k = 0; k < set.n; k += sample_step()) {
        const Rule *rule = &set.v[k];
        Verdict expected = expected_verdict(rule);
        VerifyResult r = verdict(a, rule, switches_all, expected != VERDICT_PROVED);
        if (r.verdict != expected)
            fail_msg("%s: %s: verdict %d: %s %s", path, rule->name, (int)r.verdict, r.why,
                     r.counterexample ? r.counterexample : "");
        if (strstr(r.condition_sources, "inferred"))
            fail_msg("%s: %s: only where %s", path, rule->name, r.condition);
        count[r.verdict]++;
        VerifyOptions o = verify_defaults();
        if (expected != VERDICT_PROVED) r = verify_rule(a, rule, &o);
        if (r.verdict != expected && !*r.condition) fail_msg("%s: %s by default", path, rule->name);
    }
    arena_free(a);
    if (sample_step() > 1) return;
    assert_int_equal(count[VERDICT_PROVED], proved);
    assert_int_equal(count[VERDICT_REFUTED], refuted);
    assert_int_equal(count[VERDICT_UNKNOWN], unknown);
}
static void test_corpus(void **state) {
    (void)state;
    check_corpus("test/cases/verifier/corpus_b.rules", 67, 9, 1);
}
static void test_further(void **state) {
    (void)state;
    check_corpus("test/cases/verifier/further.rules", 68, 10, 0);
}
static void test_data(void **state) {
    (void)state;
    check_corpus("test/cases/verifier/data.rules", 27, 4, 1);
}
static void test_reals(void **state) {
    (void)state;
    check_corpus("test/cases/verifier/reals.rules", 63, 51, 0);
}
static void test_attacks(void **state) {
    (void)state;
    check_corpus("test/cases/verifier/attacks.rules", 124, 496, 88);
}
static void test_needs(void **state) {
    (void)state;
    check_corpus("test/cases/verifier/needs.rules", 24, 0, 0);
}
static void test_refinement(void **state) {
    (void)state;
    check_corpus("test/cases/verifier/refinement.rules", 18, 33, 1);
}
static void test_axioms(void **state) {
    (void)state;
    check_corpus("test/cases/verifier/axioms.rules", 104, 10, 0);
}
static void test_axioms_of_groups(void **state) {
    (void)state;
    check_corpus("test/cases/verifier/axioms_groups.rules", 18, 16, 0);
}
static void test_resize(void **state) {
    (void)state;
    check_corpus("test/cases/verifier/resize.rules", 3, 7, 0);
}
static void test_edges(void **state) {
    (void)state;
    check_corpus("test/cases/verifier/edges.rules", 3, 9, 0);
}
static void test_planted(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    RuleSet set = read_rules(a, "test/planted/false.rules");
    assert_true(set.n >= 10);
    for (int k = 0; k < set.n; k += sample_step()) {
        VerifyResult r = verdict(a, &set.v[k], switches_all, true);
        if (r.verdict != VERDICT_REFUTED)
            fail_msg("%s: verdict %d: %s", set.v[k].name, (int)r.verdict, r.why);
        assert_non_null(strstr(r.counterexample, "output 1 at ["));
    }
    arena_free(a);
}

/* ---- classes */

static unsigned classes_of(const char *text) {
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {.arena = a};
    Error e = {0};
    if (!rules_parse(a, "test", text, strlen(text), &set, &e)) fail_msg("%s", e.reason);
    VerifyResult r = verdict(a, &set.v[0], switches_all, false);
    if (r.verdict != VERDICT_PROVED) fail_msg("%s: %s", set.v[0].name, r.why);
    arena_free(a);
    return r.classes;
}
static void test_classes(void **state) {
    (void)state;
    assert_int_equal(classes_of("rule moves\n  %x : F [n, m]\nfrom\n  %u = transpose %x perm=[1, "
                                "0]\n  %v = relu %u\n  out %v\n"
                                "to\n  %u = relu %x\n  %v = transpose %u perm=[1, 0]\n  out %v\n"),
                     CLASS_EXACT);
    assert_int_equal(classes_of("rule columns\n  %x : F [n, k]   %y : F [k, m]   %z : F [k, "
                                "l]\nfrom\n  %u = matmul %x %y\n  %v = matmul %x %z\n"
                                "  out %u %v\nto\n  %w = concat %y %z axis=1\n  %p = matmul %x "
                                "%w\n  %u %v = split %p axis=1 sizes=[m, l]\n  out %u %v\n"),
                     CLASS_EXACT);
    assert_int_equal(classes_of("rule associates\n  %x : F [n]   %y : F [n]   %z : F [n]\nfrom\n  "
                                "%u = add %x %y\n  %v = add %u %z\n  out %v\n"
                                "to\n  %u = add %y %z\n  %v = add %x %u\n  out %v\n"),
                     CLASS_REASSOCIATES);
    assert_int_equal(classes_of("rule rounds\n  %x : F [n]\nfrom\n  %k = fill value=2 shape=[]\n  "
                                "%l = fill value=20 shape=[]\n  %u = mul %x %k\n"
                                "  %v = div %u %l\n  out %v\nto\n  %k = fill value=1/10 shape=[]\n "
                                " %v = mul %x %k\n  out %v\n"),
                     CLASS_REASSOCIATES | CLASS_ROUNDS | CLASS_DIVIDES);
    /* The definition of the composite has the exact square root of 1/2, a model has its nearest
       float. */
    assert_int_equal(
        classes_of(
            "rule gelu\n  %x : F [n]\nfrom\n  %y = gelu %x\n  out %y\nto\n  %s = fill "
            "value=0.7071067811865476 shape=[]\n"
            "  %t = mul %x %s\n  %e = erf %t\n  %one = fill value=1 shape=[]\n  %p = add %e %one\n"
            "  %half = fill value=1/2 shape=[]\n  %h = mul %x %half\n  %y = mul %h %p\n  out %y\n"),
        CLASS_ROUNDS);
    assert_int_equal(classes_of("rule drops\n  %x : F [n]   %y : F [n]\nfrom\n  %u = add %x %y\n  "
                                "%v = sub %u %y\n  out %v\nto\n  out %x\n"),
                     CLASS_REASSOCIATES | CLASS_DROPS);
    /* The right side reads all that the left side reads, and more. */
    assert_int_equal(classes_of("rule spreads\n  %x : F [n]   %y : F [n]\nfrom\n  out %x\nto\n"
                                "  %u = add %x %y\n  %v = sub %u %y\n  out %v\n"),
                     CLASS_REASSOCIATES | CLASS_SPREADS);
    assert_int_equal(
        classes_of("rule other\n  %x : F [n]   %y : F [n]   %z : F [n]\nfrom\n  %u = add %x %y\n"
                   "  %v = sub %u %y\n  out %v\nto\n"
                   "  %u = add %x %z\n  %v = sub %u %z\n  out %v\n"),
        CLASS_REASSOCIATES | CLASS_DROPS);
    /* It depends on the index which part of the right side reads an element of the kernel. */
    assert_int_equal(
        classes_of("rule blocks\n  %x : F [1, c, 2*p + 1]   %u : F [o, c, 2]\nfrom\n"
                   "  %y = conv %x %u\n  out %y\nto\n  %a = pad %u pads=[0, 0, 0, 0, 0, 1]\n"
                   "  %b = pad %u pads=[0, 0, 1, 0, 0, 0]\n  %v = concat %a %b axis=0\n"
                   "  %z = conv %x %v strides=[2]\n  %t = reshape %z shape=[1, 2, o, p]\n"
                   "  %s = transpose %t perm=[0, 2, 3, 1]\n"
                   "  %y = reshape %s shape=[1, o, 2*p]\n  out %y\nwhere p >= 0\n"),
        CLASS_REASSOCIATES | CLASS_SPREADS);
    /* The NaN of a negative number vanishes. */
    assert_int_equal(classes_of("rule defines\n  %x : F [n]\nfrom\n  %s = sqrt %x\n  %y = mul %s "
                                "%s\n  out %y\nto\n  %y = relu %x\n  out %y\n"),
                     CLASS_REASSOCIATES | CLASS_DEFINES);
    /* Some floats cannot hold 16-bit integers exactly. */
    assert_int_equal(
        classes_of("rule words\n  %x : F [n]   %s : F []   %q : I16 []\nfrom\n"
                   "  %p = quantize %x %s %q to=I16\n  %y = cast %p to=I32\n  out %y\nto\n"
                   "  %m = fill value=32768 shape=[] dtype=I32\n  %i = cast %q to=I32\n"
                   "  %j = add %i %m\n  %e = cast %j to=U16\n  %p = quantize %x %s %e to=U16\n"
                   "  %k = cast %p to=I32\n  %y = sub %k %m\n  out %y\n"),
        CLASS_REASSOCIATES | CLASS_DIVIDES | CLASS_JUMPS);
    /* x / c is rounded once, x * (1 / c) twice. */
    assert_int_equal(
        classes_of("rule reciprocal\n  %x : F [n]   %y : F [n]\nfrom\n  %v = div %x %y\n  out %v\n"
                   "to\n  %r = reciprocal %y\n  %v = mul %x %r\n  out %v\n"),
        CLASS_REASSOCIATES | CLASS_DIVIDES);
}

/* ---- the counted limit */

/* The rule is (x + x')^5, computed in two orders, where x' is the transpose of x: the 32 products
   of the sums can be paired in more ways than a proof may try. */
static const char many_steps[] =
    "rule fifth-power\n  %x : F [n, n]\nfrom\n  %t = transpose %x perm=[1, 0]\n  %s = add %x "
    "%t\n  %a = matmul %s %s\n  %b = matmul %a %s\n  %c = matmul %b %s\n  %d = matmul %c %s\n  "
    "out %d\nto\n  %t = transpose %x perm=[1, 0]\n  %s = add %t %x\n  %a = matmul %s %s\n  %b = "
    "matmul %s %a\n  %c = matmul %s %b\n  %d = matmul %s %c\n  out %d\n";
static void test_limit_of_steps(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {.arena = a};
    Error e = {0};
    assert_true(rules_parse(a, "test", many_steps, strlen(many_steps), &set, &e));
    VerifyResult r = verdict(a, &set.v[0], switches_all, false);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    assert_string_equal(r.why, "the proof takes too many steps");
    arena_free(a);
}

/* ---- preconditions */

static bool proved_rule(const char *text, Switches check, bool no_preconditions) {
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {.arena = a};
    Error e = {0};
    if (!rules_parse(a, "test", text, strlen(text), &set, &e)) fail_msg("%s", e.reason);
    bool proved = verdict(a, &set.v[0], check, no_preconditions).verdict == VERDICT_PROVED;
    arena_free(a);
    return proved;
}
static bool proved_with(const char *text, Switches check) {
    return proved_rule(text, check, false);
}

static const char needs_more[] =
    "rule pieces\n  %x : F [n, m]\nfrom\n  out %x\nto\n"
    "  %u %v = split %x axis=1 sizes=[p, m - p]\n  %y = concat %u %v axis=1\n  out %y\n";
static const char only_rows[] =
    "rule one-row\n  %x : F [n, m]\nfrom\n  out %x\nto\n  %y = reshape %x shape=[1, m]\n  out %y\n";
static void test_useless_precondition(void **state) {
    (void)state;
    assert_false(proved_with(only_rows, switches_all)); /* n = 1 would be needed */
}
static void test_preconditions(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {.arena = a};
    Error e = {0};
    assert_true(rules_parse(a, "test", needs_more, strlen(needs_more), &set, &e));
    VerifyResult r = verdict(a, &set.v[0], switches_all, false);
    assert_int_equal(r.verdict, VERDICT_PROVED);
    assert_string_equal(r.condition, "p >= 0, m - p >= 0");
    r = verdict(a, &set.v[0], switches_all, true);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    assert_non_null(strstr(r.why, "m - p >= 0"));
    arena_free(a);
}

/* The verdict by default on a rule that does not state what it needs. */
static VerifyResult by_default(Arena *a, const char *text) {
    RuleSet set = {.arena = a};
    Error e = {0};
    VerifyOptions o = verify_defaults();
    if (!rules_parse(a, "test", text, strlen(text), &set, &e)) fail_msg("%s", e.reason);
    return verify_rule(a, &set.v[0], &o);
}
static void test_categories(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    VerifyResult r = by_default(a, only_rows);
    assert_int_not_equal(r.verdict, VERDICT_PROVED);
    assert_string_equal(r.category, "useless");
    r = by_default(a, "rule twice\n  %x : F [n, n]\nfrom\n  %y = transpose %x perm=[1, 0]\n  out "
                      "%y\nto\n  out %x\n");
    assert_int_equal(r.verdict, VERDICT_REFUTED);
    assert_string_equal(r.category, "useless");
    assert_non_null(strstr(r.why, "where n == 1"));
    r = by_default(a, "rule nowhere\n  %x : F [n]\nfrom\n  %y = relu %x\n  out %y\nto\n  out "
                      "%x\nwhere n >= 2, 1 >= n\n");
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    assert_string_equal(r.category, "vacuous");
    r = by_default(a, "rule idle\n  %x : F [n]\nfrom\n  %y = relu %x\n  %z = relu %y\n  out "
                      "%z\nto\n  %y = relu %x\n  out %y\n");
    assert_int_equal(r.verdict, VERDICT_PROVED);
    assert_string_equal(r.category, "");
    /* A zero point has the type of what it shifts. */
    r = by_default(a, "rule zero\n  %a : U8 [m, k]   %b : U8 [k, n]   %z : F []\nfrom\n"
                      "  %y = matmulinteger %a %b %z\n  out %y\nto\n"
                      "  %y = matmulinteger %a %b %z\n  out %y\n");
    assert_string_equal(r.category, "invalid");
    arena_free(a);
}
static const char groups[] = "rule groups\n  %x : F [n, G*c, k]   %u : F [G*p, c, 3]   %v : F "
                             "[G*q, c, 3]\nfrom\n  %s = conv %x %u group=G\n"
                             "  %t = conv %x %v group=G\n  %y = concat %s %t axis=1\n  out "
                             "%y\nto\n  %w = concat %u %v axis=0\n"
                             "  %y = conv %x %w group=G\n  out %y\nwhere p >= 1, q >= 1, k >= 3\n";
static void test_inferred(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    VerifyResult r = by_default(a, groups);
    assert_int_equal(r.verdict, VERDICT_PROVED);
    assert_string_equal(r.condition, "G == 1");
    assert_string_equal(r.condition_sources, "inferred");
    r = by_default(a, "rule mean\n  %x : F [p, m]   %y : F [q, m]\nfrom\n  %s = concat %x %y "
                      "axis=0\n  %r = reduce_mean %s axes=[0]\n"
                      "  out %r\nto\n  %s = reduce_mean %x axes=[0]\n  %t = reduce_mean %y "
                      "axes=[0]\n  %h = fill value=1/2 shape=[]\n"
                      "  %u = add %s %t\n  %r = mul %u %h\n  out %r\n");
    assert_int_equal(r.verdict, VERDICT_PROVED);
    assert_string_equal(r.condition, "p == q");
    r = by_default(a, needs_more);
    assert_string_equal(r.condition, "p >= 0, m - p >= 0");
    assert_string_equal(r.condition_sources, "right side, right side");
    /* Where m = 0, the left side is undefined, which is neither a counterexample nor a proof. */
    r = by_default(a, "rule maximum\n  %x : F [n, 1]\nfrom\n  %b = broadcast %x shape=[n, m]\n"
                      "  %y = reduce_max %b axes=[1]\n  out %y\nto\n"
                      "  %y = reshape %x shape=[n]\n  out %y\n");
    assert_int_equal(r.verdict, VERDICT_PROVED);
    assert_string_equal(r.condition, "m - 1 >= 0");
    /* The maximum is over the updates, and must not be over nothing. */
    r = by_default(a, "rule least\n  %x : F [n]   %i : I64 [m]   %u : F [m]\nfrom\n  %a = neg %x\n"
                      "  %b = neg %u\n  %s = scattermax %a %i %b axis=0\n  %y = neg %s\n"
                      "  out %y\nto\n  %y = scattermin %x %i %u axis=0\n  out %y\n");
    assert_int_equal(r.verdict, VERDICT_PROVED);
    assert_string_equal(r.condition, "m - 1 >= 0");
    assert_int_equal(r.classes, CLASS_REASSOCIATES);
    /* One of the two needs of the right side follows from the other. */
    r = by_default(a, "rule pads\n  %x : F [m]\nfrom\n  %y = neg %x\n  out %y\nto\n"
                      "  %a = pad %x pads=[0, 9 - m]\n  %b = slice %a starts=[0] sizes=[m]\n"
                      "  %c = pad %b pads=[0, 7 - m]\n  %d = slice %c starts=[0] sizes=[m]\n"
                      "  %y = neg %d\n  out %y\n");
    assert_string_equal(r.condition, "-m + 7 >= 0");
    arena_free(a);
}
/* What holds in all models is only a guess: here all models that agree have a == b, but b is odd in
   all of them, too. */
static void test_guesses(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {.arena = a};
    Error e = {0};
    World *w = graph_world_new(NULL, 0);
    Instance i;
    int64_t value[6][2] = {{1, 1}, {3, 3}, {5, 5}, {1, 2}, {3, 1}, {4, 5}};
    SizeModel model[6];
    ConditionGuess guess[8];
    const char text[] = "rule r\n  %x : F [a, b]\nfrom\n  %y = relu %x\n  out %y\nto\n  out %x\n";
    assert_true(rules_parse(a, "test", text, strlen(text), &set, &e) &&
                rule_instance(w, a, &set.v[0], (int[]){0}, &i, &e));
    assert_int_equal(i.nsymbol, 2);
    for (int k = 0; k < 6; k++) model[k] = (SizeModel){.value = value[k], .same = k < 3};
    assert_int_equal(infer_guesses(w, a, &i, 3, model, 8, guess), 0); /* nothing differs */
    assert_true(infer_guesses(w, a, &i, 6, model, 8, guess) >= 1);
    assert_int_equal(guess[0].n, 1);
    assert_string_equal(guess[0].lit[0], "a == b");
    assert_int_equal(guess[0].cover, 3);
    for (int k = 0; k < 6; k++) model[k].same = false;
    assert_int_equal(infer_guesses(w, a, &i, 6, model, 8, guess), 0);
    /* No model with a != b differs, but the left side is undefined there. */
    for (int k = 0; k < 6; k++) model[k].same = true;
    for (int k = 3; k < 6; k++) model[k].undefined = true;
    assert_true(infer_guesses(w, a, &i, 6, model, 8, guess) >= 1);
    assert_string_equal(guess[0].lit[0], "a == b");
    world_free(w);
    arena_free(a);
}

/* ---- each check is necessary: without it, one of these false rules is proved */

static const char no_determinant[] =
    "rule every-second\n  %x : F [2*n]\nfrom\n  %s = slice %x starts=[0] sizes=[n] steps=[2]\n"
    "  %y = reduce_sum %s axes=[0]\n  out %y\nto\n  %y = reduce_sum %x axes=[0]\n  out %y\n";
static const char no_determinant_reversed[] =
    "rule every-second\n  %x : F [2*n]\nfrom\n  %y = reduce_sum %x axes=[0]\n  out %y\nto\n"
    "  %s = slice %x starts=[0] sizes=[n] steps=[2]\n  %y = reduce_sum %s axes=[0]\n  out %y\n";
static const char no_renaming[] = "rule square-of-sum\n  %x : F [n]\nfrom\n  %s = reduce_sum %x "
                                  "axes=[0]\n  %y = mul %s %s\n  out %y\n"
                                  "to\n  %p = mul %x %x\n  %y = reduce_sum %p axes=[0]\n  out %y\n";
static const char no_feasibility[] = "rule pad-swapped\n  %x : F [n]\nfrom\n  %y = pad %x pads=[1, "
                                     "2]\n  out %y\nto\n  %y = pad %x pads=[2, 1]\n  out %y\n";
static const char no_indicator[] =
    "rule sum-of-a-piece\n  %x : F [n + m]\nfrom\n  %s = slice %x starts=[0] sizes=[n]\n"
    "  %y = reduce_sum %s axes=[0]\n  out %y\nto\n  %y = reduce_sum %x axes=[0]\n  out %y\nwhere n "
    ">= 0, m >= 0\n";
static const char no_nonempty[] = "rule relu-of-maximum\n  %x : F [n, m]\nfrom\n  %s = reduce_max "
                                  "%x axes=[1]\n  %y = relu %s\n  out %y\n"
                                  "to\n  %s = relu %x\n  %y = reduce_max %s axes=[1]\n  out %y\n";

static void test_determinant(void **state) {
    (void)state;
    Switches off = switches_all;
    off.determinant = false;
    assert_false(proved_with(no_determinant, switches_all));
    assert_false(proved_with(no_determinant_reversed, switches_all));
    assert_true(proved_with(no_determinant, off) || proved_with(no_determinant_reversed, off));
}
static void test_rename_apart(void **state) {
    (void)state;
    Switches off = switches_all;
    off.rename_apart = false;
    assert_false(proved_with(no_renaming, switches_all));
    assert_true(proved_with(no_renaming, off));
}
static void test_feasibility(void **state) {
    (void)state;
    Switches off = switches_all;
    off.feasibility = false;
    assert_false(proved_with(no_feasibility, switches_all));
    assert_true(proved_with(no_feasibility, off));
}
static void test_indicator(void **state) {
    (void)state;
    Switches off = switches_all;
    off.indicator = false;
    assert_false(proved_with(no_indicator, switches_all));
    assert_true(proved_with(no_indicator, off));
}
static void test_nonempty(void **state) {
    (void)state;
    Switches off = switches_all;
    off.nonempty = false;
    assert_false(proved_rule(no_nonempty, switches_all, true));
    assert_true(proved_rule(no_nonempty, off, true));
}

/* A condition that determines a quotient must not be forgotten when the quotient is replaced by its
   value: on the left, the second half of the channels is y. */
static const char forgotten[] =
    "rule halves\n  %x : F [n, c]   %y : F [n, c]   %t : F [2*o, c, 1]\nfrom\n  %s = concat %x %y "
    "axis=1\n"
    "  %u = reshape %s shape=[n, 2*c, 1]\n  %z = conv %u %t group=2\n  out %z\nto\n  %s = concat "
    "%x %x axis=1\n"
    "  %u = reshape %s shape=[n, 2*c, 1]\n  %z = conv %u %t group=2\n  out %z\n";
static void test_forgotten_condition(void **state) {
    (void)state;
    assert_false(proved_with(forgotten, switches_all));
}

/* The tests verify a thousand rules, each with a solver of its own. The heap keeps the size of the
   largest of them, because returning the memory to the system and requesting it again each time
   took a third of the time. */
int main(void) {
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 1 << 26);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planted),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_limit_of_steps),
        cmocka_unit_test(test_preconditions),
        cmocka_unit_test(test_categories),
        cmocka_unit_test(test_inferred),
        cmocka_unit_test(test_guesses),
        cmocka_unit_test(test_useless_precondition),
        cmocka_unit_test(test_determinant),
        cmocka_unit_test(test_rename_apart),
        cmocka_unit_test(test_feasibility),
        cmocka_unit_test(test_indicator),
        cmocka_unit_test(test_nonempty),
        cmocka_unit_test(test_forgotten_condition),
        cmocka_unit_test(test_corpus),
        cmocka_unit_test(test_further),
        cmocka_unit_test(test_data),
        cmocka_unit_test(test_reals),
        cmocka_unit_test(test_attacks),
        cmocka_unit_test(test_needs),
        cmocka_unit_test(test_refinement),
        cmocka_unit_test(test_axioms),
        cmocka_unit_test(test_axioms_of_groups),
        cmocka_unit_test(test_resize),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
