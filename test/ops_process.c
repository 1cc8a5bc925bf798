/* ops_process.c -- tests what a process knows of its resources and of its own file. */
#include "ops/base/process.h"
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* Valid for any machine: one processor is one core, and there are no more cores than processors. */
static void cores_are_those_that_may_be_used(void **state) {
    (void)state;
    cpu_set_t all, one;
    int cpu = 0;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    const int cores = process_cores();
    assert_true(cores >= 1 && cores <= CPU_COUNT(&all));
    while (!CPU_ISSET((unsigned)cpu, &all)) cpu++;
    CPU_ZERO(&one);
    CPU_SET((unsigned)cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(process_cores(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(process_cores(), cores);
}

/* ---- control groups */

enum { MB = 1 << 20 };

static void put(const char *root, const char *file, const char *text) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s", root, file);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static size_t left(const char *root, const char *group) {
    return process_group_left(root, group) / MB;
}

/* The group of the process, those that contain it, and the root, which has no limit. */
static void every_containing_group_limits_memory(void **state) {
    (void)state;
    char root[] = "/tmp/isomer-groups-XXXXXX", path[PATH_MAX];
    static const char *const files[] = {"/a/b/memory.max",
                                        "/a/b/memory.current",
                                        "/a/b/memory.stat",
                                        "/a/memory.max",
                                        "/a/memory.current",
                                        "/a/b",
                                        "/a",
                                        "/memory.max"};
    assert_non_null(mkdtemp(root));
    assert_true(process_group_left(root, "/a/b") == SIZE_MAX);
    for (int k = 6; k >= 5; k--) {
        snprintf(path, sizeof path, "%s%s", root, files[k]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    put(root, "/a/b/memory.max", "max\n");
    put(root, "/a/b/memory.current", "104857600\n");
    assert_true(process_group_left(root, "/a/b") == SIZE_MAX);
    put(root, "/a/memory.max", "209715200\n");
    put(root, "/a/memory.current", "125829120\n");
    assert_int_equal(left(root, "/a/b"), 80);
    put(root, "/a/b/memory.max", "157286400\n");
    assert_int_equal(left(root, "/a/b"), 50);
    put(root, "/a/b/memory.stat", "anon 5\ninactive_file 20971520\nactive_file 7\n");
    assert_int_equal(left(root, "/a/b"), 70);
    assert_int_equal(left(root, "/a"), 80);
    assert_true(process_group_left(root, "") == SIZE_MAX);
    put(root, "/a/b/memory.max", "1000\n");
    assert_int_equal(process_group_left(root, "/a/b"), 1);
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        snprintf(path, sizeof path, "%s%s", root, files[k]);
        remove(path);
    }
    assert_int_equal(rmdir(root), 0);
}

static void a_process_knows_its_file_wherever_it_is(void **state) {
    (void)state;
    char before[PATH_MAX], after[PATH_MAX], short_of[4];
    assert_true(process_file(before, sizeof before));
    assert_int_equal(before[0], '/');
    assert_string_equal(strrchr(before, '/'), "/ops_process");
    assert_int_equal(chdir("/"), 0);
    assert_true(process_file(after, sizeof after));
    assert_string_equal(after, before);
    assert_false(process_file(short_of, sizeof short_of));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_are_those_that_may_be_used),
        cmocka_unit_test(every_containing_group_limits_memory),
        cmocka_unit_test(a_process_knows_its_file_wherever_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
