/* simd_x86_64.h -- operations for which compilers make no single instruction from plain C: the
   maximum and the minimum of two floats (the second operand if one is NaN), loads and stores of
   half floats, and of the first n floats of a vector; loads of half a vector of floats as doubles;
   the bytes of two vectors of 32 in turn, from the low or the high halves of their 16-byte lanes.
   Also fused products: compilers fuse x * w + y where they like (GCC 14 not in all copies of a
   loop), and a sum must not depend on which copy computes it. The including file defines WIDTH. */
#include <immintrin.h>

#define INTERLEAVE_LOW(a, b) ((Wide)_mm256_unpacklo_epi8((__m256i)(a), (__m256i)(b)))
#define INTERLEAVE_HIGH(a, b) ((Wide)_mm256_unpackhi_epi8((__m256i)(a), (__m256i)(b)))

#if WIDTH == 16
#define MAXIMUM(a, b) ((Floats)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define MINIMUM(a, b) ((Floats)_mm512_min_ps((__m512)(a), (__m512)(b)))
#define FUSE(x, w, y) ((Floats)_mm512_fmadd_ps((__m512)(x), (__m512)(w), (__m512)(y)))
#define DOUBLES(x) ((Doubles)_mm512_cvtps_pd(_mm256_loadu_ps(x)))
#define FIRST(n) ((__mmask16)((1u << (n)) - 1))
#define LOAD_FIRST(x, n) ((Floats)_mm512_maskz_loadu_ps(FIRST(n), x))
#define STORE_FIRST(y, n, v) _mm512_mask_storeu_ps(y, FIRST(n), (__m512)(v))
/* VNNI: adds to each sum the products of the four unsigned bytes of an element of a and the four
   signed bytes of the word. Only processors that have it (processor_adds_four) may call functions
   compiled for it. */
#define FOR_FOUR_PRODUCTS __attribute__((target("avx512vnni")))
#define FOUR_PRODUCTS(sum, a, word) \
    ((Integers)_mm512_dpbusd_epi32((__m512i)(sum), (__m512i)(a), _mm512_set1_epi32(word)))
/* Keeps x in a register; compilers would read it from memory again for each product. */
#define IN_REGISTER(x) __asm__("" : "+v"(x))
typedef __mmask16 Some;
#define SOME(from, to) ((Some)((1u << (to)) - (1u << (from))))
#define LOAD_SOME(x, some) ((Floats)_mm512_maskz_loadu_ps(some, x))
#define LOAD_HALVES(y, x) \
    _mm512_storeu_ps(y, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(x))))
#define STORE_HALVES(y, x) \
    _mm256_storeu_si256(   \
        (void *)(y),       \
        _mm512_cvtps_ph(_mm512_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))
#else
#define MAXIMUM(a, b) ((Floats)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define MINIMUM(a, b) ((Floats)_mm256_min_ps((__m256)(a), (__m256)(b)))
#define FUSE(x, w, y) ((Floats)_mm256_fmadd_ps((__m256)(x), (__m256)(w), (__m256)(y)))
#define DOUBLES(x) ((Doubles)_mm256_cvtps_pd(_mm_loadu_ps(x)))
#define FIRST(n) \
    _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define LOAD_FIRST(x, n) ((Floats)_mm256_maskload_ps(x, FIRST(n)))
typedef __m256i Some;
#define SOME(from, to) _mm256_andnot_si256(FIRST(from), FIRST(to))
#define LOAD_SOME(x, some) ((Floats)_mm256_maskload_ps(x, some))
#define STORE_FIRST(y, n, v) _mm256_maskstore_ps(y, FIRST(n), (__m256)(v))
#endif
