/* run_x86_64.c -- runs unrolled programs with AVX-512 or AVX2 where the processor has them. */
#include "generator/run_body.h"
#include <stdlib.h>

VARIANT(avx2, __attribute__((target("avx2"))))
VARIANT(avx512, __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))))
static const ProgramRunner runners[][2] = {RUNNERS(any), RUNNERS(avx2), RUNNERS(avx512)};

static int level(void) {
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        return 2;
    return __builtin_cpu_supports("avx2") ? 1 : 0;
}

ProgramRunner program_runner(bool exponents) {
    const char *wish = getenv("ISOMER_CPU");
    return runners[wish && !strcmp(wish, "generic") ? 0 : level()][exponents];
}
