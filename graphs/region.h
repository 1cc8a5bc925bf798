/* region.h -- divides a graph into regions, the parts that the search works on separately:
   connected algebraic nodes between barriers (nodes that are not algebraic) and narrow cuts. */
#ifndef ISOMER_REGION_H
#define ISOMER_REGION_H
#include "graphs/rewrite.h"

typedef struct Region {
    int nin, nout, nnode;
    /* The values that the region reads from outside, among them constants with different elements,
       in the order in which a walk from the outputs meets them. */
    const Value *in;
    /* in[k] is a constant. What is computed from constant inputs alone costs nothing, since it will
       be folded. */
    const bool *constant;
    const Value *out; /* values that nodes outside or the graph's outputs use, ascending */
    NodeId *node;     /* ascending; includes the constants with equal elements that it reads */
    char hash[33];    /* equal for regions with the same nodes on inputs of the same types */
} Region;

/* Divides the live nodes of a graph into regions and returns their number. Every algebraic live
   node is in exactly one region; a region has at most `limit` of them, and no path leaves a region
   and comes back. The regions are ordered by their first node and live in the arena. */
int regions_find(World *, Arena *, const Graph *, int limit, Region **out);
/* Builds the region as a graph whose inputs are placeholders r0, r1, .. (k0, k1, .. for constants).
   Equal regions give the same values. *map (map may be NULL) takes the graph's values to those of
   the region's graph. */
bool region_graph(World *, Arena *, const Region *, Graph *out, ValueMap *map, Error *);
#endif
