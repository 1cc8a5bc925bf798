/* mvec_arm64.h -- declares for which functions glibc's libmvec has vector forms on 64-bit ARM. The
   Makefile includes it where inner loops are compiled; without glibc it declares nothing. pow and
   powf stay scalar: in glibc 2.41 their vector forms round one number twice, to even and away from
   0, and are wrong by up to 2 % where that is a tie (2^(73/64), 2^(1/256)). */
#include <math.h>

#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 38)
#pragma omp declare simd notinbranch
float logf(float);
#pragma omp declare simd notinbranch
float sinf(float);
#pragma omp declare simd notinbranch
float cosf(float);
#pragma omp declare simd notinbranch
double log(double);
#pragma omp declare simd notinbranch
double exp(double);
#pragma omp declare simd notinbranch
double sin(double);
#pragma omp declare simd notinbranch
double cos(double);
#endif
#if __GLIBC_PREREQ(2, 40)
#pragma omp declare simd notinbranch
double erf(double);
#pragma omp declare simd notinbranch
double tanh(double);
#endif
#endif
