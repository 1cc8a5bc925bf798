/* shapevalue.h -- the elements of integer and boolean values as polynomials over sizes: what Shape,
   Gather, Concat, .. chains compute. */
#ifndef ISOMER_SHAPEVALUE_H
#define ISOMER_SHAPEVALUE_H
#include "graphs/graph.h"

enum { ELEMENTS_MAX = 4096 }; /* larger tensors are not looked at */
/* Computed when first asked for, and kept. false: not known (data-dependent, too many elements, an
   operator that cannot say). The list lives in the World. */
bool value_elements(World *, Value, PolyList *out);
/* Elements that are numbers, as a constant of v's type. 0: not known, or not all are numbers. */
Value value_constant(World *, Value);
#endif
