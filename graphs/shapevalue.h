/* shapevalue.h -- computes the elements of integer and boolean values as polynomials over sizes:
   the results of chains of Shape, Gather, Concat and the like. */
#ifndef ISOMER_SHAPEVALUE_H
#define ISOMER_SHAPEVALUE_H
#include "graphs/graph.h"

enum { ELEMENTS_MAX = 4096 }; /* tensors with more elements are not followed */
/* Returns the elements of a value, which are computed at the first call and kept. The list lives in
   the World. Returns false if the elements are not known: they depend on data, there are too many,
   or an operator cannot tell. */
bool value_elements(World *, Value, PolyList *out);
/* If all elements of v are known numbers, returns them as a constant of v's type; else returns
   0. */
Value value_constant(World *, Value);
#endif
