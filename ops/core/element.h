/* element.h -- reads and writes single elements of tensors in memory. This is for texts, files and
   comparisons; kernels have loops of their own. */
#ifndef ISOMER_ELEMENT_H
#define ISOMER_ELEMENT_H
#include "ops/core/type.h"

bool element_readable(DType); /* a float, integer or boolean of any width */
/* The greatest finite number of a float type of 16 bits or less; 0 for other types. */
double element_greatest(DType);
/* Element i as a double. i counts elements, also of types of less than 8 bits. */
double element_real(DType, const void *, int64_t i);
/* Element i as an integer: exact for integers and booleans, but a U64 above INT64_MAX wraps; floats
   are truncated. */
int64_t element_integer(DType, const void *, int64_t i);
/* Sets *out to element i as element_real does. Returns whether it is that number: a double holds
   every float, but integers only up to 2^53 in magnitude. */
bool element_exact(DType, const void *, int64_t i, double *out);
/* Whether an integer type, or bool as 0 and 1, holds the number; false for other types. */
bool element_holds(DType, int64_t);
/* Stores x as element i. Floats are rounded to nearest, ties to even; integers are truncated toward
   zero and saturate. */
void element_set_real(DType, void *, int64_t i, double);
bool element_keeps(DType,
                   double); /* is the number, as an element, still finite and not 0 unless it
                               is 0? is it an integer or truth value if the type has these? */
double element_nearest(DType, double); /* the number that is read back after element_set_real */
void element_set_integer(DType, void *, int64_t i, int64_t);
/* Fills n elements with random numbers for timing and comparing kernels: floats in [0.5, 1.5), so
   that none is denormal and logarithms and roots are ordinary; integers 0 and 1. Elements of a type
   that is not readable are left unchanged. */
void element_fill(DType, void *, int64_t n, uint64_t seed);
size_t element_bytes(DType, int64_t count); /* the bytes of `count` packed elements; 0 for
                                               strings */
/* The most elements of a tensor: their size in bytes, at most 16 each, must fit in an int64. */
#define ELEMENT_COUNT_MAX (INT64_MAX / 16)
/* Multiplies *count by a size. False: the product overflows or exceeds ELEMENT_COUNT_MAX. */
bool elements_multiply(int64_t *count, int64_t size);
/* Whether all n elements, n > 0, have the same bits. Not for strings. */
bool elements_same(DType, const void *, int64_t n);
#endif
