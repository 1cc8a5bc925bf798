/* processor_any.c -- implements processor.h for unknown processors: inner loops in standard C, and
   no flushing of denormals. */
#include "ops/cpu/processor.h"
#include <stdio.h>
#include <sys/utsname.h>

int processor_loops(const Simd *table[SIMD_TABLES]) {
    table[0] = &simd_base;
    return 1;
}

bool processor_adds_four(void) { return false; }
bool processor_has_tiles(void) { return false; }
void processor_multiply_tiles(int32_t *sum, const int8_t *a, int64_t row, int64_t rows,
                              const uint32_t *word, int64_t words) {
    (void)sum, (void)a, (void)row, (void)rows, (void)word, (void)words;
}
double processor_answers_in(void) { return 0; }

const char *processor_blas_core(bool oldest) {
    (void)oldest;
    return NULL;
}

void processor_name(char *text, size_t n) {
    struct utsname u;
    snprintf(text, n, "%s (unknown)", uname(&u) ? "processor" : u.machine);
}

const bool processor_flushes = false;
FloatMode processor_mode(void) { return 0; }
void processor_set_mode(FloatMode mode) { (void)mode; }
FloatMode processor_flushing(FloatMode mode) { return mode; }
void processor_pause(void) {}
