/* simd_neon.c -- the inner loops of simd.h, compiled for NEON with fused products and flags from
   the Makefile. */
#define SIMD_TABLE simd_neon
#define SIMD_NAME "neon"
#define WIDTH 4
#define FUSED
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#include "ops/cpu/simd_body.h"
