/* processor_arm64.c -- implements processor.h for 64-bit ARM. Every such processor has NEON. */
#include "ops/cpu/processor.h"
#include <stdio.h>
#include <sys/auxv.h>

int processor_loops(const Simd *table[SIMD_TABLES]) {
    table[0] = &simd_base;
    table[1] = &simd_neon;
    return 2;
}

bool processor_adds_four(void) { return false; }
bool processor_has_tiles(void) { return false; }
void processor_multiply_tiles(int32_t *sum, const int8_t *a, int64_t row, int64_t rows,
                              const uint32_t *word, int64_t words) {
    (void)sum, (void)a, (void)row, (void)rows, (void)word, (void)words;
}
double processor_answers_in(void) { return 0; }

const char *processor_blas_core(bool oldest) { return oldest ? "ARMV8" : NULL; }

/* The name is taken from the main ID register. The kernel of the operating system emulates this
   read for programs if HWCAP_CPUID is set. */
void processor_name(char *text, size_t n) {
    const unsigned long cpuid = 1ul << 11; /* HWCAP_CPUID */
    uint64_t id = 0;
    if (getauxval(AT_HWCAP) & cpuid) __asm__("mrs %0, midr_el1" : "=r"(id));
    snprintf(text, n, "arm64 implementer %x part %x (%x)", (unsigned)(id >> 24 & 0xff),
             (unsigned)(id >> 4 & 0xfff), (unsigned)id);
}

enum { FLUSH_TO_ZERO = 1 << 24 }; /* in FPCR: affects operands and results */
const bool processor_flushes = true;
FloatMode processor_mode(void) {
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
void processor_set_mode(FloatMode mode) {
    __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory");
}
FloatMode processor_flushing(FloatMode mode) { return mode | FLUSH_TO_ZERO; }
void processor_pause(void) { __asm__ volatile("yield"); }
