/* fuzz_seeds.c -- runs the fuzzing targets on their committed seeds and on test/cases/fuzz, which
   keeps every input that once broke one of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "ops/base/file.h"
#include "ops/base/text.h"
#include "test/fuzz/fuzz.h"
#include "test/shared/sample.h"
#include <dirent.h>

static int run_folder(FuzzTarget *target, const char *kind, const char *name) {
    Arena *a = arena_new(NULL, 0);
    const char *folder = arena_format(a, "%s/%s", kind, name);
    DIR *d = opendir(folder);
    int count = 0, seen = 0;
    for (struct dirent *f; d && (f = readdir(d));) {
        char *bytes;
        size_t n;
        Error e = {0};
        if (f->d_name[0] == '.' || seen++ % sample_step()) continue;
        assert_true(file_read(a, arena_format(a, "%s/%s", folder, f->d_name), &bytes, &n, &e));
        assert_int_equal(target((const uint8_t *)bytes, n), 0);
        count++;
    }
    if (d) closedir(d);
    arena_free(a);
    return count;
}

static void run_all(FuzzTarget *target, const char *name) {
    int seeds = run_folder(target, "test/fuzz/seeds", name),
        cases = run_folder(target, "test/cases/fuzz", name);
    print_message("%s: %d seeds, %d cases\n", name, seeds, cases);
    assert_true(seeds > 0);
}

static void onnx_reader(void **state) { (void)state, run_all(fuzz_onnx, "onnx"); }
static void rule_parser(void **state) { (void)state, run_all(fuzz_rules, "rules"); }
static void graph_parser(void **state) { (void)state, run_all(fuzz_graph, "graph"); }
static void cost_files(void **state) { (void)state, run_all(fuzz_costdb, "costdb"); }
static void taso_reader(void **state) { (void)state, run_all(fuzz_taso, "taso"); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(onnx_reader),  cmocka_unit_test(rule_parser),
        cmocka_unit_test(graph_parser), cmocka_unit_test(cost_files),
        cmocka_unit_test(taso_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
