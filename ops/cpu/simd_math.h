/* simd_math.h -- elementary functions without branches, so that loops over them become vector code,
   and conversions of 16-bit floats.

   exp, tanh, sigmoid and erf of floats are our own (about 1 ulp, 2 for tanh and sigmoid, 4 for
   erf). The others come from the C library; where mvec_x86_64.h or mvec_arm64.h declares vector
   forms (libmvec, at most 4 ulp), the compiler calls those. The including file defines FMA, and
   FUSED if FMA rounds only once. */
#include "ops/cpu/bounds.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float bits_float(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}
static inline uint32_t float_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

/* Splits x = n*ln 2 + r with |r| <= ln(2)/2 and returns r and p with e^r = 1 + r + p * r^2. Adding
   1.5*2^23 rounds to an integer, which is then in the low bits. The polynomial p is fitted for the
   least relative error of e^r, 3e-9. */
typedef struct Exponent {
    float r, p;
    int32_t n;
} Exponent;
static inline Exponent exp_split(float x) {
    const float t = FMA(x, 1.44269504f, 12582912.0f), k = t - 12582912.0f;
    float r = FMA(k, -0.693145752f, x), p = 0.00138145045f;
    r = FMA(k, -1.42860677e-6f, r);
    p = FMA(p, r, 0.00836876221f), p = FMA(p, r, 0.0416683927f), p = FMA(p, r, 0.166665196f),
    p = FMA(p, r, 0.49999994f);
    return (Exponent){r, p, (int32_t)(float_bits(t) - 0x4B400000u)};
}
/* e^r - 1 */
static inline float exp_less_1(Exponent e) { return FMA(e.p * e.r, e.r, e.r); }
/* e^r: Horner's scheme is the more precise way only if FMA rounds once. */
#ifdef FUSED
static inline float exp_rest(Exponent e) { return FMA(FMA(e.p, e.r, 1.0f), e.r, 1.0f); }
#else
static inline float exp_rest(Exponent e) { return exp_less_1(e) + 1.0f; }
#endif
static inline float power_of_2(int32_t n) { return bits_float((uint32_t)(n + 127) << 23); }

static inline float exp_float(float x) {
    const float low = x < exp_bounds[0] ? exp_bounds[0] : x,
                c = low > exp_bounds[1] ? exp_bounds[1] : low;
    const Exponent e = exp_split(c);
    const int32_t half = e.n >> 1;
    return exp_rest(e) * power_of_2(half) * power_of_2(e.n - half);
}
/* exp for x <= 89; results below the least normal number are 0. */
static inline float exp_small(float x) {
    const Exponent e = exp_split(x < flushed_bounds[0] ? flushed_bounds[0] : x);
    return exp_rest(e) * power_of_2(e.n); /* n = -127 gives 0, 128 infinity */
}
static inline float exp_flushed(float x) {
    return exp_small(x > flushed_bounds[1] ? flushed_bounds[1] : x);
}
static inline float sigmoid_float(float x) { return 1.0f / (1.0f + exp_flushed(-x)); }

/* erf x is computed as x * P(x^2) / Q(x^2), fitted for the least relative error, 2e-8, up to where
   erf rounds to 1. Where FMA rounds twice, floats are too inexact for this, and doubles are
   used. */
#ifdef FUSED
typedef float Erf;
#else
typedef double Erf;
#endif
static inline float erf_float(float x) {
    const Erf t = (Erf)x * x;
    Erf p = 2.0500823e-6f, q = 3.80917346e-5f;
    p = FMA(p, t, 2.84884086e-4f), q = FMA(q, t, 1.16254783e-3f);
    p = FMA(p, t, 3.76566587e-3f), q = FMA(q, t, 1.4969315e-2f);
    p = FMA(p, t, 5.27488766e-2f), q = FMA(q, t, 0.114109573f);
    p = FMA(p, t, 0.190407566f), q = FMA(q, t, 0.502077053f);
    p = FMA(p, t, 1.12837915f), q = FMA(q, t, 1.0f);
    const float y = (float)(x * p / q), low = x < -3.92f ? -1.0f : y;
    return x > 3.92f ? 1.0f : low;
}

/* tanh x = (e^2x - 1) / (e^2x + 1), with e^y - 1 = 2^n (e^r - 1) + (2^n - 1), which loses no
   precision near 0. */
static inline float tanh_float(float x) {
    const float y = fabsf(x) * 2.0f, c = y > 40.0f ? 40.0f : y;
    const Exponent x2 = exp_split(c);
    const float s = power_of_2(x2.n), e = FMA(exp_less_1(x2), s, s - 1.0f);
    return bits_float(float_bits(e / (e + 2.0f)) | (float_bits(x) & 0x80000000u));
}

/* Converts an IEEE half. A subtraction of floats moves the exponent, so that subnormal halves
   become normal floats. */
static inline float half_float(uint16_t h) {
    const uint32_t magic = 0x38800000u, m = (uint32_t)(h & 0x7fff) << 13;
    const float small = bits_float(m + magic) - bits_float(magic);
    const uint32_t big = m + (m >= 0x0f800000u ? 0x70000000u : 0x38000000u);
    const uint32_t u = m < 0x00800000u ? float_bits(small) : big;
    return bits_float(u | (uint32_t)(h & 0x8000) << 16);
}
static inline uint16_t float_half(float f) {
    const uint32_t u = float_bits(f), sign = u >> 16 & 0x8000u, a = u & 0x7fffffffu;
    const uint32_t normal = (a + 0xfffu + (a >> 13 & 1u) - 0x38000000u) >> 13;
    /* below 2^-14: the sum rounds at 2^-24 */
    const uint32_t small = float_bits(bits_float(a) + 0.5f) - 0x3f000000u;
    const uint32_t special = a > 0x7f800000u ? 0x7e00u : 0x7c00u;
    return (uint16_t)(sign | (a >= 0x477ff000u ? special : a < 0x38800000u ? small : normal));
}
static inline float bfloat_float(uint16_t h) { return bits_float((uint32_t)h << 16); }
static inline uint16_t float_bfloat(float f) {
    const uint32_t u = float_bits(f), rounded = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? (u >> 16 | 0x40u) : rounded);
}
