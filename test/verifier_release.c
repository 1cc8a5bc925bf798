/* verifier_release.c -- tests that a proof that is given up holds nothing afterwards: whichever
   question uses up the budget, at whatever step, whichever allocation fails. Contexts of Z3 are
   counted, and its counts are replaced, by functions that stand in front of Z3's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "graphs/world.h"
#include "test/shared/sample.h"
#include "verifier/cases.h"
#include "verifier/import.h"
#include "verifier/sizes.h"
#include "verifier/solver.h"
#include "verifier/verify.h"
#include <dlfcn.h>
#include <string.h>
#include <z3.h>

/* ---- in front of Z3 */

static int contexts, reports;    /* open contexts; counts that were reported */
static int large_from;           /* from this report on the count is `large`; 0: none is */
static const double large = 7e9; /* more than 32 bits */
static bool is_large(void) { return large_from && reports >= large_from; }

/* Z3's own function of this name. */
static void z3_function(const char *name, void *function) {
    void *f = dlsym(RTLD_NEXT, name);
    assert_non_null(f);
    memcpy(function, &f, sizeof f);
}
Z3_context Z3_mk_context(Z3_config c) {
    Z3_context (*real)(Z3_config);
    z3_function("Z3_mk_context", &real);
    contexts++;
    return real(c);
}
void Z3_del_context(Z3_context z) {
    void (*real)(Z3_context);
    z3_function("Z3_del_context", &real);
    contexts--;
    real(z);
}
Z3_stats Z3_solver_get_statistics(Z3_context z, Z3_solver s) {
    Z3_stats (*real)(Z3_context, Z3_solver);
    z3_function("Z3_solver_get_statistics", &real);
    reports++;
    return real(z, s);
}
static bool is_count(Z3_context z, Z3_stats st, unsigned k) {
    return !strcmp(Z3_stats_get_key(z, st, k), "rlimit count");
}
bool Z3_stats_is_double(Z3_context z, Z3_stats st, unsigned k) {
    bool (*real)(Z3_context, Z3_stats, unsigned);
    z3_function("Z3_stats_is_double", &real);
    return is_count(z, st, k) ? is_large() : real(z, st, k);
}
unsigned Z3_stats_get_uint_value(Z3_context z, Z3_stats st, unsigned k) {
    unsigned (*real)(Z3_context, Z3_stats, unsigned);
    z3_function("Z3_stats_get_uint_value", &real);
    return is_count(z, st, k) && is_large() ? 0 : real(z, st, k);
}
double Z3_stats_get_double_value(Z3_context z, Z3_stats st, unsigned k) {
    double (*real)(Z3_context, Z3_stats, unsigned);
    z3_function("Z3_stats_get_double_value", &real);
    return is_count(z, st, k) && is_large() ? large : real(z, st, k);
}
static void count_anew(int from) {
    reports = 0;
    large_from = from;
}

/* ---- budgets */

/* Asks whether n >= 1 follows from n >= `low`, which is so. */
static bool ask(Solver *s, World *w, int64_t low) {
    const Poly n = poly_symbol(w, symbol_named(w, "n"));
    Lit holds = {poly_sub(w, n, poly_int(w, low)), false},
        goal = {poly_sub(w, n, poly_int(w, 1)), false};
    return solver_entails(s, (Lits){1, &holds}, (Lits){1, &goal});
}
/* A budget of more than 32 bits ends when Z3 has counted as much, and not before. */
static void a_budget_may_exceed_32_bits(void **state) {
    (void)state;
    static const struct {
        uint64_t budget;
        bool spent;
    } cases[] = {{8000000000, false}, {(uint64_t)large, true}, {6000000000, true}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        World *w = graph_world_new(NULL, 0);
        Solver *s = solver_new(w, w->arena, cases[k].budget);
        count_anew(2);
        assert_true(ask(s, w, 2));
        assert_true(solver_stats(s).spent < UINT32_MAX && !solver_spent(s));
        assert_true(ask(s, w, 3)); /* it was spent by this question at the earliest */
        assert_true(solver_stats(s).spent == (uint64_t)large);
        assert_true(solver_spent(s) == cases[k].spent);
        assert_true(ask(s, w, 4) == !cases[k].spent);
        solver_free(s);
        world_free(w);
    }
    count_anew(0);
}

/* ---- steps */

static const char reals[] = "test/cases/verifier/reals.rules";

