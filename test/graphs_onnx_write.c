/* graphs_onnx_write.c -- tests writing a changed model: what is kept, what is removed, and how
   things are named. The graph is

     s = x + w;  y = relu(s);  t = s * v;  z = sigmoid(t)   with outputs y and z. */
#include "ops/base/file.h"
#include "test/shared/fixture.h"
#include "test/shared/onnx_build.h"
#include "graphs/onnx/model.h"
#include "graphs/world.h"

static Text two_outputs(void) {
    Text g = text_new(arena);
    add_node(&g, "Add", "x", "w", "s");
    add_node(&g, "Relu", "s", NULL, "y");
    add_node(&g, "Mul", "s", "v", "t");
    add_node(&g, "Sigmoid", "t", NULL, "z");
    add_tensor(&g, "w", 3, 12);
    add_tensor(&g, "v", 1, 4);
    add_info(&g, 11, "x", 2, 3);
    add_info(&g, 12, "y", 2, 3);
    add_info(&g, 12, "z", 2, 3);
    add_info(&g, 13, "t", 2, 3);
    return g;
}

static Value call(World *w, const char *op, int nin, Value a, Value b) {
    const char *why = "";
    Value in[2] = {a, b}, y = node_make(w, op_find(op), NULL, nin, in, 1, &why);
    if (!y) fail_msg("%s: %s", op, why);
    return y;
}

static const char *tag(void *user, Value v) { return (void)v, user; }

/* Writes the model with `from` replaced by `to` and opens the result. */
static Model *rewritten(Model *m, World *w, Value from, Value to, const char *rule) {
    Error e = {0};
    Graph g;
    ValueMap map;
    char *bytes;
    size_t n;
    if (!graph_substitute(w, arena, model_graph(m), &(Substitution){1, &from, &to}, &g, &map, &e))
        fail_msg("%s", e.reason);
    ModelWrite x = {
        .graph = &g, .map = &map, .tag = rule ? tag : NULL, .user = (void *)(uintptr_t)rule};
    if (!model_bytes(m, &x, arena, &bytes, &n, &e)) fail_msg("%s: %s", e.place, e.reason);
    Model *again = open_bytes(w, bytes, n, &e);
    if (!again) fail_msg("%s: %s", e.place, e.reason);
    return again;
}

static bool contains(const char *what) {
    char *data;
    size_t n;
    Error e = {0};
    assert_true(file_read(arena, path, &data, &n, &e));
    return memmem(data, n, what, strlen(what)) != NULL;
}

static Model *opened(World *w, const Text *graph) {
    Error e = {0};
    Text file = whole(graph);
    Model *m = open_bytes(w, file.data, file.size, &e);
    if (!m) fail_msg("%s: %s", e.place, e.reason);
    return m;
}
static Value sum_of(World *w, Model *m) {
    return node_get(w, value_node(w, model_graph(m)->out[0])).in[0];
}

static void new_value_takes_the_old_name(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Text g = two_outputs();
    Model *m = opened(w, &g);
    Value x = model_graph(m)->in[0], s = sum_of(w, m);
    Model *after = rewritten(m, w, s, call(w, "mul", 2, x, x), "square");
    const char *type;
    Value now = sum_of(w, after);
    assert_string_equal(model_value_name(after, now), "s");
    assert_string_equal(model_node_name(after, value_node(w, now), &type), "square/s");
    assert_string_equal(type, "Mul");
    assert_string_equal(model_node_name(after, value_node(w, model_graph(after)->out[0]), &type),
                        "node_y");
    assert_true(contains("isomer: square"));
    assert_false(contains("node_s"));
    assert_int_equal(model_stats(after).nodes, 4);
    model_close(m), model_close(after);
    world_free(w);
}

static void what_nothing_uses_goes(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Text g = two_outputs();
    Model *m = opened(w, &g);
    Value z = model_graph(m)->out[1], t = node_get(w, value_node(w, z)).in[0];
    assert_true(contains("node_t"));
    Model *after = rewritten(m, w, t, model_graph(m)->in[0], NULL);
    assert_false(contains("node_t"));
    assert_int_equal(model_stats(after).nodes, 3);
    assert_ptr_not_equal(model_value_name(after, model_graph(after)->in[0]), NULL);
    assert_int_equal(model_graph(after)->nout, 2);
    char *data;
    size_t n;
    Error e = {0};
    assert_true(file_read(arena, path, &data, &n, &e));
    Text v = text_new(arena), t_info = text_new(arena);
    text_field(&v, 8, "v"), text_field(&t_info, 1, "t");
    assert_null(memmem(data, n, v.data, v.size));
    model_close(m), model_close(after);
    world_free(w);
}

