/* verifier_determinant.c -- compares determinants with their definition, the sum over all
   permutations: for matrices of numbers and of polynomials, some with a pivot that is 0. Large
   determinants are computed in reasonable time, and one that exceeds 64 bits is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "graphs/world.h"
#include "ops/base/random.h"
#include "verifier/determinant.h"

enum { SMALL = 6, LARGE = 23 };

static Poly by_permutations(World *w, int n, const Poly m[], int row, unsigned columns) {
    Poly sum = 0;
    int64_t sign = 1;
    if (row == n) return poly_int(w, 1);
    for (int k = 0; k < n; k++) {
        if (!(columns >> k & 1)) continue;
        const Poly minor = by_permutations(w, n, m, row + 1, columns & ~(1u << k));
        sum = poly_add(w, sum, poly_scale(w, poly_mul(w, m[row * n + k], minor), sign));
        sign = -sign;
    }
    return sum;
}
/* Draws an entry. A third of the entries are 0; with `symbols`, half of the others contain a
   symbol. */
static Poly draw(World *w, Random *random, bool symbols) {
    static const char *const name[] = {"a", "b", "c"};
    const Poly number = poly_int(w, (int64_t)random_below(random, 7) - 3);
    if (!random_below(random, 3)) return 0;
    if (!symbols || random_below(random, 2)) return number;
    return poly_add(w, number, poly_named(w, name[random_below(random, 3)]));
}
static void test_definition(void **state) {
    (void)state;
    Random random = {.seed = 1};
    for (int try = 0; try < 300; try++) {
        World *w = graph_world_new(NULL, 0);
        Poly m[SMALL * SMALL], value;
        const int n = try % (SMALL + 1);
        for (int k = 0; k < n * n; k++) m[k] = draw(w, &random, try % 2);
        const Poly expected = by_permutations(w, n, m, 0, (1u << n) - 1);
        assert_true(determinant(w, n, m, &value));
        assert_int_equal(value, expected);
        world_free(w);
    }
}
/* The matrix min(i, j) + 1 has no entry that is 0, and all its leading minors are 1. */
static void test_large(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Poly m[LARGE * LARGE], value;
    for (int i = 0; i < LARGE; i++)
        for (int j = 0; j < LARGE; j++) m[i * LARGE + j] = poly_int(w, 1 + (i < j ? i : j));
    assert_true(determinant(w, LARGE, m, &value));
    assert_true(poly_is(w, value, 1));
    world_free(w);
}
static void test_overflow(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    const Poly large = poly_int(w, INT64_MAX);
    Poly m[4] = {large, poly_int(w, 1), poly_int(w, 1), large}, value;
    assert_false(determinant(w, 2, m, &value));
    assert_false(overflow_noted(w));
    world_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
