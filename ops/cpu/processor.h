/* processor.h -- what differs between families of processors: names, instruction sets, and how
   denormal numbers are flushed to zero. It is implemented by processor_x86_64.c, processor_arm64.c
   and, for all others, processor_any.c; the Makefile picks one by the compiler's target. */
#ifndef ISOMER_CPU_PROCESSOR_H
#define ISOMER_CPU_PROCESSOR_H
#include "ops/cpu/simd.h"

enum { SIMD_TABLES = 3 };
/* Lists the tables of inner loops that this processor can run, the narrowest (simd_base) first;
   returns how many. */
int processor_loops(const Simd *table[SIMD_TABLES]);

/* Whether the processor has the instruction for which Simd.levels_by_bytes is compiled. */
bool processor_adds_four(void);

/* Whether the processor multiplies tiles of bytes (AMX), and the system lets this process do it. */
bool processor_has_tiles(void);
/* Makes sum[(i * TILE_ROWS_MOST + r) * PANEL + c], i < 3, r < rows <= TILE_ROWS_MOST, c < PANEL,
   the sum over the bytes k < 4 * words of a[r * row + i * 4 * words + k] times the unsigned byte k
   % 4 of word[k / 4 * PANEL + c]. words must be a multiple of TILE_WORDS. Only if
   processor_has_tiles. */
void processor_multiply_tiles(int32_t *sum, const int8_t *a, int64_t row, int64_t rows,
                              const uint32_t *word, int64_t words);

/* The nanoseconds that the processor takes to say what it supports (CPUID on x86-64): a hundred, or
   thousands in a virtual machine, where the hypervisor answers. 0: asking takes no time. */
double processor_answers_in(void);

/* The OpenBLAS core (OPENBLAS_CORETYPE) that fits this processor or, `oldest`, the oldest of its
   family; NULL: OpenBLAS decides. */
const char *processor_blas_core(bool oldest);

/* Writes the processor's name and, in parentheses, its model, at most n - 1 characters. */
void processor_name(char *text, size_t n);

/* The calling thread's floating-point mode. */
typedef uint64_t FloatMode;
extern const bool processor_flushes; /* whether denormal operands and results can be treated as 0 */
FloatMode processor_mode(void);
void processor_set_mode(FloatMode mode);
FloatMode processor_flushing(FloatMode mode); /* the same mode, but flushing */

/* To be called in loops that wait for another thread. */
void processor_pause(void);
#endif
