/* verifier_mutation.c -- tests the prover with mutants of true rules: a mutant whose sides differ
   numerically must not be proved, one whose sides agree should be. Without arguments a few hundred
   mutants are tested. With a number of mutants (and a seed) the program prints the counts for each
   kind of mutation: make check-mutants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "graphs/rewrite.h"
#include "rules/taso.h"
#include "test/shared/rule_mutants.h"
#include "test/shared/rule_trial.h"
#include "test/shared/sample.h"
#include "verifier/refute.h"
#include "verifier/verify.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DRAWS = 40,      /* shapes at which the oracle compares the sides */
    ZERO_DRAWS = 10, /* further shapes, with zeros in the data */
    FEW = 200,       /* mutants of the test */
    FEW_SEED = 4,    /* of 1 and 2, a mutant takes Z3 minutes: it asks for its limit too rarely */
    TRIES = 400,     /* attempts to make a mutant of a given kind */
    SHAPES = 1,      /* of the prover's search for counterexamples */
    PROVED_PERCENT = 90, /* of the mutants that are equal, at least */
    BUDGET = 4000000     /* Z3 resource units */
};
/* The verdict of the oracle on a mutant.

   NONE: there are no shapes at which both sides can be computed.
   NARROW: the sides agree, but some size is 0 or 1, or some tensor is empty, at all shapes
     drawn; no rule is meant for such sizes only.
   SIZES: the numbers agree wherever the outputs have the same sizes, but at other shapes where
     both sides are graphs, the sizes differ.
   DIVIDED: the sides differ only for data with zeros, where a quotient of real numbers does not
     exist. */
#define OUTCOMES(X)                                                                    \
    X(OUTCOME_EQUAL, "equal")                                                          \
    X(OUTCOME_DIFFERENT, "different in numbers")                                       \
    X(OUTCOME_SIZES, "different in the sizes of outputs alone")                        \
    X(OUTCOME_DIVIDED, "equal but where something is divided by 0")                    \
    X(OUTCOME_NARROW, "equal, but a size is 0 or 1, or a tensor empty, at all shapes") \
    X(OUTCOME_NONE, "without shapes")
typedef enum Outcome {
#define X(id, text) id,
    OUTCOMES(X) OUTCOME_COUNT
#undef X
} Outcome;
typedef struct Counts {
    int made, numbers[OUTCOME_COUNT], proved[OUTCOME_COUNT], by_kind[MUTATION_COUNT][OUTCOME_COUNT],
        proved_by_kind[MUTATION_COUNT];
    int conditional;
    double worst_ms, total_ms;
} Counts;

static void read_rules(Arena *a, const char *path, RuleSet *set) {
    Error e = {0};
    TasoRefusals refused = {0};
    if (!rules_load(a, path, set, &refused, &e)) fail_msg("%s: %s", path, e.reason);
}

/* The true rules of the library, the corpora and TASO's file, in this order. */
static RuleSet read_all(Arena *a) {
    static const char *const files[] = {
        "rules/library/activation.rules",   "rules/library/attention.rules",
        "rules/library/layout.rules",       "rules/library/fold.rules",
        "rules/library/merge.rules",        "rules/library/normalization.rules",
        "rules/library/simplify.rules",     "test/cases/verifier/corpus_b.rules",
        "test/cases/verifier/axioms.rules", "test/cases/taso/graph_subst.pb",
    };
    RuleSet all = {.arena = a}, set = {.arena = a};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        RuleSet one = {.arena = a};
        read_rules(a, files[k], &one);
        Rule *more = ARENA_NEW(a, Rule, all.n + one.n);
        if (all.n) memcpy(more, all.v, sizeof *more * (size_t)all.n);
        memcpy(more + all.n, one.v, sizeof *more * (size_t)one.n);
        all.v = more;
        all.n += one.n;
    }
    set.v = ARENA_NEW(a, Rule, all.n);
    for (int k = 0; k < all.n; k++) {
        int number = strncmp(all.v[k].name, "taso-", 5) ? 0 : atoi(all.v[k].name + 5);
        bool wrong = strstr(all.v[k].comment, "expect: refuted") ||
                     (number >= 98 && number <= 100) || number == 105 ||
                     (number >= 125 && number <= 131);
        if (!wrong) set.v[set.n++] = all.v[k];
    }
    return set;
}

