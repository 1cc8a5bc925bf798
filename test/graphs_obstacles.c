/* graphs_obstacles.c -- tests that a graph which cannot be run has no plan, and that the reason and
   the node are named. */
#include "graphs/plan/plan.h"
#include "graphs/sizes.h"
#include "graphs/world.h"
#include "test/shared/fixture.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static void what_cannot_be_run_is_named(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Error e = {0};
    Graph g = graph_of(w, "graph g %x : F [2]\nbody\n %a = exp %x\n %o = opaque %a blob=hex\"\" "
                          "types=[1, 1, 2]\n %b = exp %o\n out %b\n");
    assert_null(plan_build(w, w->arena, &g, (Sizes){0}, &e));
    assert_non_null(strstr(e.place, "opaque"));
    Error again = {0};
    assert_int_equal(plan_obstacle(w, w->arena, &g, (Sizes){0}, &again),
                     node_get(w, g.out[0]).in[0]);
    Graph h = graph_of(w, "graph g %x : F [n]\nbody\n %a = exp %x\n out %a\n");
    Error size = {0};
    assert_null(plan_build(w, w->arena, &h, (Sizes){0}, &size));
    assert_non_null(strstr(size.reason, "size"));
    world_free(w);
}

/* Kernels rely on what an operator requires: a gather writes as many rows as its index has. */
static void sizes_that_a_node_does_not_allow_are_refused(void **state) {
    (void)state;
    static const char *dims[][2] = {{"n=4", "m=4"}, {"n=4", "m=3"}, {"n=4", "m=5"}};
    static const char *const name[] = {"x", "i"};
    for (int k = 0; k < 3; k++) {
        World *w = graph_world_new(NULL, 0);
        Graph g = graph_of(w, "graph g %x : F [n, 8] %i : I64 [m, 8]\nbody\n %a = exp %x\n "
                              "%y = gatherelements %a %i axis=1\n out %y\n");
        Sizes sizes;
        Error e = {0};
        const SizeOptions given = {.dims = {2, dims[k]}};
        assert_true(sizes_given(w, w->arena, &g, name, &given, &sizes, &e));
        const bool good = k < 2;
        assert_true(!!plan_build(w, w->arena, &g, sizes, &e) == good);
        if (!good) assert_non_null(strstr(e.place, "gatherelements"));
        if (!good) assert_string_equal(e.reason, "it requires -m + n >= 0");
        assert_true(sizes_allowed(w, w->arena, &g, sizes, "--dim", &e) == good);
        world_free(w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_run_is_named),
        cmocka_unit_test(sizes_that_a_node_does_not_allow_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
