/* element.h -- single elements of tensors in memory, for texts, files and comparisons (kernels have
   their own loops). */
#ifndef ISOMER_ELEMENT_H
#define ISOMER_ELEMENT_H
#include "ops/core/type.h"

bool element_readable(DType); /* floats and integers of all widths, booleans */
/* The greatest finite number of a float of 16 bits or less; 0: of others. */
double element_greatest(DType);
double element_real(DType, const void *, int64_t i);
/* Exact for integers and booleans; U64 above the greatest int64 wraps. */
int64_t element_integer(DType, const void *, int64_t i);
/* Rounded to nearest even; integers: towards zero, saturating. */
void element_set_real(DType, void *, int64_t i, double);
double element_nearest(DType, double); /* the number that element_set_real makes of it */
void element_set_integer(DType, void *, int64_t i, int64_t);
/* Random elements for timing and comparing kernels: floats around 1, so that nothing is denormal
   and logarithms and roots are ordinary, integers 0 and 1. What is not readable stays as it is. */
void element_fill(DType, void *, int64_t n, uint64_t seed);
size_t element_bytes(DType, int64_t count); /* of that many elements, packed; 0 for strings */
/* The most elements of a tensor: their bytes, 16 of a complex number, are an int64. */
#define ELEMENT_COUNT_MAX (INT64_MAX / 16)
/* Multiplies a number of elements by a size. False: the result overflows, or is too large. */
bool elements_multiply(int64_t *count, int64_t size);
/* Whether n elements, n > 0, have the same bits. Not of strings. */
bool elements_same(DType, const void *, int64_t n);
#endif
