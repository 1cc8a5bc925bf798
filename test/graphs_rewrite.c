/* graphs_rewrite.c -- tests substitution: it is simultaneous, rebuilds only the nodes that
   depend on the replaced values, and names a node that does not fit. Composites become their
   expansions. */
#include "graphs/rewrite.h"
#include "graphs/world.h"
#include "test/shared/fixture.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void what_stands_above_is_rebuilt(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Names n = {0};
    Graph g = graph_named(w,
                          "graph g %x : F [n]\nbody\n %a = relu %x\n %b = exp %a\n %c = neg %x\n "
                          "%d = add %b %c\n out %d %c\n",
                          &n),
          out;
    Value from = names_find(&n, "a"), to = names_find(&n, "c");
    ValueMap map;
    Error e = {0};
    assert_true(graph_substitute(w, w->arena, &g, &(Substitution){1, &from, &to}, &out, &map, &e));
    assert_string_equal(graph_body(w, &out),
                        "  %1 = neg %x\n  %2 = exp %1\n  %3 = add %2 %1\n  out %3 %1\n");
    assert_int_equal(out.out[1], g.out[1]);
    assert_int_equal(map_value(&map, g.out[0]), out.out[0]);
    assert_int_equal(map_value(&map, from), to);
    assert_int_equal(map_value(&map, to), to);
    assert_int_equal(map_value(&map, names_find(&n, "b")), node_get(w, out.out[0]).in[0]);
    assert_string_equal(
        graph_body(w, &g),
        "  %1 = relu %x\n  %2 = exp %1\n  %3 = neg %x\n  %4 = add %2 %3\n  out %4 %3\n");
    world_free(w);
}

static void replacements_do_not_see_each_other(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Names n = {0};
    Graph g = graph_named(w,
                          "graph g %x : F [n]\nbody\n %a = relu %x\n %b = exp %x\n %c = sub %a "
                          "%b\n %r = relu %a\n out %c %r\n",
                          &n),
          out;
    Value from[] = {names_find(&n, "a"), names_find(&n, "b")}, to[] = {from[1], from[0]};
    Error e = {0};
    assert_true(graph_substitute(w, w->arena, &g, &(Substitution){2, from, to}, &out, NULL, &e));
    assert_string_equal(
        graph_body(w, &out),
        "  %1 = exp %x\n  %2 = relu %x\n  %3 = sub %1 %2\n  %4 = relu %1\n  out %3 %4\n");
    /* x -> relu(x): the relu that replaces x keeps its own x. */
    assert_true(graph_substitute(w, w->arena, &g, &(Substitution){1, g.in, from}, &out, NULL, &e));
    assert_string_equal(graph_body(w, &out), "  %1 = relu %x\n  %2 = relu %1\n  %3 = exp %1\n  %4 "
                                             "= sub %2 %3\n  %5 = relu %2\n  out %4 %5\n");
    world_free(w);
}

static void one_of_several_results_can_be_replaced(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Names n = {0};
    Graph g = graph_named(w,
                          "graph g %x : F [2, 6]\nbody\n %a %b = split %x axis=1 sizes=[3, 3]\n %c "
                          "= neg %a\n %d = add %b %a\n out %c %d %a\n",
                          &n),
          out;
    Value from = names_find(&n, "b"), to = names_find(&n, "c");
    ValueMap map;
    Error e = {0};
    assert_true(graph_substitute(w, w->arena, &g, &(Substitution){1, &from, &to}, &out, &map, &e));
    assert_string_equal(graph_body(w, &out), "  %1 %2 = split %x axis=1 sizes=[3, 3]\n  %3 = neg "
                                             "%1\n  %4 = add %3 %1\n  out %3 %4 %1\n");
    /* A replaced result of a rebuilt node stays replaced. */
    Value from2[] = {g.in[0], from}, twice[] = {to, to};
    Type t = *value_type(w, g.in[0]);
    twice[0] = graph_input(w, "y", &t);
    assert_true(
        graph_substitute(w, w->arena, &g, &(Substitution){2, from2, twice}, &out, &map, &e));
    assert_int_equal(map_value(&map, from), to);
    assert_int_equal(node_get(w, value_node(w, map_value(&map, names_find(&n, "a")))).in[0],
                     twice[0]);
    world_free(w);
}

