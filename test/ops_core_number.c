/* ops_core_number.c -- tests that the number systems obey the laws on which fingerprints and exact
   evaluation rest, and that the recorded facts about functions are true in doubles. */
#include "ops/core/number.h"
#include "ops/base/random.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static Number sampled(const Numbers *num, Random *r) {
    return num->ratio((int64_t)random_below(r, 1u << 20) - (1 << 19), 1 << random_below(r, 8));
}

static void residues_keep_the_laws(void **state) {
    (void)state;
    const Numbers *n = &numbers_residue;
    Random r = {.seed = 5};
    for (int k = 0; k < 300; k++) {
        Number a = sampled(n, &r), b = sampled(n, &r), c = sampled(n, &r), one = n->ratio(1, 1),
               minus = n->ratio(-1, 1);
        assert_true(n->equal(n->mul(a, n->add(b, c)), n->add(n->mul(a, b), n->mul(a, c))));
        assert_true(n->equal(n->mul(a, n->call(FN_RECIP, a)), one) || a.residue.p == 0);
        assert_true(n->equal(n->call(FN_EXP, n->add(a, b)),
                             n->mul(n->call(FN_EXP, a), n->call(FN_EXP, b))));
        assert_false(n->equal(n->call(FN_EXP, n->add(a, one)), n->call(FN_EXP, a)));
        /* With small arguments the doubles that accompany the residues stay finite. */
        Number tiny = n->ratio(1, 1 << 20), u = n->mul(a, tiny), v = n->mul(b, tiny);
        Number once = n->call(FN_EXP, n->add(u, v)),
               twice = n->mul(n->call(FN_EXP, u), n->call(FN_EXP, v));
        assert_true(n->equal(n->call(FN_EXP, n->mul(once, v)), n->call(FN_EXP, n->mul(twice, v))));
        assert_true(n->equal(n->call(FN_SQRT, n->mul(a, b)),
                             n->mul(n->call(FN_SQRT, a), n->call(FN_SQRT, b))) ||
                    n->approx(a) < 0 || n->approx(b) < 0);
        assert_true(n->equal(n->call(FN_SIGMOID, n->mul(a, minus)),
                             n->add(one, n->mul(minus, n->call(FN_SIGMOID, a)))));
        assert_true(n->equal(n->call(FN_ERF, n->mul(a, minus)), n->mul(minus, n->call(FN_ERF, a))));
        assert_true(
            n->equal(n->call(FN_TANH, n->mul(a, minus)), n->mul(minus, n->call(FN_TANH, a))));
        assert_true(n->equal(n->call(FN_ABS, n->mul(a, b)),
                             n->mul(n->call(FN_ABS, a), n->call(FN_ABS, b))));
        assert_true(n->equal(n->add(n->most(a, b), n->least(a, b)), n->add(a, b)));
        assert_true(n->equal(n->power(a, n->ratio(3, 1)), n->mul(a, n->mul(a, a))));
        const Number root = n->call(FN_SQRT, a), fourth = n->call(FN_SQRT, root),
                     product = n->mul(root, fourth);
        if (n->known(root)) {
            assert_true(n->equal(n->power(a, n->ratio(3, 4)), product));
            assert_true(n->equal(n->power(a, n->ratio(-3, 4)), n->call(FN_RECIP, product)) ||
                        a.residue.p == 0);
            assert_false(n->equal(n->power(a, n->ratio(1, 4)), product) && a.residue.p > 1);
        }
        assert_false(n->equal(n->call(FN_ERF, a), n->call(FN_SIN, a)) && a.residue.p);
    }
    assert_true(n->equal(n->call(FN_SIGMOID, n->ratio(0, 1)), n->ratio(1, 2)));
    assert_true(n->equal(n->call(FN_FLOOR, n->ratio(-7, 2)), n->ratio(-4, 1)));
    Number nearly_one = n->mul(n->ratio(1, 49), n->ratio(49, 1)); /* its double is less than 1 */
    assert_true(n->approx(nearly_one) < 1);
    assert_true(n->equal(n->call(FN_FLOOR, nearly_one), n->ratio(1, 1)));
    assert_true(n->equal(n->real(0.1), n->mul(n->real(0.2), n->ratio(1, 2))));
    assert_false(n->equal(n->real(0.1), n->ratio(1, 10))); /* not the same number */
    assert_false(n->known(n->call(FN_RECIP, n->ratio(0, 1))));
    assert_false(n->known(n->add(n->ratio(1, 1), n->call(FN_RECIP, n->ratio(0, 1)))));
}

static void ratios_are_exact_or_not_known(void **state) {
    (void)state;
    const Numbers *n = &numbers_ratio;
    Number third = n->ratio(1, 3), big = n->ratio(INT64_MAX, 1);
    assert_true(n->equal(n->add(third, n->add(third, third)), n->ratio(1, 1)));
    assert_true(n->equal(n->real(0.375), n->ratio(3, 8)));
    assert_false(n->known(n->mul(big, big)));
    assert_false(n->known(n->add(big, n->ratio(1, 1))));
    assert_true(n->known(n->add(big, n->ratio(-1, 1))));
    assert_false(n->known(n->call(FN_EXP, third)));
    assert_true(n->equal(n->call(FN_EXP, n->ratio(0, 1)), n->ratio(1, 1)));
    assert_true(n->equal(n->call(FN_SQRT, n->ratio(9, 4)), n->ratio(3, 2)));
    assert_false(n->known(n->call(FN_SQRT, n->ratio(2, 1))));
    assert_false(n->known(n->call(FN_RECIP, n->ratio(0, 1))));
    assert_true(n->equal(n->call(FN_ROUND, n->ratio(5, 2)), n->ratio(2, 1)));
    assert_true(n->equal(n->call(FN_ROUND, n->ratio(-7, 2)), n->ratio(-4, 1)));
    assert_true(n->equal(n->call(FN_CEIL, n->ratio(-7, 2)), n->ratio(-3, 1)));
    assert_true(n->equal(n->most(n->lowest(), third), third));
    assert_true(n->equal(n->power(n->ratio(2, 3), n->ratio(-2, 1)), n->ratio(9, 4)));
}

static void what_is_known_of_functions_is_true(void **state) {
    (void)state;
    for (int f = 0; f < FN_COUNT; f++) {
        const FunctionFacts *k = function_facts((Function)f);
        double zero = k->real(0);
        assert_true(isnan(k->at_zero) ? !isfinite(zero) : zero == k->at_zero);
        for (double x = k->domain_low > -9 ? k->domain_low : -9; x < 9; x += 0.25) {
            double y = k->real(x), z = k->real(x + 0.25);
            if (!isfinite(y) || !isfinite(z)) continue;
            assert_true(y >= k->low && y <= k->high);
            if (k->monotone) assert_true(k->monotone * (z - y) >= 0);
            if (k->parity) assert_true(k->real(-x) == k->parity * y);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residues_keep_the_laws),
        cmocka_unit_test(ratios_are_exact_or_not_known),
        cmocka_unit_test(what_is_known_of_functions_is_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
