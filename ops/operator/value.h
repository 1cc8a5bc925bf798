/* value.h -- elements of integer tensors as polynomials over sizes. */
#ifndef ISOMER_VALUE_H
#define ISOMER_VALUE_H
#include "ops/operator/operator.h"

bool value_natural(const World *, Poly); /* shown to be >= 0 for all sizes */
/* The same, where minima decide: min(a, b) is one of the two, and at most either. */
bool value_natural_by_cases(World *, Poly);
/* 1: holds for all sizes, 0: for none, -1: not decided. */
int value_decide(World *, Lit);
/* Walks a definition for every element of `out`; value[k].v == NULL: input k is not known. false:
   some element is not a polynomial. */
bool value_walk(World *, Ex define, const Type *out, int nin, const Type *const in[],
                const PolyList value[], Poly *elements);
#endif
