/* graphs_infinities.c -- tests which values an infinity in a constant may reach. */
#include "graphs/infinities.h"
#include "test/shared/fixture.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static bool reaches(World *w, const char *text) {
    const Graph g = graph_of(w, text);
    return infinity_reaches(w, g.out[0]);
}
#define BODY "graph g %x : F [2, 2]\nbody\n"

static void constants_that_are_not_finite(void **state) {
    assert_true(reaches(*state, BODY " %m = constant F [2, 2] hex\"0000000000000000000080ff"
                                     "00000000\"\n %y = add %x %m\n %z = relu %y\n out %z\n"));
    assert_true(reaches(*state, BODY " %m = constant F [2, 2] splat(-3e38)\n %y = add %x %m\n"
                                     " %z = relu %y\n out %z\n"));
    assert_false(reaches(*state, BODY " %m = constant F [2, 2] splat(-1e9)\n %y = add %x %m\n"
                                      " %z = relu %y\n out %z\n"));
}

static void numbers_that_operators_write(void **state) {
    assert_true(reaches(*state, BODY " %m = fill value=-3e38 shape=[2, 2]\n %y = add %x %m\n"
                                     " out %y\n"));
    assert_false(reaches(*state, BODY " %m = fill value=-1e9 shape=[2, 2]\n %y = add %x %m\n"
                                      " out %y\n"));
    assert_true(reaches(*state, BODY " %y = pad %x pads=[0, 0, 1, 1] value=-3e38\n out %y\n"));
    /* The bound of a clip does not reach the result as an infinity. */
    assert_false(reaches(*state, BODY " %y = clip %x max=3\n out %y\n"));
}

static void types_have_their_own_limits(void **state) {
    assert_true(reaches(*state, "graph g %x : F16 [2]\nbody\n %m = constant F16 [2] splat(-60000)\n"
                                " %y = add %x %m\n out %y\n"));
    assert_false(reaches(*state, "graph g %x : F64 [2]\nbody\n %m = constant F64 [2] splat(3e38)\n"
                                 " %y = add %x %m\n out %y\n"));
}

static void softmax_is_moderate(void **state) {
    assert_false(reaches(*state, BODY " %m = constant F [2, 2] splat(-3e38)\n %y = add %x %m\n"
                                      " %z = softmax %y axis=1\n out %z\n"));
}

/* A second query continues where the first one stopped. */
static void values_one_after_the_other(void **state) {
    World *w = *state;
    const Graph g = graph_of(w, BODY " %m = constant F [2, 2] splat(-3e38)\n %a = relu %x\n"
                                     " %b = add %a %m\n %c = add %x %b\n out %a %b %c\n");
    assert_false(infinity_reaches(w, g.out[0]));
    assert_true(infinity_reaches(w, g.out[2]));
    assert_true(infinity_reaches(w, g.out[1]));
    assert_false(infinity_reaches(w, g.in[0]));
}

/* After a reset the same value number is another value, whose answer is not remembered. */
static void values_given_again(void **state) {
    World *w = *state;
    const WorldMark mark = world_mark(w);
    assert_true(reaches(w, BODY " %m = constant F [2, 2] splat(-3e38)\n %y = add %x %m\n"
                                " out %y\n"));
    world_reset(w, mark);
    assert_false(reaches(w, BODY " %m = constant F [2, 2] splat(-1)\n %y = add %x %m\n"
                                 " out %y\n"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(constants_that_are_not_finite, fixture_world,
                                        fixture_world_free),
        cmocka_unit_test_setup_teardown(numbers_that_operators_write, fixture_world,
                                        fixture_world_free),
        cmocka_unit_test_setup_teardown(types_have_their_own_limits, fixture_world,
                                        fixture_world_free),
        cmocka_unit_test_setup_teardown(softmax_is_moderate, fixture_world, fixture_world_free),
        cmocka_unit_test_setup_teardown(values_one_after_the_other, fixture_world,
                                        fixture_world_free),
        cmocka_unit_test_setup_teardown(values_given_again, fixture_world, fixture_world_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
