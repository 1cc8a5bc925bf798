/* prelude.h -- the text with which every generated kernel starts. NVRTC compiles it and, in tests,
   the C compiler, for which test/cuda/host.h defines KERNEL, INLINE, SHARED, SYNC, SYNC_WARP and
   SHUFFLE.

   No header is included, so that a machine that runs kernels needs none; 16-bit floats are
   therefore converted by their bits. The suffix of a function is its class: f float, d double, i
   int64, u uint64. */
#ifdef __CUDACC_RTC__
#ifndef BLOCKS
#define BLOCKS /* ", N": at least N thread blocks fit on a multiprocessor */
#endif
#define KERNEL extern "C" __global__ __launch_bounds__(256 BLOCKS)
#define INLINE static __device__ __forceinline__
#define SHARED __shared__
#define ALIGN(n) __align__(n)
#define SYNC() __syncthreads()
#define SYNC_WARP() __syncwarp()
#define SHUFFLE(x, distance) __shfl_xor_sync(0xffffffffu, x, distance)
#define RESTRICT __restrict__
#define UNROLL _Pragma("unroll")
#define NAN __int_as_float(0x7fffffff)
#define INFINITY __int_as_float(0x7f800000)
INLINE float bits_f(unsigned u) { return __uint_as_float(u); }
INLINE unsigned f_bits(float f) { return __float_as_uint(f); }
INLINE double bits_d(long long i) { return __longlong_as_double(i); }
#endif

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;
typedef struct ALIGN(4) pack1 {
    u8 x[4];
} pack1; /* four elements of 1, 2 or 4 bytes */
typedef struct ALIGN(8) pack2 {
    u16 x[4];
} pack2;
typedef struct ALIGN(16) pack4 {
    u32 x[4];
} pack4;

/* ---- Conversions of 16-bit floats, rounded to nearest, ties to even. */
INLINE float h2f(u16 h) {
    const u32 s = (u32)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023;
    if (e == 31) return bits_f(s | 0x7f800000u | m << 13);
    if (e) return bits_f(s | (e + 112) << 23 | m << 13);
    return bits_f(s | f_bits((float)m * 5.9604644775390625e-8f));
}
INLINE u16 f2h(float f) {
    const u32 u = f_bits(f), s = u >> 16 & 0x8000, a = u & 0x7fffffff;
    if (a > 0x7f800000u) return (u16)(s | 0x7e00);
    if (a >= 0x477ff000u) return (u16)(s | 0x7c00);
    if (a < 0x38800000u) return (u16)(s | (f_bits(bits_f(a) + 0.5f) - 0x3f000000u));
    return (u16)(s | (a - 0x38000000u + 0xfff + (a >> 13 & 1)) >> 13);
}
INLINE float b2f(u16 b) { return bits_f((u32)b << 16); }
INLINE u16 f2b(float f) {
    const u32 u = f_bits(f);
    return (u16)(f != f ? (u >> 16 | 0x40) : (u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* ---- Functions for element-wise programs. */
#define REAL(T, S, F)                                                                \
    INLINE T min_##S(T a, T b) { return a != a || b != b ? (T)NAN : a < b ? a : b; } \
    INLINE T max_##S(T a, T b) { return a != a || b != b ? (T)NAN : a > b ? a : b; } \
    INLINE T mod_##S(T a, T b) { return a - floor##F(a / b) * b; }                   \
    INLINE T relu_##S(T a) { return a < 0 ? 0 : a; }                                 \
    INLINE T sigmoid_##S(T a) { return 1 / (1 + exp##F(-a)); }                       \
    INLINE T sign_##S(T a) { return a > 0 ? 1 : a < 0 ? -1 : a; }                    \
    INLINE int isinf_##S(T a) { return a == INFINITY || a == -INFINITY; }
REAL(float, f, f)
REAL(double, d, )
/* tanh without branches, to about 2 ulp (the polynomial is that of Cephes, Moshier 1989). The
   compiler's own tanh makes a kernel that contains it many times spill registers. */
INLINE float tanh_s(float x) {
    const float z = x * x, a = x < 0 ? -x : x, far = 1 - 2 / (expf(2 * a) + 1);
    const float p = ((-5.70498872745e-3f * z + 2.06390887954e-2f) * z - 5.37397155531e-2f) * z;
    const float near = ((p + 1.33314422036e-1f) * z - 3.33332819422e-1f) * z * x + x;
    return a < 0.625f ? near : x < 0 ? -far : far;
}
INLINE i64 min_i(i64 a, i64 b) { return a < b ? a : b; }
INLINE i64 max_i(i64 a, i64 b) { return a > b ? a : b; }
INLINE u64 min_u(u64 a, u64 b) { return a < b ? a : b; }
INLINE u64 max_u(u64 a, u64 b) { return a > b ? a : b; }
INLINE i64 div_i(i64 a, i64 b) { return b == 0 ? 0 : b == -1 ? (i64)(0 - (u64)a) : a / b; }
INLINE u64 div_u(u64 a, u64 b) { return b ? a / b : 0; }
INLINE i64 mod_i(i64 a, i64 b) {
    if (b == 0 || b == -1) return 0;
    const i64 r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
INLINE u64 mod_u(u64 a, u64 b) { return b ? a % b : 0; }
INLINE u64 pow_u(u64 x, u64 n) {
    u64 y = 1;
    for (; n; n >>= 1, x *= x)
        if (n & 1) y *= x;
    return y;
}
INLINE i64 pow_i(i64 x, i64 n) { /* a negative exponent: the fraction is truncated */
    if (n >= 0) return (i64)pow_u((u64)x, (u64)n);
    return x == 1 ? 1 : x == -1 ? (n & 1 ? -1 : 1) : 0;
}

/* Converts a float to an integer: rounded toward zero and limited to the range of the type; NaN
   gives 0. */
INLINE i64 saturate(double x, double low, double high, i64 least, i64 most) {
    return x != x ? 0 : x <= low ? least : x >= high ? most : (i64)x;
}
INLINE u64 saturate_u(double x, double high, u64 most) {
    return !(x > 0) ? 0 : x >= high ? most : (u64)x;
}

/* ---- Functions for loop programs. */
INLINE double most_d(double a, double b) { return a >= b || a != a ? a : b; }
INLINE double least_d(double a, double b) { return a <= b || a != a ? a : b; }
INLINE i64 floor_div(i64 a, i64 m) { return a / m - (a % m < 0); }
INLINE i64 floor_mod(i64 a, i64 m) { return a % m + (a % m < 0 ? m : 0); }
INLINE i64 place(double x, i64 n) { /* the place that an index means on an axis of n; -1: none */
    if (!(x >= (double)-n && x < (double)n)) return -1;
    return x < 0 ? (i64)x + n : (i64)x;
}
