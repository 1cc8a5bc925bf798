/* weigh.h -- how long a node may take: a rough model of a processor, only to say which questions
   come first and which answers are worth a measurement. */
#ifndef ISOMER_WEIGH_H
#define ISOMER_WEIGH_H
#include "graphs/graph.h"

/* Seconds at these sizes; < 0: some size has no value. */
double node_seconds(World *, NodeId, Sizes);
/* The least seconds at a machine that does so many operations and moves so many bytes a second. */
double node_least(World *, NodeId, Sizes, double flops, double bytes);
/* Elements of the type at these sizes; < 0: some size has no value. */
int64_t type_elements(World *, const Type *, Sizes);
#endif