typedef struct Check { /* a prover, and an output of a rule as it imports it */
    World *w;
    Escape escape;
    Prover p;
    SizeFacts facts;
    NfImport import;
    Dom ctx;
    Nf difference; /* of both sides */
} Check;
static void check_open(Check *c, const Rule *rule) {
    Instance i;
    Error e = {0};
    int length[RULE_BLOCKS];
    World *w = graph_world_new(NULL, 0);
    rule_lengths_first(rule, length);
    assert_true(rule_instance(w, w->arena, rule, length, &i, &e));
    assert_true(rule_instance_expand(w, w->arena, &i, &e));
    assert_true(size_facts(w, w->arena, &i, &c->facts));
    DType *type = ARENA_NEW(w->arena, DType, i.ninput);
    for (int k = 0; k < i.ninput; k++) type[k] = value_type(w, i.input[k])->dtype;
    *c = (Check){.w = w, .facts = c->facts};
    c->p = (Prover){.w = w,
                    .arena = w->arena,
                    .check = switches_all,
                    .escape = &c->escape,
                    .solver = solver_new(w, w->arena, 0),
                    .type = type,
                    .ninput = i.ninput,
                    .most_steps = UINT64_MAX};
    normal_init(&c->p);
    for (int k = 0; k < c->facts.nfact; k++) solver_assume(c->p.solver, c->facts.fact[k]);
    c->import = (NfImport){.p = &c->p,
                           .ninput = i.ninput,
                           .input = i.input,
                           .nsolved = c->facts.nsolved,
                           .from = c->facts.from,
                           .to = c->facts.to};
    import_init(&c->import);
    c->ctx = import_range(&c->import, i.from.out[0]);
    c->difference = nf_add(&c->p, import_value(&c->import, i.from.out[0]),
                           nf_scale(&c->p, import_value(&c->import, i.to.out[0]), ratio(-1, 1)));
}
static void check_close(Check *c) {
    normal_done(&c->p);
    solver_free(c->p.solver);
    world_free(c->w);
}
/* Asks about the difference in so many steps. Returns whether that was enough. */
static bool ask_in_steps(Check *c, uint64_t steps, int *inside) {
    c->p.steps = 0;
    c->p.most_steps = steps;
    c->escape.error.kind = E_NONE;
    if (!setjmp(c->escape.here)) return reals_zero(&c->p, c->ctx, c->difference), true;
    *inside += contexts > 1; /* besides the solver's */
    c->p.ndecided = c->p.depth = 0;
    escape_free(&c->escape);
    return false;
}
/* A question about real numbers is given up at any step, also after its context was opened. */
static void a_question_may_be_given_up(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {.arena = a};
    Error e = {0};
    Check *c = ARENA_NEW(a, Check, 1);
    int inside = 0;
    assert_true(rules_read(a, reals, &set, &e));
    contexts = 0;
    for (int k = 0; k < set.n; k += 4 * sample_step()) {
        check_open(c, &set.v[k]);
        for (uint64_t n = 0; !ask_in_steps(c, n, &inside); n += 1 + n / 8)
            if (contexts != 1)
                fail_msg("%s, step %d: %d contexts", set.v[k].name, (int)n, contexts);
        check_close(c);
        assert_int_equal(contexts, 0);
    }
    assert_true(inside > 20);
    arena_free(a);
}

/* ---- rules */

/* Rules beside those of the file: one that holds only where n = 1, which is a condition of no use;
   one whose maximum may be over an empty set, about which the last question is asked. */
static const char further[] =
    "rule one-row\n  %x : F [n, m]\nfrom\n  out %x\nto\n  %y = reshape %x shape=[1, m]\n  out %y\n"
    "rule absorbed-maximum-of-nothing\n"
    "  %x : F [n]   %y : F [n, m]\n"
    "from\n"
    "  %a = relu %x\n"
    "  %b = neg %y\n"
    "  out %a %b\n"
    "to\n"
    "  %a = relu %x\n"
    "  %e = reduce_max %y axes=[1]\n"
    "  %m = max %a %e\n"
    "  %c = min %a %m\n"
    "  %b = neg %y\n"
    "  out %c %b\n";
static RuleSet all_rules(Arena *a) {
    RuleSet set = {.arena = a};
    Error e = {0};
    assert_true(rules_parse(a, "test", further, strlen(further), &set, &e));
    assert_true(rules_read(a, reals, &set, &e));
    return set;
}

/* Verifies a rule in memory of its own. Returns whether it was given up: also if memory ran out in
   the caller's arena. */
static bool gives_up(const Rule *rule, const VerifyOptions *o) {
    Escape escape = {.error = {.kind = E_NONE}};
    volatile bool given_up = true;
    if (!setjmp(escape.here))
        given_up = verify_rule(arena_new(&escape, 0), rule, o).verdict == VERDICT_UNKNOWN;
    escape_free(&escape);
    return given_up;
}
static void holds_nothing(const Rule *rule, size_t before, const char *what, int64_t n) {
    const int left = contexts;
    contexts = 0;
    if (left || mem_bytes() != before)
        fail_msg("%s, %s %lld: %d contexts and %lld bytes are left", rule->name, what, (long long)n,
                 left, (long long)(mem_bytes() - before));
}

/* The budget ends with one question, or with another one. */
static void any_question_may_be_the_last(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    RuleSet set = all_rules(a);
    VerifyOptions o = verify_defaults();
    int given_up = 0;
    contexts = 0;
    o.no_preconditions = o.prove_first = true;
    for (int k = 0; k < set.n; k += sample_step()) {
        const size_t before = mem_bytes();
        for (int n = 1; n == 1 || reports >= n; n += 1 + n / 3) {
            count_anew(n);
            given_up += gives_up(&set.v[k], &o);
            holds_nothing(&set.v[k], before, "question", n);
        }
    }
    count_anew(0);
    assert_true(given_up > 10);
    arena_free(a);
}

static int64_t until_failure;
static bool armed(void) { return until_failure > 0 && !--until_failure; }

/* A sample of the allocations fail, one in each run. */
static void every_allocation_may_fail(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    RuleSet set = all_rules(a);
    VerifyOptions o = verify_defaults();
    contexts = 0;
    o.obligations = true;
    mem_fail_if(armed);
    for (int k = 0; k < set.n; k += k ? 16 * sample_step() : 1) {
        const size_t before = mem_bytes();
        int given_up = 0;
        for (int64_t n = 1;; n += 1 + n / 8) {
            until_failure = n;
            const bool unknown = gives_up(&set.v[k], &o);
            if (until_failure) break;
            given_up += unknown;
            holds_nothing(&set.v[k], before, "allocation", n);
        }
        until_failure = 0;
        assert_true(given_up > 5);
    }
    mem_fail_if(NULL);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_budget_may_exceed_32_bits),
        cmocka_unit_test(a_question_may_be_given_up),
        cmocka_unit_test(any_question_may_be_the_last),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
