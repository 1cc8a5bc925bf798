/* graphs_costdb.c -- tests the cost file: which times it keeps, under which keys, and which files
   it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "graphs/plan/costdb.h"
#include "ops/base/file.h"
#include "ops/base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Fixture {
    Arena *arena;
    Error error;
    char folder[64];
    char *path;
} Fixture;

static int set_up(void **state) {
    Fixture *f = calloc(1, sizeof *f);
    f->arena = arena_new(NULL, 0);
    strcpy(f->folder, "/tmp/isomer-test-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    f->path = arena_format(f->arena, "%s/costs.sqlite", f->folder);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    Fixture *f = *state;
    char *command = arena_format(f->arena, "rm -rf %s", f->folder);
    assert_int_equal(system(command), 0);
    arena_free(f->arena);
    free(f);
    return 0;
}

static void entries_last_and_the_least_counts(void **state) {
    Fixture *f = *state;
    double s = 0;
    CostDb *d = costdb_open(NULL, f->path, &f->error);
    assert_non_null(d);
    assert_false(costdb_get(d, "step", "cpu", "gemm", &s));
    assert_true(costdb_put(d, "step", "cpu", "gemm", 3e-3, &f->error));
    assert_true(costdb_put(d, "step", "cpu", "gemm", 2e-3, &f->error));
    assert_true(costdb_put(d, "step", "cpu", "gemm", 4e-3, &f->error));
    costdb_close(d);
    d = costdb_open(NULL, f->path, &f->error);
    assert_non_null(d);
    assert_true(costdb_get(d, "step", "cpu", "gemm", &s));
    assert_true(s == 2e-3);
    costdb_close(d);
}

static void kind_device_and_key_tell_entries_apart(void **state) {
    Fixture *f = *state;
    double s;
    CostDb *d = costdb_open(NULL, f->path, &f->error);
    assert_true(costdb_put(d, "step", "cpu", "gemm", 1, &f->error));
    assert_false(costdb_get(d, "plan", "cpu", "gemm", &s));
    assert_false(costdb_get(d, "step", "gpu", "gemm", &s));
    assert_false(costdb_get(d, "step", "cpu", "gemm2", &s));
    costdb_close(d);
}

static void two_processes_share_a_file(void **state) {
    Fixture *f = *state;
    double s;
    CostDb *d = costdb_open(NULL, f->path, &f->error);
    assert_non_null(d);
    pid_t pid = fork();
    if (pid == 0) {
        Error e = {0};
        CostDb *other = costdb_open(NULL, f->path, &e);
        _exit(other && costdb_put(other, "step", "cpu", "theirs", 5, &e) ? 0 : 1);
    }
    int status = 1;
    assert_true(costdb_put(d, "step", "cpu", "ours", 6, &f->error));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(costdb_get(d, "step", "cpu", "theirs", &s) && s == 5);
    costdb_close(d);
}

static void put_file(const Fixture *f, const char *bytes, size_t n) {
    Error e = {0};
    assert_true(file_write(f->path, bytes, n, &e));
}

static void a_foreign_file_is_refused_and_left_alone(void **state) {
    Fixture *f = *state;
    static const char text[] = "this is a letter and no database, and long enough to be looked at: "
                               "0123456789012345678901234567890123456789";
    put_file(f, text, sizeof text);
    assert_null(costdb_open(NULL, f->path, &f->error));
    assert_int_equal(f->error.kind, E_INVALID);
    assert_string_equal(f->error.place, f->path);
    char *now;
    size_t n;
    Error e = {0};
    assert_true(file_read(f->arena, f->path, &now, &n, &e));
    assert_int_equal(n, sizeof text);
    assert_memory_equal(now, text, n);
}

/* Tests a valid file whose first page is overwritten after SQLite's header, and a file of another
   version. */
static void a_damaged_file_is_refused(void **state) {
    Fixture *f = *state;
    char *bytes;
    size_t n;
    CostDb *d = costdb_open(NULL, f->path, &f->error);
    for (int k = 0; k < 200; k++)
        assert_true(costdb_put(d, "step", "cpu", arena_format(f->arena, "%d", k), k, &f->error));
    costdb_close(d);
    assert_true(file_read(f->arena, f->path, &bytes, &n, &f->error));
    char *bad = arena_copy(f->arena, bytes, n);
    memset(bad + 100, 0xff, 200);
    put_file(f, bad, n);
    assert_null(costdb_open(NULL, f->path, &f->error));
    assert_int_equal(f->error.kind, E_INVALID);
    f->error = (Error){0};
    bad = arena_copy(f->arena, bytes, n);
    bad[63] = 9; /* user_version, big-endian at 60 */
    put_file(f, bad, n);
    assert_null(costdb_open(NULL, f->path, &f->error));
    assert_int_equal(f->error.kind, E_INVALID);
    assert_non_null(strstr(f->error.reason, "version"));
}

static void a_place_that_cannot_be_written_is_the_environments_fault(void **state) {
    Fixture *f = *state;
    put_file(f, "", 0);
    assert_null(costdb_open(NULL, arena_format(f->arena, "%s/below/a-file", f->path), &f->error));
    assert_int_equal(f->error.kind, E_ENVIRONMENT);
}

/* A typing error in the path that a user gives must not create folders. */
static void a_folder_that_is_missing_is_not_made(void **state) {
    Fixture *f = *state;
    const char *missing = arena_format(f->arena, "%s/missing", f->folder);
    assert_null(costdb_open(NULL, arena_format(f->arena, "%s/costs", missing), &f->error));
    assert_int_equal(f->error.kind, E_ENVIRONMENT);
    assert_non_null(strstr(f->error.reason, "No such file or directory"));
    assert_int_not_equal(access(missing, F_OK), 0);
    f->error = (Error){0};
    assert_null(costdb_open(NULL, f->folder, &f->error));
    assert_non_null(strstr(f->error.reason, "it is a folder"));
}

static void the_default_path_follows_the_environment(void **state) {
    Fixture *f = *state;
    char *path, *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    cache = cache ? strdup(cache) : NULL;
    home = home ? strdup(home) : NULL;
    setenv("XDG_CACHE_HOME", arena_format(f->arena, "%s/c", f->folder), 1);
    assert_true(costdb_default_path(f->arena, &path, &f->error));
    assert_string_equal(path, arena_format(f->arena, "%s/c/isomer/costs.sqlite", f->folder));
    CostDb *d = costdb_open(NULL, path, &f->error); /* its folders are created */
    assert_non_null(d);
    costdb_close(d);
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", arena_format(f->arena, "%s/h", f->folder), 1);
    assert_true(costdb_default_path(f->arena, &path, &f->error));
    assert_string_equal(path, arena_format(f->arena, "%s/h/.cache/isomer/costs.sqlite", f->folder));
    unsetenv("HOME");
    assert_false(costdb_default_path(f->arena, &path, &f->error));
    assert_int_equal(f->error.kind, E_ENVIRONMENT);
    cache ? setenv("XDG_CACHE_HOME", cache, 1) : unsetenv("XDG_CACHE_HOME");
    home ? setenv("HOME", home, 1) : unsetenv("HOME");
    free(cache);
    free(home);
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(entries_last_and_the_least_counts),
        CASE(kind_device_and_key_tell_entries_apart),
        CASE(two_processes_share_a_file),
        CASE(a_foreign_file_is_refused_and_left_alone),
        CASE(a_damaged_file_is_refused),
        CASE(a_place_that_cannot_be_written_is_the_environments_fault),
        CASE(a_folder_that_is_missing_is_not_made),
        CASE(the_default_path_follows_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