/* Whether elements were compared, each input had elements at some shape, and each size was above 1
   at some shape. */
static bool is_general(const Trial *t) {
    uint64_t inputs = ((uint64_t)1 << t->instance.ninput) - 1,
             symbols = ((uint64_t)1 << t->instance.nsymbol % 64) - 1;
    return t->elements && t->inputs_nonempty == inputs && t->symbols_above_one == symbols;
}

/* Runs the prover's own search for counterexamples, which draws shapes and data differently and
   computes in rationals. */
static bool refuted(Trial *t) {
    Instance i = t->instance;
    Error e = {0};
    if (!rule_instance_expand(t->w, t->arena, &i, &e)) return false;
    Refutation r = refute_instance(
        t->w, t->arena, &i, &(RefuteOptions){.shapes = DRAWS, .seed = 99, .defined_only = true});
    if (r.found) t->sizes_differ = strstr(r.text, "has other sizes") != NULL;
    return r.found;
}

/* Classifies a rule by comparing numbers at shapes where the outputs have the same sizes, then with
   zeros in the data. */
static Outcome by_numbers(const Rule *rule, const int length[], uint64_t seed) {
    Trial t;
    int done = 0;
    Outcome outcome = OUTCOME_NONE;
    if (trial_open(&t, rule, length, TRIAL_BOTH, seed)) {
        t.large = true;
        TrialResult r = trial_rule(&t, DRAWS, &done);
        t.zeros = true;
        if (r == TRIAL_DIFFERENT) outcome = OUTCOME_DIFFERENT;
        else if (r == TRIAL_SAME && trial_rule(&t, ZERO_DRAWS, &done) == TRIAL_DIFFERENT)
            outcome = OUTCOME_DIVIDED;
        else if (r == TRIAL_SAME) outcome = is_general(&t) ? OUTCOME_EQUAL : OUTCOME_NARROW;
    }
    trial_close(&t);
    return outcome;
}
/* Classifies a rule at all shapes where both sides are graphs, whatever the sizes of their
   outputs. */
static Outcome by_sizes(const Rule *rule, const int length[], uint64_t seed) {
    Trial t;
    int done = 0;
    Outcome outcome = OUTCOME_EQUAL;
    if (trial_open(&t, rule, length, TRIAL_TYPES, seed)) {
        t.large = true;
        if (trial_rule(&t, DRAWS, &done) == TRIAL_DIFFERENT || refuted(&t))
            outcome = t.sizes_differ ? OUTCOME_SIZES : OUTCOME_DIFFERENT;
    }
    trial_close(&t);
    return outcome;
}
static Outcome classify(const Rule *rule, uint64_t seed) {
    int length[RULE_BLOCKS];
    rule_lengths_first(rule, length);
    Outcome outcome = by_numbers(rule, length, seed);
    Outcome sizes = outcome == OUTCOME_EQUAL || outcome == OUTCOME_NARROW
                        ? by_sizes(rule, length, seed + 1)
                        : outcome;
    return sizes == OUTCOME_EQUAL ? outcome : sizes;
}

/* Returns whether a mutant is proved. A mutant that the oracle finds equal may be proved under a
   condition. If it finds the sides different, the prover may use a condition in every eighth case
   only, and the mutant counts as proved only if the sides differ even where the condition holds. */
static bool is_proved(Arena *a, Rule *m, Outcome numbers, int k, Counts *c) {
    VerifyOptions o = verify_defaults();
    o.prove_first = true; /* the prover is tested */
    bool different = numbers == OUTCOME_DIFFERENT || numbers == OUTCOME_SIZES;
    o.no_preconditions = different && k % 8;
    o.shapes = SHAPES;
    o.budget = BUDGET;
    VerifyResult r = verify_rule(a, m, &o);
    if (r.ms > c->worst_ms) c->worst_ms = r.ms;
    c->total_ms += r.ms;
    if (r.verdict != VERDICT_PROVED && numbers == OUTCOME_EQUAL && getenv("ISOMER_SHOW_UNPROVED"))
        fprintf(stderr, "not proved: %s\n",
                r.verdict == VERDICT_REFUTED ? r.counterexample : r.why);
    if (r.verdict != VERDICT_PROVED) return false;
    if (!*r.condition) return true;
    m->condition = r.condition;
    c->conditional++;
    if (!different) return true;
    Outcome there = classify(m, (uint64_t)k + 1);
    return there == OUTCOME_DIFFERENT || there == OUTCOME_SIZES;
}

