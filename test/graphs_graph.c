/* graphs_graph.c -- tests the node table: equal nodes are one node, each result of a node is a
   value, a reset to a mark removes later nodes, and live nodes and uses are those of the graph. */
#include "test/shared/fixture.h"
#include "graphs/world.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void equal_nodes_are_one(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, "graph g %x : F [n, 4]\nbody\n %a = relu %x\n %b = relu %x\n %c = add %a "
                          "%b\n out %a %b %c\n");
    assert_int_equal(g.out[0], g.out[1]);
    Node add = node_get(w, g.out[2]);
    assert_int_equal(add.in[0], add.in[1]);
    assert_string_equal(input_name(w, g.in[0]), "x");
    assert_null(input_name(w, g.out[0]));
    assert_int_equal(graph_input(w, "x", value_type(w, g.in[0])), g.in[0]);
    assert_int_not_equal(graph_input(w, "y", value_type(w, g.in[0])), g.in[0]);
    world_free(w);
}

static void random_nodes_stay_apart_and_keep_their_serial(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, "graph g %x : F [2] %y : F [2]\nbody\n %a = opaque %x blob=hex\"01\" "
                          "types=[1, 1, 2]\n %b = opaque %x "
                          "blob=hex\"01\" types=[1, 1, 2]\n out %a %b\n");
    assert_int_not_equal(g.out[0], g.out[1]);
    Value a = node_rebuild(w, g.out[0], &g.in[1], NULL),
          b = node_rebuild(w, g.out[1], &g.in[1], NULL);
    assert_int_not_equal(a, b);
    assert_int_equal(node_rebuild(w, g.out[0], &g.in[1], NULL), a);
    world_free(w);
}

static void values_belong_to_their_node(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, "graph g %x : F [2, n]\nbody\n %a %b %c = split %x axis=1 sizes=[1, n - "
                          "3, 2]\n out %c %a\n");
    Node n = node_get(w, value_node(w, g.out[0]));
    assert_int_equal(n.nout, 3);
    assert_int_equal(n.out, g.out[1]);
    assert_int_equal(value_port(w, g.out[0]), 2);
    assert_int_equal(value_port(w, g.out[1]), 0);
    Text t = text_new(w->arena);
    type_print(w, value_type(w, n.out + 1), &t);
    assert_string_equal(t.data, "F [2, n - 3]");
    world_free(w);
}

static void left_out_inputs_have_one_spelling(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(
        w, "graph g %x : F [1, 2, 5, 5] %w : F [3, 2, 3, 3]\nbody\n %a = conv %x %w\n out %a\n");
    Node n = node_get(w, g.out[0]);
    Attr attr[ATTRS_MAX];
    sig_attr(w, n.sig, attr);
    assert_int_equal(n.nin, op_input_count(n.op));
    Value two[] = {g.in[0], g.in[1]}, three[] = {g.in[0], g.in[1], 0};
    assert_int_equal(node_make(w, n.op, attr, 2, two, 1, NULL), g.out[0]);
    assert_int_equal(node_make(w, n.op, attr, 3, three, 1, NULL), g.out[0]);
    const char *why = NULL;
    assert_int_equal(node_make(w, n.op, attr, 1, two, 1, &why), 0);
    assert_non_null(why);
    world_free(w);
}

static void refused_types_say_why(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    const Type a = {.dtype = DT_FLOAT, .known = true, .dim = {1, {poly_int(w, 2)}}},
               b = {.dtype = DT_INT64, .known = true, .dim = {1, {poly_int(w, 2)}}};
    Value in[] = {graph_input(w, "a", &a), graph_input(w, "b", &b)};
    const char *why = NULL;
    assert_int_equal(node_make(w, op_find("add"), NULL, 2, in, 1, &why), 0);
    assert_non_null(why);
    world_free(w);
}

static void contents_are_keyed_by_content_and_not_copied(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    static const float one[] = {1, 2}, same[] = {1, 2}, other[] = {1, 3};
    size_t n;
    Blob b = blob_put(w, one, sizeof one);
    assert_int_equal(blob_put(w, same, sizeof same), b);
    assert_int_not_equal(blob_put(w, other, sizeof other), b);
    assert_ptr_equal(blob_get(w, b, &n), one);
    assert_int_equal(n, sizeof one);
    Type t = {.dtype = DT_FLOAT, .known = true, .dim = {1, {poly_int(w, 2)}}}, got;
    const void *bytes;
    Value v = constant_make(w, &t, b);
    assert_true(constant_get(w, v, &got, &bytes));
    assert_ptr_equal(bytes, one);
    assert_int_equal(got.dim.n, 1);
    assert_false(constant_get(w, graph_input(w, "x", &t), NULL, NULL));
    assert_int_equal(constant_of(w, 0.5f), constant_of(w, 0.5f));
    world_free(w);
}

static void marks_truncate(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, "graph g %x : F [n]\nbody\n %a = relu %x\n out %a\n");
    NodeId before = value_last(w);
    for (int round = 0; round < 3; round++) {
        WorldMark m = world_mark(w);
        Graph h = graph_of(w, "graph h %x : F [n]\nbody\n %a = relu %x\n %b = exp %a\n %k = "
                              "constant F [1] {3}\n out %b %k\n");
        const void *bytes;
        assert_int_equal(h.in[0], g.in[0]);
        assert_true(h.out[0] > before);
        assert_true(constant_get(w, h.out[1], NULL, &bytes));
        assert_true(*(const float *)bytes == 3);
        NodeList live = graph_live(w, w->arena, &h);
        assert_int_equal(live.n, 4);
        world_reset(w, m);
        assert_int_equal(value_last(w), before);
    }
    world_free(w);
}

static void live_nodes_and_uses(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, "graph g %x : F [n] %y : F [n]\nbody\n %a = relu %x\n %b = add %a %a\n "
                          "%c = exp %y\n %d = mul %b %a\n out %d %b %d\n");
    NodeList live = graph_live(w, w->arena, &g);
    assert_int_equal(live.n, 4);
    for (int k = 1; k < live.n; k++) assert_true(live.v[k - 1] < live.v[k]);
    Uses u = graph_uses(w, w->arena, &g, live);
    Value a = node_get(w, g.out[1]).in[0];
    assert_int_equal(u.count[a], 3);
    assert_int_equal(u.user[u.first[a]], g.out[1]);
    assert_int_equal(u.user[u.first[a] + 2], g.out[0]);
    assert_int_equal(u.outputs[g.out[0]], 2);
    assert_int_equal(u.outputs[g.out[1]], 1);
    assert_int_equal(u.count[g.in[1]], 0);
    world_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_nodes_are_one),
        cmocka_unit_test(random_nodes_stay_apart_and_keep_their_serial),
        cmocka_unit_test(values_belong_to_their_node),
        cmocka_unit_test(left_out_inputs_have_one_spelling),
        cmocka_unit_test(refused_types_say_why),
        cmocka_unit_test(contents_are_keyed_by_content_and_not_copied),
        cmocka_unit_test(marks_truncate),
        cmocka_unit_test(live_nodes_and_uses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
