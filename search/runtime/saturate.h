/* saturate.h -- searches the rewritings of one graph in an e-graph (rules/egraph.h): all rules are
   applied at once, wherever they match, whatever the graphs in between cost. The extracted graph is
   then derived from the first one by applying rules one after another, which gives the derivation
   that all later checks need. */
#ifndef ISOMER_SATURATE_H
#define ISOMER_SATURATE_H
#include "rules/egraph.h"
#include "search/runtime/backtrack.h"

typedef struct Saturate {
    EGraphLimits limits;
    /* The rough price of a node; `user` is that of the Backtrack. */
    double (*node)(void *user, const Node *);
} Saturate;
/* Like backtrack(), with the World, rules, prices and `stop` of the Backtrack; its `steps` limits
   the applications in the derivation. The extracted graph is only the goal: the solution is the
   cheapest graph on the way to it. */
void saturate(const Backtrack *, const Saturate *, const Graph *start, RegionSolution *out);
#endif
