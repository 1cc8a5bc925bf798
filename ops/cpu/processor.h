/* processor.h -- what differs between families of processors: their names, their instruction sets,
   how denormal numbers are flushed. processor_x86_64.c, processor_arm64.c and, for all others,
   processor_any.c implement it; the Makefile picks one by the compiler's target. */
#ifndef ISOMER_CPU_PROCESSOR_H
#define ISOMER_CPU_PROCESSOR_H
#include "ops/cpu/simd.h"

enum { SIMD_TABLES = 3 };
/* The tables of inner loops that this processor can run, the narrowest (simd_base) first; returns
   how many. */
int processor_loops(const Simd *table[SIMD_TABLES]);

/* Whether it has the instruction that Simd.levels_by_bytes is compiled for. */
bool processor_adds_four(void);

/* The name of OpenBLAS's kernels (OPENBLAS_CORETYPE) that fit this processor, or its family's
   oldest; NULL: OpenBLAS decides. */
const char *processor_blas_core(bool oldest);

/* What the processor says of itself: its name and, in parentheses, its model. At most n - 1
   characters. */
void processor_name(char *text, size_t n);

/* The calling thread's floating-point mode. */
typedef uint64_t FloatMode;
extern const bool processor_flushes; /* denormal operands and results count as 0, if asked */
FloatMode processor_mode(void);
void processor_set_mode(FloatMode mode);
FloatMode processor_flushing(FloatMode mode); /* the same, but flushing */

/* For loops that wait for another thread. */
void processor_pause(void);
#endif
