/* simd_avx512.c -- the inner loops of simd.h, compiled for AVX-512 (F, BW, DQ, VL) with flags from
   the Makefile. */
#define SIMD_TABLE simd_avx512
#define SIMD_NAME "avx512"
#define WIDTH 16
#define FUSED
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#include "ops/cpu/simd_x86_64.h"
#include "ops/cpu/simd_body.h"
