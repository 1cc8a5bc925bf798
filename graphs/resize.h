/* resize.h -- a graph with other sizes, or with one element type replaced by another. */
#ifndef ISOMER_RESIZE_H
#define ISOMER_RESIZE_H
#include "graphs/graph.h"

typedef struct NewSizes { /* symbol from[k] becomes to[k] */
    int n;
    const Symbol *from;
    const Poly *to;
} NewSizes;
/* Replaces symbols in the types of inputs and in attributes: either sizes become numbers, or
   variables are renamed. Inputs keep their names. The lists of *out live in the arena. Returns
   false if an operator refuses the new sizes. */
bool graph_resize(World *, Arena *, const Graph *, NewSizes, Graph *out, Error *e);
typedef struct NodePairs { /* node live.v[k] has become node made[k]; live is ascending */
    NodeList live;
    NodeId *made;
} NodePairs;
/* Replaces the element type `from` by `to` in the types of inputs and in attributes. *pairs (pairs
   may be NULL) lists the nodes of both graphs; no table of all values is made, since this is done
   for thousands of small graphs in a large World. Returns false if an operator refuses the type, or
   if the graph has a constant of type `from`. */
bool graph_retype(World *, Arena *, const Graph *, DType from, DType to, Graph *out,
                  NodePairs *pairs, Error *e);
#endif
