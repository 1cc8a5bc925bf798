/* weigh.h -- estimates how long a node takes, by a rough model of a processor. The estimate only
   decides which questions come first and which answers are worth measuring. */
#ifndef ISOMER_WEIGH_H
#define ISOMER_WEIGH_H
#include "graphs/graph.h"

/* Estimated seconds at these sizes; < 0 if some size has no value. */
double node_seconds(World *, NodeId, Sizes);
/* The least seconds on a machine with this many operations and bytes per second (the roofline). */
double node_least(World *, NodeId, Sizes, double flops, double bytes);
/* The number of elements of a type at these sizes; < 0 if some size has no value. */
int64_t type_elements(World *, const Type *, Sizes);
#endif
