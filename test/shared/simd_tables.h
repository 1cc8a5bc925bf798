/* simd_tables.h -- what tests of the CPU back end's inner loops share: the tables of every
   instruction set that the machine has, devices on one and on three threads without oneDNN, and
   how many drawn cases notice a table with a fault in it. Include it once. */
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

/* The setup and teardown of a group of tests. */
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

/* Of the cases drawn from the seeds below `cases`: on one thread with this table. */
static int cases_noticed(const Simd *wrong, uint64_t cases, bool (*notices)(uint64_t seed)) {
    int n = 0;
    one->simd = wrong;
    for (uint64_t seed = 0; seed < cases; seed++) n += notices(seed);
    one->simd = table[0];
    return n;
}
#endif
