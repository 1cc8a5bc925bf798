/* cost_model.h -- what a graph costs node by node, by a simple model of arithmetic and memory
   traffic: no plan is made, and no back end is needed. */
#ifndef ISOMER_COST_MODEL_H
#define ISOMER_COST_MODEL_H
#include "graphs/graph.h"

/* Seconds, and floating-point operations, of one run. constant (may be NULL): by input, whether it
   is a constant; what depends on constants alone is not counted. */
double cost_model(World *, const Graph *, Sizes, const bool constant[]);
double cost_flops(World *, const Graph *, Sizes, const bool constant[]);
/* Bytes of the constants that products and convolutions read. */
double cost_weights(World *, const Graph *, Sizes);
double cost_node(World *, const Node *, Sizes); /* seconds of one node */
/* Seconds of one node at these rates: operations and bytes a second. */
double cost_roofline(World *, const Node *, Sizes, double flops, double bytes);
#endif
