/* simd_base.c -- the inner loops of simd.h, compiled for any machine with flags from the
   Makefile. */
#define SIMD_TABLE simd_base
#define SIMD_NAME "generic"
#define WIDTH 4
#define FMA(a, b, c) ((a) * (b) + (c))
#include "ops/cpu/simd_body.h"
