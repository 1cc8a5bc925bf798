/* graphs_onnx.c -- tests reading ONNX: what a file may contain and what is refused, on small models
   written here field by field. */
#include "test/shared/onnx_build.h"
#include "graphs/onnx/import/import.h"
#include "graphs/onnx/item_text.h"
#include "graphs/world.h"
#include "ops/core/element.h"
#include <stdio.h>

/* The graph relu(x + w), with x [2, 3] and w [3], followed by a field that only a later ONNX
   knows. */
static Text small_graph(void) {
    Text g = text_new(arena);
    add_node(&g, "Add", "x", "w", "s");
    add_node(&g, "Relu", "s", NULL, "y");
    add_tensor(&g, "w", 3, 12);
    add_info(&g, 11, "x", 2, 3);
    add_info(&g, 12, "y", 2, 3);
    text_field(&g, 77, "of the future");
    return g;
}

/* A number is the shortest decimal that rounds to it in its own type. */
static void numbers_are_short_decimals(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    static const struct {
        DType type;
        double value;
        const char *text;
    } cases[] = {
        {DT_FLOAT, 0.1F, "1/10"},
        {DT_DOUBLE, 0.1, "1/10"},
        {DT_FLOAT16, 0.0999755859375, "1/10"},
        {DT_BFLOAT16, 0.10009765625, "1/10"},
        {DT_FLOAT16, 1 + 0x1p-10, "1001/1000"},
        {DT_INT32, -7, "-7"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Text t = text_new(w->arena);
        assert_true(element_nearest(cases[k].type, cases[k].value) == cases[k].value);
        ex_print(w, element_number(w, cases[k].type, cases[k].value), &t);
        assert_string_equal(t.data, cases[k].text);
    }
    world_free(w);
}

static void reads_small_model(void **state) {
    (void)state;
    Error e = {0};
    World *w = graph_world_new(NULL, 0);
    Text g = small_graph(), file = whole(&g);
    Model *m = open_bytes(w, file.data, file.size, &e);
    assert_non_null(m);
    assert_int_equal(model_stats(m).nodes, 2);
    assert_int_equal(model_stats(m).understood, 2);
    assert_int_equal(model_graph(m)->nin, 1);
    assert_string_equal(model_input_name(m, 0), "x");
    assert_string_equal(model_output_name(m, 0), "y");
    const char *type;
    assert_string_equal(model_node_name(m, value_node(w, model_graph(m)->out[0]), &type), "node_y");
    assert_string_equal(type, "Relu");
    assert_string_equal(model_value_name(m, model_graph(m)->in[0]), "x");
    ModelWrite x = {.graph = model_graph(m), .map = &(ValueMap){0}};
    char *bytes;
    size_t n;
    assert_true(model_bytes(m, &x, arena, &bytes, &n, &e));
    assert_int_equal(n, file.size);
    assert_memory_equal(bytes, file.data, n);
    model_close(m);
    world_free(w);
}

/* Every prefix of a model is refused or is itself a model. */
static void refuses_truncated_files(void **state) {
    (void)state;
    Text g = small_graph(), file = whole(&g);
    int refused = 0;
    for (size_t n = 0; n < file.size; n++) {
        Error e = {0};
        World *w = graph_world_new(NULL, 0);
        Model *m = open_bytes(w, file.data, n, &e);
        assert_true(m || e.kind == E_INVALID);
        assert_true(m || strstr(e.place, path));
        refused += !m;
        model_close(m);
        world_free(w);
    }
    assert_true(refused > (int)g.size);
}

/* Every byte of a model is changed in a few ways; the result is read or refused. */
static void survives_damaged_files(void **state) {
    (void)state;
    Text g = small_graph(), file = whole(&g);
    static const unsigned char change[] = {0x01, 0x80, 0xff, 0x08};
    for (size_t at = 0; at < file.size; at++)
        for (size_t k = 0; k < sizeof change; k++) {
            Error e = {0};
            World *w = graph_world_new(NULL, 0);
            file.data[at] = (char)(file.data[at] ^ change[k]);
            Model *m = open_bytes(w, file.data, file.size, &e);
            file.data[at] = (char)(file.data[at] ^ change[k]);
            assert_true(m || e.kind == E_INVALID);
            model_close(m);
            world_free(w);
        }
}

static void refuse(const Text *graph, const char *place, const char *reason) {
    Error e = {0};
    World *w = graph_world_new(NULL, 0);
    Text file = whole(graph);
    assert_null(open_bytes(w, file.data, file.size, &e));
    assert_int_equal(e.kind, E_INVALID);
    if (!strstr(e.place, place) || !strstr(e.reason, reason)) fail_msg("%s: %s", e.place, e.reason);
    world_free(w);
}

static void refuses_wrong_structure(void **state) {
    (void)state;
    Text cycle = text_new(arena), twice = small_graph(), missing = text_new(arena),
         nothing = text_new(arena);
    add_info(&cycle, 11, "x", 2, 3);
    add_node(&cycle, "Add", "x", "b", "a");
    add_node(&cycle, "Relu", "a", NULL, "b");
    refuse(&cycle, "node_a", "'b'");
    add_node(&twice, "Relu", "s", NULL, "y");
    refuse(&twice, "node_y", "defined twice");
    add_info(&missing, 11, "x", 2, 3);
    add_node(&missing, "Add", "x", "weight", "y");
    refuse(&missing, "node_y", "'weight'");
    add_info(&nothing, 12, "y", 2, 3);
    refuse(&nothing, "'y'", "computes it");
}

static void refuses_wrong_sizes(void **state) {
    (void)state;
    Text huge = small_graph(), negative = small_graph(), few = small_graph();
    add_tensor(&huge, "h", INT64_MAX / 2, 4);
    refuse(&huge, path, "too large");
    add_tensor(&negative, "h", -4, 4);
    refuse(&negative, path, "negative size");
    add_tensor(&few, "h", 4, 12);
    refuse(&few, "tensor 'h'", "does not have the length");
    /* The tensor has 2^64 bits, a number that overflows the type in which bytes are counted. */
    Text wraps = small_graph(), wraps_raw = small_graph();
    add_tensor_of(&wraps, "h", 11, INT64_C(1) << 58, 0);
    refuse(&wraps, "tensor 'h'", "less data");
    add_tensor_of(&wraps_raw, "h", 11, (INT64_C(1) << 58) + 1, 8);
    refuse(&wraps_raw, "tensor 'h'", "does not have the length");
}

/* Tests a size, and an element of float_data, that stand alone in a field of another wire type. */
static void single_numbers_are_of_their_kind(void **state) {
    (void)state;
    const char size_in_32_bits[] = {1 << 3 | WIRE_FIXED32, 4, 0, 0, 0};
    for (int k = 0; k < 2; k++) {
        Text graph = small_graph(), t = text_new(arena);
        if (k) wire_put_int(&t, TENSOR_DIMS, 1);
        else text_bytes(&t, size_in_32_bits, sizeof size_in_32_bits);
        wire_put_int(&t, TENSOR_DATA_TYPE, DT_FLOAT);
        if (k) wire_put_int(&t, TENSOR_FLOAT_DATA, 1);
        text_field(&t, TENSOR_NAME, "h");
        message(&graph, GRAPH_INITIALIZER, &t);
        refuse(&graph, k ? "tensor 'h'" : path, "wrong wire type");
    }
}

/* Tests packed lists of numbers: each number must be complete and fit into 64 bits. */
static void packed_numbers_are_whole(void **state) {
    (void)state;
    static const struct {
        unsigned char dims[11];
        size_t n;
        const char *reason;
    } cases[] = {{{2, 0x83}, 2, "in the middle of a number"},
                 {{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02}, 10, "64 bits"},
                 {{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}, 11, "64 bits"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Text graph = small_graph(), t = text_new(arena);
        wire_put_bytes(&t, TENSOR_DIMS, cases[k].dims, cases[k].n);
        wire_put_int(&t, TENSOR_DATA_TYPE, DT_FLOAT);
        text_field(&t, TENSOR_NAME, "h");
        message(&graph, GRAPH_INITIALIZER, &t);
        refuse(&graph, path, cases[k].reason);
    }
}

static void unknown_operators_are_opaque(void **state) {
    (void)state;
    Error e = {0};
    World *w = graph_world_new(NULL, 0);
    Text g = text_new(arena);
    add_info(&g, 11, "x", 2, 3);
    add_node(&g, "NoSuchOperator", "x", NULL, "s");
    add_node(&g, "Relu", "s", NULL, "y");
    add_info(&g, 12, "y", 2, 3);
    Text file = whole(&g);
    Model *m = open_bytes(w, file.data, file.size, &e);
    assert_non_null(m);
    assert_int_equal(model_stats(m).opaque, 2);
    NodeId relu = value_node(w, model_graph(m)->out[0]),
           unknown = value_node(w, node_get(w, relu).in[0]);
    assert_non_null(strstr(model_opaque_reason(m, unknown), "NoSuchOperator"));
    assert_non_null(strstr(model_opaque_reason(m, relu), "sizes"));
    model_close(m);
    world_free(w);
}

static void lengths_are_not_believed(void **state) {
    (void)state;
    static const unsigned char bytes[] = {0x08, 0x01, 0x0a, 0x05, 1, 2, 3};
    Error e = {0};
    Field f;
    Wire w = wire_new((Slice){bytes, sizeof bytes}, bytes, "m", &e);
    assert_true(wire_next(&w, &f));
    assert_false(wire_next(&w, &f));
    assert_true(w.failed);
    assert_non_null(strstr(e.reason, "byte 3"));
}

static void missing_files_are_the_environment(void **state) {
    (void)state;
    Error e = {0};
    World *w = graph_world_new(NULL, 0);
    assert_null(model_open(w, "no/such/file.onnx", &e));
    assert_int_equal(e.kind, E_ENVIRONMENT);
    world_free(w);
}

/* Checks one item of the ONNX spelling of an operator (ops/operator/operator.h): a special item
   must be one that the importer knows, and any other must fill an attribute or constant input that
   the operator has. */
static bool item_right(const Op *op, const ItemText *item) {
    if (item->kind == ITEM_EQUALS || item->kind == ITEM_IGNORED) return true;
    if (item->kind == ITEM_SPECIAL) return item_known(op, item->ours, item->value);
    if (item->kind == ITEM_CONSTANT) return op_input_any(op, item->ours) > 0;
    return op->attrs && attrs_find(op->attrs, item->ours) >= 0;
}

static int unknown_items(const Op *op, const OnnxMap *map) {
    Arena *a = arena_new(NULL, 0);
    ItemText item;
    int unknown = 0;
    for (const char *at = map->attrs; item_next(a, &at, &item);) {
        if (item_right(op, &item)) continue;
        print_message("%s: %s since opset %d: unknown item about %s\n", op->name, map->type,
                      map->since, item.ours);
        unknown++;
    }
    arena_free(a);
    return unknown;
}

/* Reads each form of item in the grammar of ops/operator/operator.h. */
static void items_are_read(void **state) {
    (void)state;
    static const ItemText want[] = {
        {ITEM_ATTR, "alpha", "alpha", NULL, -1, false, false, false},
        {ITEM_ATTR, "a", "b", NULL, -1, false, false, false},
        {ITEM_ATTR, "a", "b", NULL, 2, false, false, false},
        {ITEM_INPUT, "a", NULL, NULL, 1, false, false, false},
        {ITEM_INPUT, "a", NULL, NULL, 10, true, false, false},
        {ITEM_ATTR, "mode", "mode", NULL, -1, false, true, false},
        {ITEM_CONSTANT, "s", "t", NULL, -1, true, false, false},
        {ITEM_CONSTANT, "s", "t", NULL, -1, false, false, false},
        {ITEM_FIXED, "axes", NULL, "[0,1]", -1, false, false, false},
        {ITEM_EQUALS, NULL, "mode", "linear", -1, false, false, false},
        {ITEM_EQUALS, NULL, "group", "-1", -1, false, false, true},
        {ITEM_IGNORED, NULL, "cells", NULL, -1, false, false, false},
        {ITEM_SPECIAL, "axes", NULL, "spatial", -1, false, false, false}};
    const char *at =
        " alpha a=b  a=b|input:2 a=input:1 a=input:10[] mode=mode^ s=list:t s=number:t "
        "axes=[0,1]! mode==linear +group==-1 cells:ignore axes:spatial ";
    Arena *a = arena_new(NULL, 0);
    assert_true(items_have_special(a, at, "axes", NULL));
    assert_true(items_have_special(a, at, "axes", "spatial"));
    assert_false(items_have_special(a, at, "axes", "other"));
    assert_false(items_have_special(a, NULL, "axes", NULL));
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        const ItemText *x = &want[k];
        ItemText item;
        assert_true(item_next(a, &at, &item));
        assert_int_equal(item.kind, x->kind);
        assert_string_equal(item.ours ? item.ours : "", x->ours ? x->ours : "");
        assert_string_equal(item.theirs ? item.theirs : "", x->theirs ? x->theirs : "");
        assert_string_equal(item.value ? item.value : "", x->value ? x->value : "");
        assert_int_equal(item.input, x->input);
        assert_true(item.list == x->list && item.capitals == x->capitals);
        assert_true(item.written == x->written);
    }
    ItemText none;
    assert_false(item_next(a, &at, &none));
    arena_free(a);
}

/* An unknown item makes every node of that version opaque, which no other test notices. */
static void every_spelling_is_known(void **state) {
    (void)state;
    static const OnnxMap wrong[] = {{"", "Relu", 7, 0, "no_such_item:recurrent"},
                                    {"", "Relu", 7, 0, "no_such_attribute=alpha"}};
    int unknown = 0, spellings = 0;
    for (int k = 0; k < op_count(); k++)
        for (const OnnxMap *map = op_at(k)->onnx; map && map->type; map++, spellings++)
            unknown += unknown_items(op_at(k), map);
    assert_int_equal(unknown, 0);
    assert_true(spellings > 200);
    for (int k = 0; k < 2; k++) assert_int_equal(unknown_items(op_find("relu"), &wrong[k]), 1);
}

/* Adds an attribute that is a graph of one node, which computes its output `out` from x. */
static void add_branch(Text *node, const char *name, const char *type, const char *out) {
    Text graph = text_new(arena), attribute = text_new(arena);
    add_node(&graph, type, "x", NULL, out);
    text_field(&graph, 2, name);
    add_info(&graph, 12, out, 2, 3);
    text_field(&attribute, 1, name);
    message(&attribute, 6, &graph);
    wire_put_int(&attribute, 20, 5);
    message(node, 5, &attribute);
}

static bool says_false(void *asked, const Model *m, Value v, Type *t, const void **bytes) {
    static const bool no = false;
    *t = *value_type(m->w, v);
    *bytes = &no;
    return *(int *)asked += 1, true;
}

/* The reader knows from constants that the condition is true. Data says that it is false: a planted
   fault, which shows whether data decides. */
static void conditions_are_run_if_wanted(void **state) {
    (void)state;
    Text g = text_new(arena), node = text_new(arena);
    add_node(&g, "Equal", "a", "a", "c");
    text_field(&node, 1, "c");
    text_field(&node, 2, "y");
    text_field(&node, 4, "If");
    add_branch(&node, "then_branch", "Relu", "t");
    add_branch(&node, "else_branch", "Sigmoid", "e");
    message(&g, 1, &node);
    add_tensor(&g, "a", 1, 4);
    add_info(&g, 11, "x", 2, 3);
    add_info(&g, 12, "y", 2, 3);
    const Text file = whole(&g);
    for (int runs = 0; runs < 2; runs++) {
        World *w = graph_world_new(NULL, 0);
        Error e = {0};
        int asked = 0;
        const OpenOptions open = {.value = says_false,
                                  .value_user = &asked,
                                  .runs_conditions = runs,
                                  .bytes = file.data,
                                  .nbytes = file.size};
        Model *m = model_open_with(w, "a file", &open, &e);
        assert_non_null(m);
        const Node made = node_get(w, value_node(w, model_graph(m)->out[0]));
        assert_string_equal(made.op->name, runs ? "sigmoid" : "relu");
        assert_int_equal(asked, runs);
        model_close(m);
        world_free(w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_short_decimals),
        cmocka_unit_test(reads_small_model),
        cmocka_unit_test(refuses_truncated_files),
        cmocka_unit_test(survives_damaged_files),
        cmocka_unit_test(refuses_wrong_structure),
        cmocka_unit_test(refuses_wrong_sizes),
        cmocka_unit_test(single_numbers_are_of_their_kind),
        cmocka_unit_test(packed_numbers_are_whole),
        cmocka_unit_test(unknown_operators_are_opaque),
        cmocka_unit_test(missing_files_are_the_environment),
        cmocka_unit_test(lengths_are_not_believed),
        cmocka_unit_test(items_are_read),
        cmocka_unit_test(every_spelling_is_known),
        cmocka_unit_test(conditions_are_run_if_wanted),
    };
    return run_with_file(tests, sizeof tests / sizeof *tests);
}
