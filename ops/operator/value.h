/* value.h -- the elements of integer tensors as polynomials over sizes, as shape computations need
   them. Every named symbol counts as a size, which is >= 0. */
#ifndef ISOMER_VALUE_H
#define ISOMER_VALUE_H
#include "ops/operator/operator.h"

bool value_natural(const World *, Poly); /* whether it can be shown to be >= 0 for all sizes */
/* Likewise, but also considers the cases of minima: min(a, b) is one of the two, and at most each
   of them. */
bool value_natural_by_cases(World *, Poly);
/* Whether the literal holds. 1: for all sizes, 0: for none, -1: not decided. */
int value_decide(World *, Lit);
/* Evaluates a definition for every element of `out`; value[k].v == NULL: input k is not known.
   False: some element is not a polynomial. */
bool value_walk(World *, Ex define, const Type *out, int nin, const Type *const in[],
                const PolyList value[], Poly *elements);
#endif
