/* mvec_x86_64.h -- declares for which functions glibc's libmvec has vector forms on x86-64. The
   Makefile includes it where inner loops are compiled; without glibc it declares nothing. */
#include <math.h>

#ifdef __GLIBC__
#pragma omp declare simd notinbranch
float logf(float);
#pragma omp declare simd notinbranch
float sinf(float);
#pragma omp declare simd notinbranch
float cosf(float);
#pragma omp declare simd notinbranch
float powf(float, float);
#pragma omp declare simd notinbranch
double log(double);
#pragma omp declare simd notinbranch
double exp(double);
#pragma omp declare simd notinbranch
double sin(double);
#pragma omp declare simd notinbranch
double cos(double);
#pragma omp declare simd notinbranch
double pow(double, double);
#if __GLIBC_PREREQ(2, 35)
#pragma omp declare simd notinbranch
float asinf(float);
#pragma omp declare simd notinbranch
float acosf(float);
#pragma omp declare simd notinbranch
float atanf(float);
#pragma omp declare simd notinbranch
float sinhf(float);
#pragma omp declare simd notinbranch
float coshf(float);
#pragma omp declare simd notinbranch
float asinhf(float);
#pragma omp declare simd notinbranch
float acoshf(float);
#pragma omp declare simd notinbranch
float atanhf(float);
#pragma omp declare simd notinbranch
double erf(double);
#pragma omp declare simd notinbranch
double tanh(double);
#endif
#endif
