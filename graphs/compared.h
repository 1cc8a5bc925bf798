/* compared.h -- numbers that a graph asks for: a sampling rate, a mode. */
#ifndef ISOMER_COMPARED_H
#define ISOMER_COMPARED_H
#include "graphs/graph.h"

enum { COMPARED_MOST = 4 };
typedef struct Compared {
    int n;
    int64_t number[COMPARED_MOST];
} Compared;
/* Of each input of the graph that holds integers: the constants whose equality with its elements,
   as they are or converted, some node computes, in the order of the nodes; at most COMPARED_MOST.
   The array lives in the arena. */
Compared *graph_compared(World *, Arena *, const Graph *);
#endif