static void what_does_not_fit_is_named(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Names n = {0};
    Graph g = graph_named(
              w,
              "graph g %x : F [2, 3] %i : I64 [2, 3]\nbody\n %a = relu %x\n %b = exp %a\n out %b\n",
              &n),
          out;
    Value from = names_find(&n, "a");
    Error e = {0};
    assert_false(
        graph_substitute(w, w->arena, &g, &(Substitution){1, &from, &g.in[1]}, &out, NULL, &e));
    assert_int_equal(e.kind, E_INVALID);
    assert_non_null(strstr(e.place, "exp"));
    world_free(w);
}

static void composites_become_their_definition(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Names n = {0};
    Graph g = graph_named(w,
                          "graph g %x : F [n]\nbody\n %a = relu %x\n %b = hardswish %a\n %c = "
                          "hardswish %b\n %d = add %c %b\n out %d\n",
                          &n),
          out;
    ValueMap map;
    Error e = {0};
    assert_true(graph_expand(w, w->arena, &g, &out, &map, &e));
    assert_string_equal(graph_body(w, &out), "  %1 = relu %x\n  %2 = hardsigmoid %1 alpha=1/6\n  "
                                             "%3 = mul %1 %2\n  %4 = hardsigmoid %3 alpha=1/6\n"
                                             "  %5 = mul %3 %4\n  %6 = add %5 %3\n  out %6\n");
    assert_int_equal(map_value(&map, g.out[0]), out.out[0]);
    assert_int_equal(map_value(&map, names_find(&n, "c")), node_get(w, out.out[0]).in[0]);
    assert_int_equal(map_value(&map, names_find(&n, "a")), names_find(&n, "a"));
    world_free(w);
}

static void check_expansion(const char *line, const char *body) {
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_named(w,
                          arena_format(w->arena,
                                       "graph g %%x : F [1, 2, 5] %%w : F [3, 2, 3] %%b : F [3] "
                                       "%%z : F [1, 3, 3]\nbody\n %s\n out %%y\n",
                                       line),
                          &(Names){0}),
          out;
    Error e = {0};
    assert_true(graph_expand(w, w->arena, &g, &out, NULL, &e));
    assert_string_equal(graph_body(w, &out), body);
    world_free(w);
}
static void lines_of_an_expansion_have_conditions(void **state) {
    (void)state;
    check_expansion("%y = fusedconv %x %w", "  %1 = conv %x %w\n  out %1\n");
    check_expansion("%y = fusedconv %x %w %b activation=relu",
                    "  %1 = conv %x %w %b\n  %2 = relu %1\n  out %2\n");
    check_expansion("%y = fusedconv %x %w _ %z activation=clip alpha=-1 beta=2",
                    "  %1 = conv %x %w\n  %2 = add %1 %z\n  %3 = clip %2 min=-1 max=2\n"
                    "  out %3\n");
}

static void every_expansion_parses(void **state) {
    (void)state;
    for (int k = 0; k < op_count(); k++) {
        const Op *op = op_at(k);
        if (!op->expand) continue;
        World *w = graph_world_new(NULL, 0);
        Error e = {0};
        LineList l;
        Scan s = scan_new(op->name, op->expand, strlen(op->expand), &e);
        assert_true(lines_parse(w, w->arena, &s, &l));
        world_free(w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stands_above_is_rebuilt),
        cmocka_unit_test(replacements_do_not_see_each_other),
        cmocka_unit_test(one_of_several_results_can_be_replaced),
        cmocka_unit_test(what_does_not_fit_is_named),
        cmocka_unit_test(composites_become_their_definition),
        cmocka_unit_test(lines_of_an_expansion_have_conditions),
        cmocka_unit_test(every_expansion_parses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
