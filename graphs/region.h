/* region.h -- the parts of a graph that the search works on: connected algebraic nodes between
   barriers (what is not algebraic) and narrow cuts. */
#ifndef ISOMER_REGION_H
#define ISOMER_REGION_H
#include "graphs/rewrite.h"

typedef struct Region {
    int nin, nout, nnode;
    /* Values from outside, constants whose elements differ among them; in the order in which the
       outputs meet them. */
    const Value *in;
    /* in[k] is a constant: what is computed from such inputs alone costs nothing once it is
       folded. */
    const bool *constant;
    const Value *out; /* values used outside or by the graph's outputs, ascending */
    NodeId *node;     /* ascending; constants that belong to it (all elements equal) included */
    char hash[33];    /* equal: the same nodes on inputs of the same types */
} Region;

/* Every algebraic live node is in one region; a region has at most `limit` of them, and no path
   leaves it and comes back. Ordered by first node; all of it in the arena. Returns how many. */
int regions_find(World *, Arena *, const Graph *, int limit, Region **out);
/* The region with placeholders r0, r1, .. (k0, k1, .. for constants) for its inputs. Equal regions
   give the same values. map (may be NULL): from the graph's values to the placeholders' graph. */
bool region_graph(World *, Arena *, const Region *, Graph *out, ValueMap *map, Error *);
#endif
