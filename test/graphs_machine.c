/* The machine's roofline: which level of memory counts, and that rates are measured and kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "graphs/plan/machine.h"
#include <math.h>

static void the_least_time_is_the_larger_of_both(void **state) {
    (void)state;
    const Machine m = {.flops = 100, .n = 2, .level = {{10, 1000}, {INFINITY, 50}}};
    assert_true(machine_least(&m, 200, 1) == 2);
    assert_true(machine_least(&m, 0, 10) == 0.01); /* fits */
    assert_true(machine_least(&m, 0, 11) == 0.22);
    assert_true(machine_least(&m, 50, 100) == 2);
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
    assert_true(fabs(second.flops / first.flops - 1) < 1e-9);
    for (int k = 0; k < first.n; k++) {
        assert_true(first.level[k].bandwidth > 0);
        assert_true(fabs(second.level[k].bandwidth / first.level[k].bandwidth - 1) < 1e-9);
        assert_true(!k || first.level[k].bandwidth <= first.level[k - 1].bandwidth);
        assert_true(!k || first.level[k].size >= first.level[k - 1].size);
    }
    assert_true(machine_find(open.backend, open.device, NULL, &fresh, &e) && fresh.flops > 0);
    costdb_close(db);
    device_close(&open);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_time_is_the_larger_of_both),
        cmocka_unit_test(rates_are_measured_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
