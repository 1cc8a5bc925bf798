/* search_end_to_end.c -- tests running two files from beginning to end: equal ones agree, others
   differ in their elements, an output of another size is named as such, and so is the file that
   does not run. */
#include "ops/base/file.h"
#include "search/check/end_to_end.h"
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

static EndToEnd compare_ops(const char *original, const char *op, int64_t rows, Difference *d,
                            Error *e) {
    const char *other = arena_format(arena, "%s.other", path);
    char why[200];
    const Backend *cpu = backend_open("cpu", e);
    const EndToEndOptions o = {
        .path = {path, other},
        .base_path = path,
        .check = {
            .backend = cpu, .device = cpu->open("", why, sizeof why), .samples = 1, .seed = 1}};
    write_model_of(path, original, 2);
    write_model_of(other, op, rows);
    const EndToEnd verdict = end_to_end_compare(&o, d, e);
    cpu->close(o.check.device);
    unlink(other);
    return verdict;
}

/* Compares a Relu of 2 rows with this operator of this number of rows. */
static EndToEnd compare(const char *op, int64_t rows, Difference *d, Error *e) {
    return compare_ops("Relu", op, rows, d, e);
}

static void equal_files_agree_and_others_differ(void **state) {
    (void)state;
    Difference d;
    Error e = {0};
    assert_int_equal(compare("Relu", 2, &d, &e), END_TO_END_COMPARED);
    assert_true(d.first < 0 && d.count == 6 && d.max_abs == 0);
    assert_int_equal(compare("Exp", 2, &d, &e), END_TO_END_COMPARED);
    assert_true(d.first == 0 && d.output == 0 && d.max_abs > 0.5);
}

static void another_size_is_an_error(void **state) {
    (void)state;
    Difference d;
    Error e = {0};
    assert_int_equal(compare("Relu", 4, &d, &e), END_TO_END_DIFFERENT);
    assert_int_equal(e.kind, E_CHECK);
    assert_string_equal(e.place, "y");
    assert_non_null(strstr(e.reason, "another type or size"));
}

static void a_file_that_does_not_run_is_named_with_the_reason(void **state) {
    (void)state;
    Difference d;
    Error e = {0};
    assert_int_equal(compare("NoSuchOperator", 2, &d, &e), END_TO_END_RESULT_FAILS);
    assert_non_null(strstr(e.reason, "neither a definition nor a kernel"));
    e = (Error){0};
    assert_int_equal(compare_ops("NoSuchOperator", "Relu", 2, &d, &e), END_TO_END_ORIGINAL_FAILS);
    assert_non_null(strstr(e.reason, "neither a definition nor a kernel"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_files_agree_and_others_differ),
        cmocka_unit_test(another_size_is_an_error),
        cmocka_unit_test(a_file_that_does_not_run_is_named_with_the_reason),
    };
    return run_with_file(tests, sizeof tests / sizeof *tests);
}
