/* simd_tables.h -- what tests of the CPU back end's inner loops share: the tables of functions for
   every instruction set that the machine has, devices with one and with three threads (both without
   oneDNN), and a count of the random cases that notice a fault in a table. To be included once. */
#ifndef ISOMER_TEST_SIMD_TABLES_H
#define ISOMER_TEST_SIMD_TABLES_H
#include "ops/cpu/cpu.h"
#include "ops/cpu/processor.h"
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
