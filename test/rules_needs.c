/* rules_needs.c -- compares what a proof assumes about sizes and attributes with what a match
   provides. shape() may require less of a number than of a symbol: for example, a 1 is broadcast,
   and a negative step is allowed. Therefore all symbols of the corpora, and of one rule for each
   operator, are replaced by numbers, including 0, 1 and negative ones:

   - where the needs over symbols hold, the operators accept the numbers and have the same meaning;
   - where they do not hold but the operators accept the numbers, a match is not applied. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "graphs/needs.h"
#include "rules/match_apply.h"
#include "test/shared/rule_trial.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DRAWS = 60, DRAWS_OF_FAMILY = 1000, LEAST = -2, GREATEST = 4 };
typedef struct Counts {
    long held, wider, applied, refused; /* wider: the numbers are accepted, but the needs fail */
} Counts;

static void draw_all(Trial *t) {
    for (int k = 0; k < t->instance.nsymbol; k++) {
        int64_t least = t->instance.is_size[k] ? 0 : LEAST;
        t->value[k] = random_below(&t->random, 3) == 0
                          ? 1
                          : least + (int64_t)random_below(&t->random, (uint64_t)(GREATEST - least));
    }
}
static bool are_sizes(Trial *t, const Poly to[]) {
    const Instance *i = &t->instance;
    for (int k = 0; k < i->ninput; k++) {
        Dims d = value_type(t->w, i->input[k])->dim;
        for (int j = 0; j < d.n; j++) {
            int64_t v;
            Poly size = poly_subst(t->w, d.v[j], i->nsymbol, i->symbol, to);
            if (!poly_constant(t->w, size, &v) || v < 0) return false;
        }
    }
    return true;
}
static bool holds(World *w, const Instance *i, const Poly to[]) {
    for (int k = 0; k < i->nneed_from; k++) {
        int64_t v;
        if (!poly_constant(w, poly_subst(w, i->need_from[k].p, i->nsymbol, i->symbol, to), &v) ||
            (i->need_from[k].eq ? v != 0 : v < 0))
            return false;
    }
    return true;
}

/* ---- where the needs hold */

enum { INPUT_ELEMENTS = 1 << 20, RESULT_ELEMENTS = 2000 }; /* larger tensors are not computed */

static bool fill(Trial *t, const Graph *g, const void **in) {
    for (int k = 0; k < g->nin; k++) {
        const Type *type = value_type(t->w, g->in[k]);
        int64_t n = 0;
        if (!poly_constant(t->w, type_count(t->w, type), &n) || n > INPUT_ELEMENTS) return false;
        char *bytes = ARENA_NEW(t->arena, char, 8 * n + 8);
        for (int64_t j = 0; j < n && type->dtype == DT_FLOAT; j++)
            ((float *)(void *)bytes)[j] = (float)random_below(&t->random, 9) / 4 - 1;
        in[k] = bytes;
    }
    return true;
}
/* The rule's numbers are rounded to the nearest floats in one of the two graphs. */
static bool near(double a, double b) {
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-3 * (1 + fabs(a));
}
/* Evaluates the definitions over symbols at the numbers, and compares them with the definitions
   made for the numbers. */
static void same_meaning(Trial *t, const Graph *fixed) {
    const Instance *i = &t->instance;
    uint32_t n = i->nsymbol ? i->symbol[i->nsymbol - 1] + 1 : 1;
    int64_t *value = ARENA_NEW(t->arena, int64_t, n);
    const void *in[16];
    double *x[8], *y[8];
    Error e = {0};
    if (i->nreal || fixed->nin > 16 || fixed->nout > 8) return;
    for (uint32_t k = 0; k < n; k++) value[k] = SIZE_UNKNOWN;
    for (int k = 0; k < i->nsymbol; k++) value[i->symbol[k]] = t->value[k];
    if (!fill(t, fixed, in)) return;
    int64_t count[8];
    for (int k = 0; k < fixed->nout; k++) {
        if (!poly_constant(t->w, type_count(t->w, value_type(t->w, fixed->out[k])), &count[k]) ||
            count[k] > RESULT_ELEMENTS)
            return;
        if (count[k] < 0)
            fail_msg("%s: a result has a negative size where the needs hold", t->rule->name);
        x[k] = ARENA_NEW(t->arena, double, count[k] + 1);
        y[k] = ARENA_NEW(t->arena, double, count[k] + 1);
    }
    if (!oracle_run(t->w, &i->from, (Sizes){n, value}, true, in, (void *const *)x, &e) ||
        !oracle_run(t->w, fixed, (Sizes){0, NULL}, true, in, (void *const *)y, &e))
        return;
    for (int k = 0; k < fixed->nout; k++)
        if (dtype_class(value_type(t->w, fixed->out[k])->dtype) == 'F')
            for (int64_t j = 0; j < count[k]; j++)
                if (!near(x[k][j], y[k][j]))
                    fail_msg("%s: another result where sizes are numbers", t->rule->name);
}

