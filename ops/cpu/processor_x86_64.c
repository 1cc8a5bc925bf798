/* processor_x86_64.c -- implements processor.h for x86-64. */
#include "ops/cpu/processor.h"
#include <cpuid.h>
#include <immintrin.h>
#include <stdio.h>
#include <time.h>

int processor_loops(const Simd *table[SIMD_TABLES]) {
    int n = 0;
    table[n++] = &simd_base;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return n;
    table[n++] = &simd_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        table[n++] = &simd_avx512;
    return n;
}

bool processor_adds_four(void) { return __builtin_cpu_supports("avx512vnni") != 0; }

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}
double processor_answers_in(void) {
    double least = 1e9;
    for (int k = 0; k < 3; k++) {
        unsigned a, b, c, d;
        const double start = now();
        __cpuid(0, a, b, c, d);
        const double took = now() - start;
        least = took < least ? took : least;
    }
    return least;
}

/* OpenBLAS takes processors that are newer than itself for the oldest ones. Therefore the core is
   chosen by what the processor supports. */
const char *processor_blas_core(bool oldest) {
    const Simd *table[SIMD_TABLES];
    if (oldest) return "Prescott";
    switch (processor_loops(table)) {
    case 3: return __builtin_cpu_supports("avx512bf16") ? "Cooperlake" : "SkylakeX";
    case 2: return "Haswell";
    default: return NULL;
    }
}

/* The name has no runs of blanks. */
void processor_name(char *text, size_t n) {
    unsigned r[12] = {0}, signature = 0, b, c, d;
    char name[sizeof r + 1] = "", *to = name;
    if ((unsigned)__get_cpuid_max(0x80000000u, NULL) >= 0x80000004u)
        for (unsigned i = 0; i < 3; i++)
            __get_cpuid(0x80000002u + i, &r[4 * i], &r[4 * i + 1], &r[4 * i + 2], &r[4 * i + 3]);
    const char *from = (const char *)r;
    for (size_t i = 0; i < sizeof r && from[i] != 0; i++)
        if (from[i] != ' ' || (to > name && to[-1] != ' ')) *to++ = from[i];
    while (to > name && to[-1] == ' ') to--;
    *to = 0;
    __get_cpuid(1, &signature, &b, &c, &d);
    snprintf(text, n, "%s (%x)", name, signature);
}

enum { DENORMAL_RESULTS = 0x8000, DENORMAL_OPERANDS = 0x40 };
const bool processor_flushes = true;
FloatMode processor_mode(void) { return _mm_getcsr(); }
void processor_set_mode(FloatMode mode) { _mm_setcsr((unsigned)mode); }
FloatMode processor_flushing(FloatMode mode) { return mode | DENORMAL_RESULTS | DENORMAL_OPERANDS; }
void processor_pause(void) { _mm_pause(); }
