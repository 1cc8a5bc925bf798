/* compared.h -- finds the numbers with which a graph compares its inputs, such as a sampling rate
   or a mode. */
#ifndef ISOMER_COMPARED_H
#define ISOMER_COMPARED_H
#include "graphs/graph.h"

enum { COMPARED_MOST = 4 };
typedef struct Compared {
    int n;
    int64_t number[COMPARED_MOST];
} Compared;
/* For each input of the graph that holds integers: the constants with which some node compares its
   elements for equality, perhaps after a conversion. They are in the order of the nodes; at most
   COMPARED_MOST are kept. The array lives in the arena. */
Compared *graph_compared(World *, Arena *, const Graph *);
#endif