/* If another value replaces an output, the output keeps its name, also if two outputs become one
   value. */
static void outputs_keep_their_names(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Text g = two_outputs();
    Model *m = opened(w, &g);
    Value y = model_graph(m)->out[0], z = model_graph(m)->out[1];
    Model *after = rewritten(m, w, z, y, NULL), *input;
    assert_string_equal(model_output_name(after, 0), "y");
    assert_string_equal(model_output_name(after, 1), "z");
    assert_int_equal(model_graph(after)->out[0], model_graph(after)->out[1]);
    input = rewritten(m, w, y, model_graph(m)->in[0], NULL);
    assert_string_equal(model_output_name(input, 0), "y");
    assert_int_equal(model_graph(input)->out[0], model_graph(input)->in[0]);
    model_close(m), model_close(after), model_close(input);
    world_free(w);
}

/* New names differ from all names in the file and are the same every time. */
static void new_names_are_new_and_repeat(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Text g = text_new(arena), rest = two_outputs();
    add_node(&g, "Neg", "x", NULL, "isomer_1");
    add_info(&g, 12, "isomer_1", 2, 3);
    text_bytes(&g, rest.data, rest.size);
    Model *m = opened(w, &g);
    Value x = model_graph(m)->in[0], s = node_get(w, value_node(w, model_graph(m)->out[1])).in[0];
    Value deep = call(w, "exp", 1, call(w, "abs", 1, x, 0), 0);
    Model *first = rewritten(m, w, s, deep, NULL);
    char *a, *b;
    size_t n, k;
    Error e = {0};
    assert_true(contains("isomer_2"));
    assert_true(file_read(arena, path, &a, &n, &e));
    Model *second = rewritten(m, w, s, deep, NULL);
    assert_true(file_read(arena, path, &b, &k, &e));
    assert_int_equal(n, k);
    assert_memory_equal(a, b, n);
    model_close(m), model_close(first), model_close(second);
    world_free(w);
}

/* The number of entries of one kind in the written graph. */
static int count_fields(uint32_t number) {
    char *data;
    size_t n;
    Error e = {0};
    int count = 0;
    assert_true(file_read(arena, path, &data, &n, &e));
    Wire file = wire_new((Slice){(unsigned char *)data, n}, (unsigned char *)data, path, &e);
    for (Field f; wire_next(&file, &f);) {
        if (f.number != 7) continue;
        Wire graph = wire_inner(&file, f.bytes);
        for (Field h; wire_next(&graph, &h);) count += h.number == number;
    }
    return count;
}

/* Tests a node with more inputs than there are bits for the places that attributes fill. `make
   ubsan` sees an overflow that a plain build may not. */
static void node_of_many_inputs_is_written(void **state) {
    (void)state;
    enum { MANY = 40 };
    World *w = graph_world_new(NULL, 0);
    Text g = two_outputs();
    Model *m = opened(w, &g);
    Value x = model_graph(m)->in[0], in[MANY];
    const Dims d = value_type(w, x)->dim;
    const Poly zero[RANK_MAX] = {poly_int(w, 0), poly_int(w, 0)};
    const NamedList first[] = {{"starts", {d.n, zero}}, {"sizes", {d.n, d.v}}, {0}};
    for (int k = 0; k < MANY; k++) in[k] = x;
    Value all = node_call(w, op_find("concat"), MANY, in, (NamedList[]){{"axis", {1, zero}}, {0}});
    Value part = node_call(w, op_find("slice"), 1, &all, first);
    Model *after = rewritten(m, w, sum_of(w, m), part, "many");
    Value now = node_get(w, value_node(w, sum_of(w, after))).in[0];
    assert_int_equal(node_get(w, value_node(w, now)).nin, MANY);
    model_close(m), model_close(after);
    world_free(w);
}

