/* search_end_to_end.c -- tests running two files from beginning to end: equal ones agree, others
   differ in their elements, and an output of another size is named as such. */
#include "search/end_to_end.h"
#include "ops/backend/backend.h"
#include "test/shared/onnx_build.h"
#include <stdio.h>

/* Writes a model with y = op(x), x having this many rows of 3 elements, to `to`. */
static void write_model_of(const char *to, const char *op, int64_t rows) {
    Text graph = text_new(arena);
    Error e = {0};
    text_field(&graph, 2, "g");
    add_node(&graph, op, "x", NULL, "y");
    add_info(&graph, 11, "x", rows, 3);
    add_info(&graph, 12, "y", rows, 3);
    const Text model = whole(&graph);
    assert_true(file_write(to, model.data, model.size, &e));
}

static bool compare(const char *op, int64_t rows, Difference *d, Error *e) {
    const char *other = arena_format(arena, "%s.other", path);
    char why[200];
    const Backend *cpu = backend_open("cpu", e);
    const EndToEndOptions o = {
        .path = {path, other},
        .base_path = path,
        .check = {
            .backend = cpu, .device = cpu->open("", why, sizeof why), .samples = 1, .seed = 1}};
    write_model_of(path, "Relu", 2);
    write_model_of(other, op, rows);
    const bool ran = end_to_end_compare(&o, d, e);
    cpu->close(o.check.device);
    unlink(other);
    return ran;
}

static void equal_files_agree_and_others_differ(void **state) {
    (void)state;
    Difference d;
    Error e = {0};
    assert_true(compare("Relu", 2, &d, &e));
    assert_true(d.first < 0 && d.count == 6 && d.max_abs == 0);
    assert_true(compare("Exp", 2, &d, &e));
    assert_true(d.first == 0 && d.output == 0 && d.max_abs > 0.5);
}

static void another_size_is_an_error(void **state) {
    (void)state;
    Difference d;
    Error e = {0};
    assert_false(compare("Relu", 4, &d, &e));
    assert_int_equal(e.kind, E_CHECK);
    assert_string_equal(e.place, "y");
    assert_non_null(strstr(e.reason, "another type or size"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_files_agree_and_others_differ),
        cmocka_unit_test(another_size_is_an_error),
    };
    return run_with_file(tests, sizeof tests / sizeof *tests);
}
