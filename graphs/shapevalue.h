/* shapevalue.h -- the numbers in small integer tensors: polynomials over sizes, computed through Shape, Gather, Concat and their kind. */
#ifndef ISOMER_SHAPEVALUE_H
#define ISOMER_SHAPEVALUE_H
#include "graphs/graph.h"

enum { ELEMENTS_MAX = 1024 }; /* larger tensors are not looked at */
/* Elements of a value of integers or booleans, row by row; false: not integers, too many, or computed from data. The list lives in the World. Computed once. */
bool value_elements(World *, Value, PolyList *out);
#endif
