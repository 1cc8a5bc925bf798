/* needs.h -- collects what the nodes of a graph require of its sizes. */
#ifndef ISOMER_NEEDS_H
#define ISOMER_NEEDS_H
#include "graphs/graph.h"
#include "ops/core/facts.h"

typedef struct LitList {
    int n;
    Lit *v;
} LitList;
/* The needs of all live nodes, without duplicates and without literals that hold trivially. The
   list lives in the arena. */
LitList graph_needs(World *, Arena *, const Graph *);
/* Facts that assume the needs of the graph, which every valid model meets. */
Facts *graph_facts(World *, Arena *, const Graph *);
#endif
