/* graphs_region.c -- tests regions: opaque nodes separate them, equal regions are recognized, no
   path leaves a region and re-enters it, large groups are cut at few values, and substituting a
   region into the graph gives the graph. */
#include "graphs/region.h"
#include "test/shared/fixture.h"
#include "graphs/world.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static Graph put_back(World *w, const Graph *g, const Region *r) {
    Graph part, own, out;
    Error e = {0};
    assert_true(region_graph(w, w->arena, r, &part, NULL, &e));
    assert_true(graph_substitute(w, w->arena, &part, &(Substitution){r->nin, part.in, r->in}, &own,
                                 NULL, &e));
    assert_true(graph_substitute(w, w->arena, g, &(Substitution){r->nout, r->out, own.out}, &out,
                                 NULL, &e));
    return out;
}

static void equal_layers_are_one_region(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(
        w, "graph g %x : F [4, 4]\nbody\n"
           " %w = constant F [4, 4] seed(1)\n %v = constant F [4, 4] seed(2)\n %s = constant F [] "
           "{2}\n %t = constant F [] {3}\n"
           " %a = matmul %x %w\n %b = mul %a %s\n %c = opaque %b blob=hex\"\" types=[1, 2, 4, 4]\n"
           " %d = matmul %c %v\n %e = mul %d %s\n %f = opaque %e blob=hex\"\" types=[1, 2, 4, 4]\n"
           " %h = matmul %f %v\n %i = mul %h %t\n out %i\n");
    Region *r;
    int n = regions_find(w, w->arena, &g, 200, &r);
    assert_int_equal(n, 3);
    assert_string_equal(r[0].hash, r[1].hash);
    assert_string_not_equal(r[0].hash, r[2].hash); /* 2 became 3 */
    Graph a, b;
    Error e = {0};
    assert_true(region_graph(w, w->arena, &r[0], &a, NULL, &e));
    assert_true(region_graph(w, w->arena, &r[1], &b, NULL, &e));
    assert_int_equal(a.out[0], b.out[0]);
    for (int k = 0; k < n; k++) {
        assert_int_equal(r[k].nin, 2);
        assert_false(r[k].constant[0]);
        assert_true(r[k].constant[1]);
        assert_int_equal(put_back(w, &g, &r[k]).out[0], g.out[0]);
    }
    world_free(w);
}

/* Returns whether no path leads from a node of the region through a node outside back into the
   region. */
static bool convex(World *w, const Graph *g, const Region *r) {
    NodeList live = graph_live(w, w->arena, g);
    bool *inside = ARENA_NEW(w->arena, bool, value_last(w) + 1),
         *left = ARENA_NEW(w->arena, bool, value_last(w) + 1);
    for (int k = 0; k < r->nnode; k++) inside[r->node[k]] = true;
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(w, live.v[k]);
        for (int j = 0; j < n.nin; j++) {
            NodeId from = n.in[j] ? value_node(w, n.in[j]) : 0;
            if (inside[n.out] && left[from]) return false;
            if (!inside[n.out] && (inside[from] || left[from])) left[n.out] = true;
        }
    }
    return true;
}

static void regions_are_convex(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, "graph g %x : F [4]\nbody\n %a = relu %x\n %b = exp %a\n %o = opaque %b "
                          "blob=hex\"\" types=[1, 1, 4]\n %c = add %o "
                          "%a\n %d = neg %c\n %e = sub %d %b\n out %e %a\n");
    Region *r;
    int n = regions_find(w, w->arena, &g, 200, &r);
    assert_int_equal(n, 2);
    for (int k = 0; k < n; k++) assert_true(convex(w, &g, &r[k]));
    assert_int_equal(r[0].nnode, 2);
    assert_int_equal(r[0].nout, 2);
    assert_int_equal(r[1].nnode, 3);
    world_free(w);
}

/* Twelve blocks, each wide in the middle, are joined by one value each: the cuts fall between
   blocks. */
static void large_groups_are_cut_where_it_is_narrow(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Text t = text_new(w->arena);
    enum { BLOCKS = 12 };
    text_add(&t, "graph g %%x0 : F [4]\nbody\n");
    for (int k = 0; k < BLOCKS; k++)
        text_add(&t,
                 " %%a%d = exp %%x%d\n %%b%d = sqrt %%x%d\n %%c%d = neg %%a%d\n %%d%d = abs "
                 "%%b%d\n %%x%d = add %%c%d %%d%d\n",
                 k, k, k, k, k, k, k, k, k + 1, k, k);
    text_add(&t, " out %%x%d\n", BLOCKS);
    Graph g = graph_of(w, t.data);
    Region *r;
    int n = regions_find(w, w->arena, &g, 17, &r), nodes = 0;
    assert_int_equal(n, 4);
    for (int k = 0; k < n; k++) {
        nodes += r[k].nnode;
        assert_true(r[k].nnode <= 17);
        assert_int_equal(r[k].nin, 1);
        assert_int_equal(r[k].nout, 1);
        assert_true(convex(w, &g, &r[k]));
        assert_int_equal(put_back(w, &g, &r[k]).out[0], g.out[0]);
        assert_string_equal(r[k].hash, r[0].hash);
    }
    assert_int_equal(nodes, 5 * BLOCKS);
    world_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_layers_are_one_region),
        cmocka_unit_test(regions_are_convex),
        cmocka_unit_test(large_groups_are_cut_where_it_is_narrow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