static void report(const Rule *m, Arena *a) {
    Text t = text_new(a);
    rule_print(m, &t);
    fprintf(stderr, "%s%s\n", t.data, m->condition);
}

static void count_mutant(Arena *a, Rule *m, Mutation kind, int k, Counts *c) {
    Outcome numbers = classify(m, (uint64_t)k);
    bool judged = numbers <= OUTCOME_SIZES;
    c->made += judged;
    c->numbers[numbers]++;
    c->by_kind[kind][numbers]++;
    if (!judged) return;
    if (!is_proved(a, m, numbers, k, c)) {
        if (numbers == OUTCOME_EQUAL && getenv("ISOMER_SHOW_UNPROVED")) report(m, a);
        return;
    }
    c->proved[numbers]++;
    c->proved_by_kind[kind] += numbers == OUTCOME_EQUAL;
    if (numbers == OUTCOME_EQUAL) return;
    fprintf(stderr, "proved, but different:\n");
    report(m, a);
}

static Counts run(int wanted, uint64_t seed) {
    Arena *a = arena_new(NULL, 0);
    RuleSet set = read_all(a);
    Counts c = {0};
    Random random = {seed, 0};
    for (int k = 0; c.made < wanted; k++) {
        ArenaMark mark = arena_mark(a);
        Mutation kind = (Mutation)(k % MUTATION_COUNT);
        Rule m;
        bool made = false;
        for (int tries = 0; tries < TRIES && !made; tries++)
            made = rule_mutant(a, &set.v[random_below(&random, (uint64_t)set.n)], k, kind, &random,
                               &m);
        if (made) count_mutant(a, &m, kind, k, &c);
        arena_reset(a, mark);
    }
    arena_free(a);
    return c;
}

static void print_counts(const Counts *c, uint64_t seed) {
    static const char *const words[OUTCOME_COUNT] = {
#define X(id, text) [id] = text,
        OUTCOMES(X)
#undef X
    };
    printf("%d mutants of true rules, seed %llu; %d shapes, %d more with zeros in the data, %d "
           "more without regard to the sizes of outputs\n",
           c->made, (unsigned long long)seed, DRAWS, ZERO_DRAWS, 2 * DRAWS);
    for (int k = 0; k <= OUTCOME_SIZES; k++)
        printf("%6d %s, %d of them proved\n", c->numbers[k], words[k], c->proved[k]);
    for (int k = OUTCOME_SIZES + 1; k < OUTCOME_COUNT; k++)
        printf("%6d not counted: %s\n", c->numbers[k], words[k]);
    printf("%.0f ms for each in the prover, at most %.0f ms; %d were proved under a condition\n",
           c->total_ms / c->made, c->worst_ms, c->conditional);
    printf("%-24s %9s %6s %6s %7s\n", "mutation", "different", "sizes", "equal", "proved");
    for (int k = 0; k < MUTATION_COUNT; k++)
        printf("%-24s %9d %6d %6d %7d\n", mutation_word((Mutation)k),
               c->by_kind[k][OUTCOME_DIFFERENT], c->by_kind[k][OUTCOME_SIZES],
               c->by_kind[k][OUTCOME_EQUAL], c->proved_by_kind[k]);
}

static void test_mutants(void **state) {
    (void)state;
    const int few = FEW / sample_step();
    Counts c = run(few, FEW_SEED);
    assert_int_equal(c.proved[OUTCOME_DIFFERENT] + c.proved[OUTCOME_SIZES], 0);
    assert_true(c.numbers[OUTCOME_DIFFERENT] > few / 2);
    assert_true(c.proved[OUTCOME_EQUAL] * 100 >= PROVED_PERCENT * c.numbers[OUTCOME_EQUAL]);
    print_message("worst %.0f ms, %d with a condition\n", c.worst_ms, c.conditional);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutants)};
    if (argc < 2) return cmocka_run_group_tests(tests, NULL, NULL);
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : FEW_SEED;
    Counts c = run(atoi(argv[1]), seed);
    print_counts(&c, seed);
    return c.proved[OUTCOME_DIFFERENT] + c.proved[OUTCOME_SIZES] != 0;
}
