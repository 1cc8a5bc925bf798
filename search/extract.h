/* extract.h -- from classes of equal values to one graph: a node for each class that is reached
   from the outputs, so that the sum of the nodes' prices, each counted once, is small. */
#ifndef ISOMER_EXTRACT_H
#define ISOMER_EXTRACT_H
#include "rules/egraph.h"

typedef struct Extract {
    World *w;
    Arena *arena;
    EGraph *g;
    double (*price)(void *user, const Node *); /* >= 0; what constants alone decide is free */
    void *user;
} Extract;
typedef struct Extracted {
    const Value *out; /* the graph, made in the World */
    double price;
    double given; /* of the nodes that no rule made */
} Extracted;
/* For the values in `out`. Deterministic for deterministic prices. */
Extracted extract(const Extract *, int nout, const Value out[]);
#endif
