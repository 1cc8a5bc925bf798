/* simd_avx2.c -- the inner loops of simd.h, compiled for AVX2 and FMA with flags from the
   Makefile. */
#define SIMD_TABLE simd_avx2
#define SIMD_NAME "avx2"
#define WIDTH 8
#define FUSED
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#include "ops/cpu/simd_x86_64.h"
#include "ops/cpu/simd_body.h"
