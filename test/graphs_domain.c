/* graphs_domain.c -- tests the domains of inputs, that is, which numbers an input may hold given
   the nodes that its elements reach, and the numbers that are drawn from a domain. */
#include "graphs/domain.h"
#include "test/shared/fixture.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

typedef struct Row {
    const char *graph; /* the test asks for the domain of its first input */
    double low, high;
} Row;

static Domain domain_of(World *w, const char *text, int input) {
    const Graph g = graph_of(w, text);
    return graph_domains(w, w->arena, &g, (Sizes){0})[input];
}

static void check_rows(World *w, const Row *row, size_t n) {
    for (size_t k = 0; k < n; k++) {
        const Domain d = domain_of(w, row[k].graph, 0);
        if (d.low != row[k].low || d.high != row[k].high)
            fail_msg("%s: from %g to %g, not %g to %g", row[k].graph, d.low, d.high, row[k].low,
                     row[k].high);
    }
}
#define CHECK(ROWS) check_rows(*state, ROWS, sizeof(ROWS) / sizeof *(ROWS))
#define IDS "graph g %i : I64 [2, 3] %t : F [5, 4]\nbody\n"

static void indices_are_places(void **state) {
    static const Row rows[] = {
        {IDS " %y = gather %t %i\n out %y\n", 0, 4},
        {IDS " %y = gather %t %i axis=1\n out %y\n", 0, 3},
        {IDS " %y = gatherelements %t %i\n out %y\n", 0, 4},
        {"graph g %i : I64 [2, 2] %t : F [5, 3]\nbody\n %y = gathernd %t %i\n out %y\n", 0, 2},
        {"graph g %i : I64 [2, 1] %t : F [5, 3]\nbody\n %y = gathernd %t %i\n out %y\n", 0, 4},
        {"graph g %i : I64 [2, 1] %t : F [5, 3] %u : F [2, 3]\nbody\n"
         " %y = scatternd %t %i %u\n out %y\n",
         0, 4},
        {"graph g %i : I64 [2, 3] %t : F [5, 3] %u : F [2, 3]\nbody\n"
         " %y = scatterelements %t %i %u axis=1\n out %y\n",
         0, 2},
        {"graph g %i : I64 [2] %v : F [2]\nbody\n %y = onehot %i %v depth=7\n out %y\n", 0, 6},
        {"graph g %i : I64 [2] %t : F [4, 2]\nbody\n %y = reversesequence %t %i\n out %y\n", 1, 4},
        {"graph g %i : I64 [2] %t : F [2, 9]\nbody\n %y = nll %t %i\n out %y\n", 0, 8},
        {"graph g %i : I32 [1] %x : F [6, 1, 2] %w : F [1, 6, 2] %r : F [1, 6, 2]\nbody\n"
         " %y %h = gru %x %w %r _ %i hidden=2\n out %y\n",
         1, 6},
        {"graph g %p : I64 [1, 1, 2] %x : F [1, 1, 2]\nbody\n %y = unpool %x %p shape=[1, 1, 5]\n"
         " out %y\n",
         0, 4},
        /* The indexed axis has one place. */
        {"graph g %i : I64 [2] %t : F [1, 4]\nbody\n %y = gather %t %i\n out %y\n", 0, 0},
    };
    CHECK(rows);
}

static void places_are_followed_to_inputs(void **state) {
    static const Row rows[] = {
        {"graph g %i : I32 [2] %t : F [5, 4]\nbody\n %j = cast %i to=I64\n"
         " %y = gather %t %j\n out %y\n",
         0, 4},
        {IDS " %c = constant I64 [1] {2}\n %b = broadcast %c shape=[3]\n %j = add %i %b\n"
             " %y = gather %t %j\n out %y\n",
         -2, 2},
        {IDS " %c = constant I64 [3] {7, 8, 9}\n %j = sub %c %i\n %y = gather %t %j\n out %y\n", 5,
         7},
        {IDS " %c = fill value=2 shape=[3] dtype=I64\n %j = mul %i %c\n"
             " %y = gather %t %j\n out %y\n",
         0, 2},
        {IDS " %r = range n=3\n %j = add %i %r\n %y = gather %t %j\n out %y\n", 0, 2},
        {IDS " %j = reshape %i shape=[6]\n %k = slice %j starts=[1] sizes=[2]\n"
             " %y = gather %t %k\n out %y\n",
         0, 4},
        {IDS " %a %b = split %i axis=1 sizes=[1, 2]\n %y = gather %t %b\n out %y\n", 0, 4},
        {IDS " %n = constant I64 [3] {3, 3, 3}\n %j = min %i %n\n %y = gather %t %j\n out %y\n", 0,
         INFINITY},
        {IDS " %s = reduce_sum %i axes=[1]\n %y = gather %t %s\n out %y\n", 0, 4.0 / 3},
        /* Two tables are indexed: the smaller one limits the index. */
        {"graph g %i : I64 [2] %t : F [5, 4] %u : F [3, 4]\nbody\n %y = gather %t %i\n"
         " %z = gather %u %i\n %s = add %y %z\n out %s\n",
         0, 2},
        /* The elements found in one table are indices into another. */
        {"graph g %i : I64 [2] %m : I64 [8] %t : F [5, 4]\nbody\n %j = gather %m %i\n"
         " %y = gather %t %j\n out %y\n",
         0, 7},
        /* Nothing is indexed with the input. */
        {IDS " %f = cast %i to=F\n out %f\n", -INFINITY, INFINITY},
    };
    CHECK(rows);
    assert_true(domain_of(*state,
                          "graph g %i : I64 [2] %m : I64 [8] %t : F [5, 4]\nbody\n"
                          " %j = gather %m %i\n %y = gather %t %j\n out %y\n",
                          1)
                    .high == 4);
}

