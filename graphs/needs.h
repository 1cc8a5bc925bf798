/* needs.h -- what the nodes of a graph need of its sizes. */
#ifndef ISOMER_NEEDS_H
#define ISOMER_NEEDS_H
#include "graphs/graph.h"
#include "ops/core/facts.h"

typedef struct LitList {
    int n;
    Lit *v;
} LitList;
/* Of all live nodes, without repetition and without what always holds; in the arena. */
LitList graph_needs(World *, Arena *, const Graph *);
/* A valid model meets its needs: facts that assume them. */
Facts *graph_facts(World *, Arena *, const Graph *);
#endif
