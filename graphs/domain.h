/* domain.h -- finds which numbers the inputs of a graph may hold. An index must be within the axis
   that it indexes, a divisor must not be 0, and so on: these conditions are followed from the nodes
   back to the inputs, through casts, views, sums and products. */
#ifndef ISOMER_DOMAIN_H
#define ISOMER_DOMAIN_H
#include "graphs/graph.h"
#include "ops/base/random.h"

typedef struct Domain {
    double low, high; /* bounds of each element; infinite: no bound */
} Domain;
Domain domain_any(void);
/* The domain of each input, at these sizes; the array lives in the arena. Where no numbers suit all
   nodes, or a node without a definition reads an input, the domain is wider than what the model
   accepts. */
Domain *graph_domains(World *, Arena *, const Graph *, Sizes);
/* The domain from which elements of a type are drawn. For integers it always has both ends: a
   domain that is unbounded or absurdly wide is replaced by 0 and 1 (uint8: 0 to 255) or by the
   allowed numbers nearest to these. Returns false for floats that are not bounded at both ends. */
bool domain_drawn(Domain, DType, Domain *drawn);
/* Draws uniform numbers from a domain with both ends; whole numbers for integers. */
void domain_fill(Domain, Random, DType, int64_t n, void *out);
#endif