/* The sum, difference or product of any two numbers from both domains is a valid index. */
static void two_inputs_share_a_bound(void **state) {
    static const char *const graphs[] = {
        "graph g %i : I64 [3] %k : I64 [3] %t : F [9, 4]\nbody\n %j = add %i %k\n"
        " %y = gather %t %j\n out %y\n",
        "graph g %i : I64 [3] %k : I64 [3] %t : F [1, 4]\nbody\n %j = add %i %k\n"
        " %y = gather %t %j\n out %y\n",
        "graph g %i : I64 [3] %k : I64 [3] %t : F [9, 4]\nbody\n %j = mul %i %k\n"
        " %y = gather %t %j\n out %y\n",
        "graph g %i : I64 [3] %k : I64 [3] %t : F [9, 4]\nbody\n %h = sub %i %k\n"
        " %j = neg %h\n %y = gather %t %j\n out %y\n",
    };
    static const double most[] = {8, 0, 8, 8};
    for (size_t n = 0; n < sizeof graphs / sizeof *graphs; n++) {
        Domain x, y;
        const Domain i = domain_of(*state, graphs[n], 0), k = domain_of(*state, graphs[n], 1);
        assert_true(domain_drawn(i, DT_INT64, &x) && domain_drawn(k, DT_INT64, &y));
        double low = x.low + y.low, high = x.high + y.high;
        if (n == 2) low = fmin(x.low * y.high, x.low * y.low), high = x.high * y.high;
        if (n == 3) low = y.low - x.high, high = y.high - x.low;
        if (low < 0 || high > most[n])
            fail_msg("%s: %g..%g and %g..%g", graphs[n], x.low, x.high, y.low, y.high);
    }
}

/* Also if the product must not be 0: i * k + c is a place in a table of 4 rows. */
static void factors_share_a_bound_that_excludes_0(void **state) {
    for (int c = -100; c <= 100; c++) {
        char text[200];
        Domain x, y;
        snprintf(text, sizeof text,
                 "graph g %%i : I64 [] %%k : I64 [] %%t : F [4, 2]\nbody\n %%c = constant I64 [] "
                 "{%d}\n %%m = mul %%i %%k\n %%j = add %%m %%c\n %%y = gather %%t %%j\n out %%y\n",
                 c);
        assert_true(domain_drawn(domain_of(*state, text, 0), DT_INT64, &x));
        assert_true(domain_drawn(domain_of(*state, text, 1), DT_INT64, &y));
        const double corner[] = {x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high};
        for (int k = 0; k < 4; k++)
            if (corner[k] + c < 0 || corner[k] + c > 3)
                fail_msg("%d: %g..%g and %g..%g", c, x.low, x.high, y.low, y.high);
    }
}

static void divisors_are_not_zero(void **state) {
    static const Row rows[] = {
        {"graph g %b : I64 [2] %a : I64 [2]\nbody\n %y = div %a %b\n out %y\n", 1, INT32_MAX},
        {"graph g %b : I64 [2] %a : I64 [2]\nbody\n %y = mod %a %b\n out %y\n", 1, INT32_MAX},
        {"graph g %b : F [2] %a : F [2]\nbody\n %y = div %a %b\n out %y\n", -INFINITY, INFINITY},
        {"graph g %b : U32 [2] %a : U32 [2]\nbody\n %y = bitshift %a %b direction=left\n out %y\n",
         0, 31},
    };
    CHECK(rows);
}

static void what_is_drawn_has_two_ends(void **state) {
    static const struct {
        Domain given;
        DType type;
        bool bounded;
        Domain drawn;
    } rows[] = {
        {{-INFINITY, INFINITY}, DT_INT64, true, {0, 1}},
        {{-INFINITY, INFINITY}, DT_UINT8, true, {0, 255}},
        {{-INFINITY, INFINITY}, DT_BOOL, true, {0, 1}},
        {{0, 4.0 / 3}, DT_INT64, true, {0, 1}},
        {{0, 30521}, DT_INT32, true, {0, 30521}},
        {{1, INT32_MAX}, DT_INT64, true, {1, 2}},
        {{-INFINITY, -3}, DT_INT64, true, {-4, -3}},
        {{-INFINITY, 9}, DT_INT64, true, {0, 1}},
        {{0, 0}, DT_BOOL, true, {0, 0}},
        {{0, 9}, DT_FLOAT, true, {0, 9}},
        {{0, INFINITY}, DT_FLOAT, false, {0, INFINITY}},
    };
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        Domain d;
        assert_int_equal(domain_drawn(rows[k].given, rows[k].type, &d), rows[k].bounded);
        assert_true(d.low == rows[k].drawn.low && d.high == rows[k].drawn.high);
    }
    int32_t x[1000], least = 99, most = -99;
    domain_fill((Domain){-2, 3}, (Random){1, 0}, DT_INT32, 1000, x);
    for (int k = 0; k < 1000; k++)
        least = x[k] < least ? x[k] : least, most = x[k] > most ? x[k] : most;
    assert_int_equal(least, -2);
    assert_int_equal(most, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(indices_are_places, fixture_world, fixture_world_free),
        cmocka_unit_test_setup_teardown(places_are_followed_to_inputs, fixture_world,
                                        fixture_world_free),
        cmocka_unit_test_setup_teardown(two_inputs_share_a_bound, fixture_world,
                                        fixture_world_free),
        cmocka_unit_test_setup_teardown(factors_share_a_bound_that_excludes_0, fixture_world,
                                        fixture_world_free),
        cmocka_unit_test_setup_teardown(divisors_are_not_zero, fixture_world, fixture_world_free),
        cmocka_unit_test(what_is_drawn_has_two_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