/* ---- where the needs do not hold */

typedef struct Applying {
    Trial *t;
    Facts *facts;
    Counts *counts;
} Applying;
static bool apply(void *user, const Match *m) {
    Applying *a = user;
    Value to[64];
    Error e = {0};
    bool hold = holds(a->t->w, m->instance, m->symbol),
         done = match_apply(a->t->w, a->t->arena, a->facts, m, to, &e);
    if (done && !hold) fail_msg("%s is applied where its proof does not hold", a->t->rule->name);
    if (done) a->counts->applied++;
    else if (!hold) a->counts->refused++;
    return true;
}
static void match(Trial *t, const int length[], const Graph *fixed, Counts *counts) {
    Instance pattern;
    Error e = {0};
    if (!rule_instance_apart(t->w, t->arena, t->rule, length, &pattern, &e))
        fail_msg("%s", e.reason);
    Facts *facts = graph_facts(t->w, t->arena, fixed);
    Applying a = {t, facts, counts};
    matcher_run(matcher_new(t->w, t->arena, fixed, facts), &pattern, apply, &a);
}

static void check_rule(const Rule *rule, const int length[], int draws, Counts *counts) {
    Trial t;
    if (!trial_open(&t, rule, length, TRIAL_LEFT, 5)) fail_msg("%s", t.why);
    for (int d = 0; d < draws; d++) {
        ArenaMark mark = arena_mark(t.arena);
        WorldMark world = world_mark(t.w);
        Poly to[TRIAL_SYMBOLS];
        Graph fixed;
        draw_all(&t);
        for (int k = 0; k < t.instance.nsymbol; k++) to[k] = poly_int(t.w, t.value[k]);
        bool sizes = are_sizes(&t, to), held = sizes && holds(t.w, &t.instance, to),
             taken = sizes && trial_graph(&t, &t.instance.from, &fixed);
        if (held && !taken && !strstr(t.why, "overflow")) /* a division by 0 */
            fail_msg("the needs hold, but the numbers are refused: %s", t.why);
        if (held && taken) same_meaning(&t, &fixed);
        counts->held += held;
        counts->wider += taken && !held;
        if (taken) match(&t, length, &fixed, counts);
        world_reset(t.w, world);
        arena_reset(t.arena, mark);
    }
    trial_close(&t);
}
static Counts check_file(const char *path, bool each) {
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {.arena = a};
    Error e = {0};
    Counts sum = {0};
    if (!rules_read(a, path, &set, &e)) fail_msg("%s:%d: %s", path, e.line, e.reason);
    for (int k = 0; k < set.n; k++) {
        int length[RULE_BLOCKS];
        Counts one = {0};
        rule_lengths_first(&set.v[k], length);
        check_rule(&set.v[k], length, each ? DRAWS_OF_FAMILY : DRAWS, &one);
        if (each && !(one.held && one.wider && one.applied && one.refused))
            fail_msg("%s: %ld draws hold, %ld only as numbers; %ld applied, %ld refused",
                     set.v[k].name, one.held, one.wider, one.applied, one.refused);
        sum.held += one.held;
        sum.applied += one.applied;
    }
    arena_free(a);
    return sum;
}
/* Each rule of the family occurs with needs that hold and with needs that do not. */
static void test_family(void **state) {
    (void)state;
    check_file("test/cases/verifier/needs.rules", true);
}
static void test_operators(void **state) {
    (void)state;
    Counts c = check_file("test/cases/verifier/operators.rules", false);
    assert_true(c.held > 5000 && c.applied > 5000);
}
static void test_corpora(void **state) {
    (void)state;
    static const char *const names[] = {"corpus_b", "further", "attacks", "data", "reals"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char path[100];
        snprintf(path, sizeof path, "test/cases/verifier/%s.rules", names[k]);
        check_file(path, false);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_family),
                                       cmocka_unit_test(test_operators),
                                       cmocka_unit_test(test_corpora)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
