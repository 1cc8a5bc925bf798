/* graphs_machine.c -- tests the machine's roofline: which level of memory limits a step, and that
   rates are measured once and kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "graphs/plan/machine.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void the_least_time_is_the_larger_of_both(void **state) {
    (void)state;
    const Machine m = {.flops = 100, .n = 2, .level = {{10, 1000}, {INFINITY, 50}}};
    assert_true(machine_least(&m, 200, 1) == 2);
    assert_true(machine_least(&m, 0, 10) == 0.01); /* fits in the cache */
    assert_true(machine_least(&m, 0, 11) == 0.22);
    assert_true(machine_least(&m, 50, 100) == 2);
}

static void describe(const char *folder, int index, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/index%d", folder, index);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/index%d/%s", folder, index, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}
static void remove_described(const char *folder, int n) {
    static const char *const name[] = {"level", "type", "size", ""};
    char path[256];
    for (int k = 0; k < n; k++)
        for (int j = 0; j < 4; j++) {
            snprintf(path, sizeof path, "%s/index%d/%s", folder, k, name[j]);
            remove(path);
        }
    assert_int_equal(remove(folder), 0);
}
/* The instruction cache, which is listed first here, does not count; the size of the last level has
   no unit. */
static void sizes_of_caches_are_read(void **state) {
    (void)state;
    static const char *const text[][3] = {{"1\n", "Instruction\n", "64K\n"},
                                          {"1\n", "Data\n", "48K\n"},
                                          {"2\n", "Unified\n", "2M\n"},
                                          {"3\n", "Unified\n", "1000\n"}};
    char folder[] = "/tmp/isomer-caches-XXXXXX";
    assert_non_null(mkdtemp(folder));
    for (int k = 0; k < 4; k++) {
        describe(folder, k, "level", text[k][0]);
        describe(folder, k, "type", text[k][1]);
        describe(folder, k, "size", text[k][2]);
    }
    assert_true(machine_cache(folder, 1) == 48 * 1024);
    assert_true(machine_cache(folder, 2) == 2 * 1024 * 1024);
    assert_true(machine_cache(folder, 3) == 1000);
    assert_true(machine_cache(folder, 4) == 0);
    describe(folder, 2, "size", "unknown\n");
    assert_true(machine_cache(folder, 2) == 0);
    remove_described(folder, 4);
    assert_true(machine_cache(folder, 1) == 0);
}

static void rates_are_measured_once(void **state) {
    (void)state;
    Escape escape = {.error = {.kind = E_NONE}};
    OpenDevice open;
    Machine first, second, fresh;
    Error e = {0};
    assert_true(device_open(&open, &escape, "cpu", "", &e));
    CostDb *db = costdb_open(&escape, NULL, &e);
    assert_non_null(db);
    assert_true(machine_find(open.backend, open.device, db, &first, &e));
    assert_true(machine_find(open.backend, open.device, db, &second, &e));
    /* Exactly: the first run shows what it has kept. */
    assert_true(second.flops == first.flops);
    for (int k = 0; k < first.n; k++) {
        assert_true(first.level[k].bandwidth > 0);
        assert_true(second.level[k].bandwidth == first.level[k].bandwidth);
        assert_true(!k || first.level[k].bandwidth <= first.level[k - 1].bandwidth);
        assert_true(!k || first.level[k].size >= first.level[k - 1].size);
    }
    assert_true(machine_find(open.backend, open.device, NULL, &fresh, &e) && fresh.flops > 0);
    costdb_close(db);
    device_close(&open);
}

static const Backend *cpu;
static Kernel *no_small_sums(Device *d, const Step *s, int choice, const void *const weights[],
                             size_t *workspace, CompileFailure *failure, char *why, size_t n) {
    if (s->kind == S_EWISE && s->view[0].dim[0] < 10000)
        return *failure = COMPILE_REFUSED, snprintf(why, n, "no small sums"), NULL;
    return cpu->compile(d, s, choice, weights, workspace, failure, why, n);
}
/* The rate of the first level of cache must be measured, not copied from the next one. */
static void a_level_that_cannot_be_measured_is_an_error(void **state) {
    (void)state;
    Escape escape = {.error = {.kind = E_NONE}};
    OpenDevice open;
    Machine m;
    Error e = {0};
    double rate;
    char identity[256], device[300];
    assert_true(device_open(&open, &escape, "cpu", "", &e));
    CostDb *db = costdb_open(&escape, NULL, &e);
    assert_non_null(db);
    cpu = open.backend;
    Backend partial = *cpu;
    partial.compile = no_small_sums;
    assert_false(machine_find(&partial, open.device, db, &m, &e));
    assert_int_equal(e.kind, E_ENVIRONMENT);
    assert_int_equal(cpu->identity(open.device, identity, sizeof identity), 0);
    snprintf(device, sizeof device, "%s threads 1", identity);
    assert_false(costdb_get(db, "machine", device, "level 1", &rate));
    costdb_close(db);
    device_close(&open);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_time_is_the_larger_of_both),
        cmocka_unit_test(sizes_of_caches_are_read),
        cmocka_unit_test(rates_are_measured_once),
        cmocka_unit_test(a_level_that_cannot_be_measured_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
