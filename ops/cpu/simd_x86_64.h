/* simd_x86_64.h -- what simd_sweep.h has no plain C for that compilers turn into one instruction:
   the greater and the smaller of two floats, the second operand where one is NaN. Also fused
   products: compilers fuse x * w + y where they like (GCC 14 not in all copies of a loop), and a
   sum may not depend on which copy computes it. WIDTH is defined by the file that includes this. */
#include <immintrin.h>

#if WIDTH == 16
#define MAXIMUM(a, b) ((Floats)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define MINIMUM(a, b) ((Floats)_mm512_min_ps((__m512)(a), (__m512)(b)))
#define FUSE(x, w, y) ((Floats)_mm512_fmadd_ps((__m512)(x), (__m512)(w), (__m512)(y)))
#else
#define MAXIMUM(a, b) ((Floats)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define MINIMUM(a, b) ((Floats)_mm256_min_ps((__m256)(a), (__m256)(b)))
#define FUSE(x, w, y) ((Floats)_mm256_fmadd_ps((__m256)(x), (__m256)(w), (__m256)(y)))
#endif
