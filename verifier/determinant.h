/* determinant.h -- determinants of matrices of polynomials. */
#ifndef ISOMER_DETERMINANT_H
#define ISOMER_DETERMINANT_H
#include "ops/core/poly.h"

/* Of an n by n matrix, m[row * n + column], which is used up. False: something on the way exceeds
   64 bits, or has too many terms; nothing is noted in the World. About n^3 products. */
bool determinant(World *, int n, Poly m[], Poly *value);
#endif
