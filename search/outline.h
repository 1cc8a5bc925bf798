/* outline.h -- recognizes a graph that was seen before even if its constants were computed anew. */
#ifndef ISOMER_OUTLINE_H
#define ISOMER_OUTLINE_H
#include "graphs/constants.h"
#include "ops/base/intern.h"

/* Returns a number that identifies the graph among those in `outlines`. Two graphs have the same
   number if they apply the same operators to the same inputs, up to the order of operands that may
   be swapped. For a value that depends on constants alone (`c`, found for the graph by
   constants_find) only the type is compared, except where all its elements are given and equal; for
   floats made of bytes, the type of the bytes counts, too. */
uint32_t graph_outline(World *, Intern *outlines, const Constants *, const Graph *);
#endif