static void equal_constants_are_written_once(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Text g = two_outputs();
    Model *m = opened(w, &g);
    Value x = model_graph(m)->in[0], two = constant_of(w, 2), three = constant_of(w, 3);
    Value y = call(w, "add", 2, call(w, "mul", 2, x, two),
                   call(w, "mul", 2, call(w, "exp", 1, call(w, "mul", 2, x, three), 0), two));
    Model *after = rewritten(m, w, sum_of(w, m), y, NULL);
    assert_int_equal(count_fields(5), 3); /* the initializers 2, 3 and v; w is gone */
    model_close(m), model_close(after);
    world_free(w);
}

/* Up to IR version 3, every initializer is also listed as an input. */
static void old_versions_list_initializers(void **state) {
    (void)state;
    Error e = {0};
    World *w = graph_world_new(NULL, 0);
    Text g = two_outputs();
    add_info(&g, 11, "w", 1, 3);
    add_info(&g, 11, "v", 1, 1);
    Text file = whole_of(&g, 3, 9);
    Model *m = open_bytes(w, file.data, file.size, &e);
    assert_non_null(m);
    assert_int_equal(model_graph(m)->nin, 1);
    Value x = model_graph(m)->in[0];
    Model *after = rewritten(m, w, sum_of(w, m), call(w, "mul", 2, x, constant_of(w, 2)), NULL);
    assert_int_equal(model_graph(after)->nin, 1);
    assert_int_equal(count_fields(5), 2);  /* v and the 2 */
    assert_int_equal(count_fields(11), 3); /* these two and x */
    model_close(m), model_close(after);
    world_free(w);
}

/* A composite that the model's version of ONNX lacks is written as its definition. */
static void operators_of_later_versions(void **state) {
    (void)state;
    Error e = {0};
    World *w = graph_world_new(NULL, 0);
    Text g = two_outputs(), file = whole_of(&g, 7, 12);
    Model *m = open_bytes(w, file.data, file.size, &e);
    assert_non_null(m);
    const char *why;
    const Op *composite = op_find("hardswish");
    assert_true(model_exportable(m, composite, &why));
    assert_true(model_exportable(m, op_find("relu"), &why));
    Value x = model_graph(m)->in[0];
    Model *after = rewritten(m, w, sum_of(w, m), call(w, "hardswish", 1, x, 0), NULL);
    assert_false(contains("HardSwish"));
    assert_int_equal(model_stats(after).opaque, 0);
    assert_string_equal(model_value_name(after, sum_of(w, after)), "s");
    model_close(m), model_close(after);
    world_free(w);
}

/* A node that the model's version of ONNX lacks is found before anything is written: erf came with
   version 9. */
static void nodes_of_later_versions(void **state) {
    (void)state;
    Error e = {0};
    World *w = graph_world_new(NULL, 0);
    Text g = two_outputs(), file = whole_of(&g, 7, 8);
    Model *m = open_bytes(w, file.data, file.size, &e);
    assert_non_null(m);
    const char *why;
    Value out[2];
    assert_int_equal(model_graph(m)->nout, 2);
    Graph graph = *model_graph(m);
    memcpy(out, graph.out, sizeof out);
    graph.out = out;
    ModelWrite x = {.graph = &graph, .map = &(ValueMap){0}};
    assert_true(model_writable(m, &x, &why));
    out[1] = call(w, "exp", 1, graph.in[0], 0);
    assert_true(model_writable(m, &x, &why));
    out[1] = call(w, "erf", 1, graph.in[0], 0);
    assert_false(model_writable(m, &x, &why));
    assert_non_null(strstr(why, "erf"));
    model_close(m);
    world_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_value_takes_the_old_name),
        cmocka_unit_test(what_nothing_uses_goes),
        cmocka_unit_test(outputs_keep_their_names),
        cmocka_unit_test(new_names_are_new_and_repeat),
        cmocka_unit_test(node_of_many_inputs_is_written),
        cmocka_unit_test(equal_constants_are_written_once),
        cmocka_unit_test(old_versions_list_initializers),
        cmocka_unit_test(operators_of_later_versions),
        cmocka_unit_test(nodes_of_later_versions),
    };
    return run_with_file(tests, sizeof tests / sizeof *tests);
}
