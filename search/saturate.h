/* saturate.h -- search by an e-graph over the rewritings of one graph: all rules at once, wherever
   they match, whatever the graphs in between cost (rules/egraph.h). The extracted graph is then
   reached by applying rules to graphs, one after another: the derivation that everything else
   checks. */
#ifndef ISOMER_SATURATE_H
#define ISOMER_SATURATE_H
#include "rules/egraph.h"
#include "search/backtrack.h"

typedef struct Saturate {
    EGraphLimits limits;
    double (*node)(void *user,
                   const Node *); /* the rough price of a node; user: that of the Backtrack */
} Saturate;
/* As backtrack() with its World, rules, prices, `stop` and budget of steps (here: applications in
   the derivation); the extracted graph is only the goal: the cheapest graph on the way to it is
   taken. */
void saturate(const Backtrack *, const Saturate *, const Graph *start, RegionSolution *out);
#endif
