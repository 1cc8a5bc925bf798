/* extract.h -- chooses one graph from classes of equal values: a node for each class that the
   outputs need, such that the sum of the prices of the chosen nodes, each counted once, is
   small. */
#ifndef ISOMER_EXTRACT_H
#define ISOMER_EXTRACT_H
#include "rules/egraph.h"

typedef struct Extract {
    World *w;
    Arena *arena;
    EGraph *g;
    /* The price of a node, >= 0. Not asked for nodes that depend only on constants, which are
       free. */
    double (*price)(void *user, const Node *);
    void *user;
} Extract;
typedef struct Extracted {
    const Value *out; /* the outputs of the chosen graph, which is built in the World */
    double price;     /* of the chosen graph */
    double given;     /* the price of the nodes that no rule made */
} Extracted;
/* Chooses a graph for the values in `out`. The choice is deterministic if prices are. */
Extracted extract(const Extract *, int nout, const Value out[]);
#endif
