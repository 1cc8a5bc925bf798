/* simd_tables.h -- what tests of the CPU back end's inner loops share: the tables of functions for
   every instruction set that the machine has, devices with one and with three threads (both without
   oneDNN), the run of a single step, and loops over random cases. To be included once. */
#ifndef ISOMER_TEST_SIMD_TABLES_H
#define ISOMER_TEST_SIMD_TABLES_H
#include "ops/cpu/cpu.h"
#include "ops/cpu/processor.h"
#include "test/shared/sample.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const Simd *table[SIMD_TABLES];
static int tables;
static Device *one, *three;

/* Setup and teardown of a group of tests. */
static int open_tables(void **state) {
    extern const Backend cpu_backend;
    (void)state;
    tables = processor_loops(table);
    one = cpu_backend.open("dnn=none", NULL, 0);
    three = cpu_backend.open("dnn=none,threads=3,grain=1", NULL, 0);
    return !one || !three;
}
static int close_tables(void **state) {
    extern const Backend cpu_backend;
    (void)state;
    cpu_backend.close(one), cpu_backend.close(three);
    return 0;
}

/* Runs a step, none of whose slots is known beforehand, with the first algorithm. */
static inline void run_step(Device *d, const Step *s, void *const slot[]) {
    enum { SLOTS = 16 };
    extern const Backend cpu_backend;
    const void *unknown[SLOTS] = {NULL};
    char why[200] = "";
    size_t room = 0;
    for (int k = 0; k < s->nview; k++) assert_in_range(s->view[k].slot, 0, SLOTS - 1);
    assert_true(cpu_backend.choices(d, s) > 0);
    Kernel *k = cpu_backend.compile(d, s, 0, unknown, &room, NULL, why, sizeof why);
    if (!k) fail_msg("no kernel: %s", why);
    void *work = cpu_backend.alloc(d, room);
    assert_int_equal(cpu_backend.run(k, slot, work), 0);
    cpu_backend.release(d, work);
    cpu_backend.forget(k);
}

/* Fails unless `right` holds for a sample of the cases with the seeds 0 to cases - 1, with every
   table and on both devices. */
static inline void cases_agree(uint64_t cases, bool (*right)(uint64_t seed, Device *)) {
    for (int i = 0; i < tables; i++) {
        one->simd = three->simd = table[i];
        for (uint64_t seed = 0; seed < cases; seed += (uint64_t)sample_step()) {
            if (!right(seed, one)) fail_msg("%s, seed %d", table[i]->name, (int)seed);
            if (!right(seed, three)) fail_msg("%s, seed %d, threads", table[i]->name, (int)seed);
        }
    }
    one->simd = three->simd = table[0];
}

/* Counts the cases, of those with the seeds 0 to cases - 1, that notice the fault if the device
   with one thread uses this table. */
static int cases_noticed(const Simd *wrong, uint64_t cases, bool (*notices)(uint64_t seed)) {
    int n = 0;
    one->simd = wrong;
    for (uint64_t seed = 0; seed < cases; seed++) n += notices(seed);
    one->simd = table[0];
    return n;
}
#endif
