/* determinant.h -- the determinant of a matrix of polynomials. */
#ifndef ISOMER_DETERMINANT_H
#define ISOMER_DETERMINANT_H
#include "ops/core/poly.h"

/* Computes the determinant of the n by n matrix m[row * n + column], which is overwritten, with
   about n^3 products. False: an intermediate result exceeds 64 bits or has too many terms. The
   caller's overflow state in the World is unchanged. */
bool determinant(World *, int n, Poly m[], Poly *value);
#endif
