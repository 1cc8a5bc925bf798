/* extract.h -- chooses one graph from classes of equal values: a node for each class that the
   outputs need, such that the sum of the nodes' prices, each counted once, is small. */
#ifndef ISOMER_EXTRACT_H
#define ISOMER_EXTRACT_H
#include "rules/egraph.h"

typedef struct Extract {
    World *w;
    Arena *arena;
    EGraph *g;
    double (*price)(void *user,
                    const Node *); /* >= 0; nodes that depend only on constants are free */
    void *user;
} Extract;
typedef struct Extracted {
    const Value *out; /* the graph, made in the World */
    double price;
    double given; /* the nodes that no rule made */
} Extracted;
/* For the values in `out`. Deterministic for deterministic prices. */
Extracted extract(const Extract *, int nout, const Value out[]);
#endif
