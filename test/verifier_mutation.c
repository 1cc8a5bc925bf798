/* Mutants of true rules: what differs in numbers must not be proved, what agrees should be. Without arguments a few hundred,
   as a test; with a number of mutants (and a seed) it prints the counts for each mutation: make check-mutants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "rules/taso.h"
#include "test/shared/rule_mutants.h"
#include "test/shared/rule_trial.h"
#include "verifier/verify.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 40, ZERO_DRAWS = 10, FEW = 200, FEW_SEED = 1, TRIES = 400, SHAPES = 1, PROVED_PERCENT = 90, BUDGET = 4000000 };
/* What the oracle says. None: no shapes, or all with some tensor empty,
   which no rule is for. Divided: only data with zeros tells them apart, where the real numbers have no quotient. */
typedef enum Outcome { OUTCOME_EQUAL, OUTCOME_DIFFERENT, OUTCOME_DIVIDED, OUTCOME_NONE, OUTCOME_COUNT } Outcome;
typedef struct Counts {
    int made, numbers[OUTCOME_COUNT], proved[OUTCOME_COUNT], by_kind[MUTATION_COUNT][OUTCOME_COUNT], proved_by_kind[MUTATION_COUNT];
    int conditional, unsound;
    double worst_ms, total_ms;
} Counts;

static void read_rules(Arena *a, const char *path, RuleSet *set) {
    Error e = {0};
    TasoRefusals refused = {0};
    if (!rules_load(a, path, set, &refused, &e)) fail_msg("%s: %s", path, e.reason);
}

/* The true rules of the library, of the corpora and of TASO's file, in this order. */
static RuleSet read_all(Arena *a) {
    static const char *const files[] = {
        "rules/library/activation.rules", "rules/library/attention.rules",      "rules/library/layout.rules",
        "rules/library/fold.rules",       "rules/library/merge.rules",          "rules/library/normalization.rules",
        "rules/library/simplify.rules",   "test/cases/verifier/corpus_b.rules", "test/cases/verifier/axioms.rules",
        "test/cases/taso/graph_subst.pb",
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
        bool wrong = strstr(all.v[k].comment, "expect: refuted") || (number >= 98 && number <= 100) || number == 105 ||
                     (number >= 125 && number <= 131);
        if (!wrong) set.v[set.n++] = all.v[k];
    }
    return set;
}

static Outcome classify(const Rule *rule, uint64_t seed) {
    Trial t;
    int length[RULE_BLOCKS], done = 0;
    Outcome numbers = OUTCOME_NONE;
    rule_lengths_first(rule, length);
    if (trial_open(&t, rule, length, TRIAL_BOTH, seed)) {
        TrialResult r = trial_rule(&t, DRAWS, &done);
        t.zeros = true;
        numbers = r == TRIAL_DIFFERENT                                                                     ? OUTCOME_DIFFERENT
                  : r == TRIAL_ERROR || !t.elements || t.inhabited + 1 != (uint64_t)1 << t.instance.ninput ? OUTCOME_NONE
                                                                                                           : OUTCOME_EQUAL;
        if (numbers == OUTCOME_EQUAL && trial_rule(&t, ZERO_DRAWS, &done) == TRIAL_DIFFERENT) numbers = OUTCOME_DIVIDED;
    }
    trial_close(&t);
    return numbers;
}

/* One that the oracle finds equal may be proved under a condition. What it finds different is asked for as it stands; every
   eighth with conditions allowed: then it must be equal where they hold. */
static bool is_proved(Arena *a, Rule *m, Outcome numbers, int k, Counts *c) {
    VerifyOptions o = verify_defaults();
    o.no_preconditions = numbers == OUTCOME_DIFFERENT && k % 8;
    o.shapes = SHAPES;
    o.budget = BUDGET;
    VerifyResult r = verify_rule(a, m, &o);
    if (r.ms > c->worst_ms) c->worst_ms = r.ms;
    c->total_ms += r.ms;
    if (r.verdict != VERDICT_PROVED) return false;
    if (!*r.condition) return true;
    m->condition = r.condition;
    c->conditional++;
    if (numbers == OUTCOME_DIFFERENT) return classify(m, (uint64_t)k + 1) == OUTCOME_DIFFERENT;
    return true;
}

static void report_unsound(const Rule *m, Arena *a) {
    Text t = text_new(a);
    rule_print(m, &t);
    fprintf(stderr, "proved, but different:\n%s%s\n", t.data, m->condition);
}

static void count_mutant(Arena *a, Rule *m, Mutation kind, int k, Counts *c) {
    Outcome numbers = classify(m, (uint64_t)k);
    c->made += numbers != OUTCOME_NONE;
    c->numbers[numbers]++;
    c->by_kind[kind][numbers]++;
    if (numbers == OUTCOME_NONE) return;
    if (!is_proved(a, m, numbers, k, c)) {
        if (numbers == OUTCOME_EQUAL && getenv("ISOMER_SHOW_UNPROVED")) report_unsound(m, a);
        return;
    }
    c->proved[numbers]++;
    c->proved_by_kind[kind] += numbers == OUTCOME_EQUAL;
    if (numbers == OUTCOME_DIFFERENT) report_unsound(m, a);
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
            made = rule_mutant(a, &set.v[random_below(&random, (uint64_t)set.n)], k, kind, &random, &m);
        if (made) count_mutant(a, &m, kind, k, &c);
        arena_reset(a, mark);
    }
    arena_free(a);
    return c;
}

static void print_counts(const Counts *c, uint64_t seed) {
    printf("%d mutants of true rules, seed %llu\n", c->made, (unsigned long long)seed);
    printf("%d different in numbers at one of %d shapes, %d of them proved\n", c->numbers[OUTCOME_DIFFERENT], DRAWS,
           c->proved[OUTCOME_DIFFERENT]);
    printf("%d equal at all of them, %d of them proved\n", c->numbers[OUTCOME_EQUAL], c->proved[OUTCOME_EQUAL]);
    printf("%d equal but where something is divided by 0, %d without shapes or with a tensor that is empty at all shapes\n",
           c->numbers[OUTCOME_DIVIDED], c->numbers[OUTCOME_NONE]);
    printf("%.0f ms for each in the prover, at most %.0f ms; %d were proved under a condition\n", c->total_ms / c->made, c->worst_ms,
           c->conditional);
    printf("%-24s %9s %6s %7s\n", "mutation", "different", "equal", "proved");
    for (int k = 0; k < MUTATION_COUNT; k++)
        printf("%-24s %9d %6d %7d\n", mutation_word((Mutation)k), c->by_kind[k][OUTCOME_DIFFERENT], c->by_kind[k][OUTCOME_EQUAL],
               c->proved_by_kind[k]);
}

static void test_mutants(void **state) {
    (void)state;
    Counts c = run(FEW, FEW_SEED);
    assert_int_equal(c.proved[OUTCOME_DIFFERENT], 0);
    assert_true(c.numbers[OUTCOME_DIFFERENT] > FEW / 2);
    assert_true(c.proved[OUTCOME_EQUAL] * 100 >= PROVED_PERCENT * c.numbers[OUTCOME_EQUAL]);
    print_message("worst %.0f ms, %d with a condition\n", c.worst_ms, c.conditional);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutants)};
    if (argc < 2) return cmocka_run_group_tests(tests, NULL, NULL);
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : FEW_SEED;
    Counts c = run(atoi(argv[1]), seed);
    print_counts(&c, seed);
    return c.proved[OUTCOME_DIFFERENT] != 0;
}
