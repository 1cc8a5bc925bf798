/* domain.h -- which numbers the inputs of a graph may hold. An index must be within the axis that
   it indexes, a divisor must not be 0, ..: these conditions are followed from the nodes back to the
   inputs, through casts, views, sums and products. */
#ifndef ISOMER_DOMAIN_H
#define ISOMER_DOMAIN_H
#include "graphs/graph.h"
#include "ops/base/random.h"

typedef struct Domain {
    double low, high; /* of each element; infinite: not bounded there */
} Domain;
Domain domain_any(void);
/* Of each input, at these sizes; the array lives in the arena. Where no numbers suit all nodes, or
   an unknown node reads an input, its domain is wider than what the model accepts. */
Domain *graph_domains(World *, Arena *, const Graph *, Sizes);
/* What is drawn from, which has both ends: of integers a domain that is not bounded, or absurdly
   wide, is 0 and 1 or what is nearest to them; of bytes all. *drawn is not set for floats that are
   not bounded at both ends. */
bool domain_drawn(Domain, DType, Domain *drawn);
/* Numbers in a domain with both ends, uniform; whole ones for integers. */
void domain_fill(Domain, Random, DType, int64_t n, void *out);
#endif
