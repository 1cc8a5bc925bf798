/* search_isomer.c -- tests the C API: an option with an unknown word is refused before anything is
   read or written, and the defaults are those of isomer.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "search/isomer.h"
#include <math.h>
#include <string.h>

static void refused(const IsomerOptions *o, const char *option) {
    IsomerResult result;
    assert_int_equal(isomer_optimize("no such file", NULL, o, &result), 2);
    assert_int_equal(result.code, 2);
    assert_non_null(strstr(result.message, option));
    assert_null(result.table);
    isomer_result_free(&result);
    isomer_result_free(&result);
}

static void unknown_words_are_refused(void **state) {
    (void)state;
    IsomerOptions o;
    isomer_options(&o);
    o.search = "egraphs";
    refused(&o, "--search");
    o.search = NULL, o.cost = "time";
    refused(&o, "--cost: expects measured, flops or nodes, not \"time\"");
    o.cost = NULL, o.check_with = "tvm";
    refused(&o, "--check-with: expects onnxruntime, not \"tvm\"");
    o.check_with = NULL, o.threads = 65;
    refused(&o, "--threads: expects an integer from 1 to 64, not \"65\"");
    o.threads = 1, o.time_limit = -1;
    refused(&o, "--time-limit: expects a number from 0 to 1000000000, not \"-1\"");
    o.time_limit = 0, o.rtol = 5;
    refused(&o, "--rtol: expects a number from 0 to 1, not \"5\"");
    o.rtol = NAN;
    refused(&o, "--rtol: expects a number from 0 to 1, not \"nan\"");
}

static void what_is_missing_is_refused(void **state) {
    (void)state;
    static const char *const missing[] = {"n=1", NULL};
    IsomerOptions o;
    IsomerResult result;
    isomer_options(&o);
    assert_int_equal(isomer_optimize(NULL, "out.onnx", &o, &result), 2);
    assert_string_equal(result.message, "isomer_optimize: the path of the model is NULL (usage)");
    assert_int_equal(isomer_optimize("no such file", "out.onnx", NULL, &result), 2);
    assert_int_equal(isomer_list_rules(NULL, &result), 2);
    o.dim = (IsomerTexts){2, missing};
    refused(&o, "dim: a list of 2 texts that lacks some of them");
    o.dim = (IsomerTexts){1, NULL};
    refused(&o, "dim: a list of 1 texts that lacks some of them");
    o.dim = (IsomerTexts){-1, missing};
    refused(&o, "dim: a list of -1 texts that lacks some of them");
}

static void a_result_without_a_path_is_refused(void **state) {
    (void)state;
    IsomerOptions o;
    isomer_options(&o);
    refused(&o, "OUT.onnx: no path is given");
    o.external = 1;
    refused(&o, "OUT.onnx: no path is given");
}

static void defaults_are_what_the_header_says(void **state) {
    (void)state;
    IsomerOptions o;
    memset(&o, 0x5a, sizeof o);
    isomer_options(&o);
    assert_true(o.size == sizeof o);
    assert_string_equal(o.cost, "measured");
    assert_string_equal(o.backend, "cpu");
    assert_string_equal(o.search, "backtrack");
    assert_string_equal(o.effort, "default");
    assert_true(o.threads == 1 && o.steps == 2000 && o.check == 1 && o.external_threshold == 1024);
    assert_true(o.fold_limit == -1 && o.max_growth == -1 && o.rtol == -1 && o.atol == -1 &&
                o.seed == -1);
    assert_true(!o.rules && !o.input && !o.cancel && !o.frozen && !o.explain.n);
}

static void known_words_are_taken(void **state) {
    (void)state;
    static const char *const search[] = {NULL, "backtrack", "egraph", "both"};
    for (size_t k = 0; k < sizeof search / sizeof *search; k++) {
        IsomerOptions o;
        IsomerResult result;
        isomer_options(&o);
        o.search = search[k], o.dry_run = 1;
        assert_int_not_equal(isomer_optimize("no such file", NULL, &o, &result), 2);
        assert_non_null(strstr(result.message, "no such file"));
        isomer_result_free(&result);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(unknown_words_are_refused),
                                       cmocka_unit_test(what_is_missing_is_refused),
                                       cmocka_unit_test(a_result_without_a_path_is_refused),
                                       cmocka_unit_test(defaults_are_what_the_header_says),
                                       cmocka_unit_test(known_words_are_taken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
