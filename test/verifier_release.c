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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_budget_may_exceed_32_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
