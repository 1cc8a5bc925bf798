/* disturb.h -- makes graphs whose roundings are disturbed. How far their results are from the usual
   ones shows how well the arithmetic determines a result at all. */
#ifndef ISOMER_DISTURB_H
#define ISOMER_DISTURB_H
#include "graphs/graph.h"

/* Number of disturbed graphs that are run; scripts/compare_onnx.py has the same number. */
enum { DISTURBANCES = 8 };

/* Makes a graph in which each element of every float constant and of every computed float value is
   moved up or down, as the seed draws it, by two roundoffs of its type. Constants get other
   contents; computed values are multiplied by a tensor near 1. Values of more than a million
   elements, or of unknown sizes, are unchanged. Inputs are up to the caller (data_nearby).
   Everything that is made lives in the World. */
bool graph_disturbed(World *, Arena *, const Graph *, Sizes, uint64_t seed, Graph *out, Error *);
/* Moves the floats of `data` in the same way; out may be data. For other types, out is not
   written. */
void data_nearby(uint64_t seed, int input, DType, int64_t n, const void *data, void *out);
#endif
