/* cost_model.h -- estimates the cost of a graph node by node, by a simple model of arithmetic and
   memory traffic. It needs neither a plan nor a back end. */
#ifndef ISOMER_COST_MODEL_H
#define ISOMER_COST_MODEL_H
#include "graphs/graph.h"

/* Return the estimated seconds and the floating-point operations of one run. `constant` (may be
   NULL) says of each input whether it is a constant; nodes that depend on constants alone are not
   counted. */
double cost_model(World *, const Graph *, Sizes, const bool constant[]);
double cost_flops(World *, const Graph *, Sizes, const bool constant[]);
/* Returns the bytes of the constants that contractions (products and convolutions) read. */
double cost_weights(World *, const Graph *, Sizes);
double cost_node(World *, const Node *, Sizes); /* seconds of one node */
/* Returns the least seconds of one node on a machine with these rates: floating-point operations a
   second, bytes a second. */
double cost_roofline(World *, const Node *, Sizes, double flops, double bytes);
#endif
