/* outline.h -- tells a graph that was seen before, though its constants are computed anew. */
#ifndef ISOMER_OUTLINE_H
#define ISOMER_OUTLINE_H
#include "graphs/constants.h"
#include "ops/base/intern.h"

/* A number of the graph among those in `outlines`: equal for the same operators on the same inputs.
   Of what depends on constants alone (the graph's, as constants_find found them) only the type
   counts, unless all its elements are given and equal; of floats made of bytes the type of the
   bytes. The order of operands that may be swapped does not count. */
uint32_t graph_outline(World *, Intern *outlines, const Constants *, const Graph *);
#endif
