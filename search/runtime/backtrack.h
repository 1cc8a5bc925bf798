/* backtrack.h -- cost-based backtracking search over the rewritings of one graph (Jia et al., TASO,
   SOSP 2019). Graphs wait in a queue ordered by cost; a rewritten graph joins the queue if it costs
   less than alpha times the best graph so far. */
#ifndef ISOMER_BACKTRACK_H
#define ISOMER_BACKTRACK_H
#include "search/library.h"

typedef struct Price {
    double seconds;
    int nodes; /* nodes that depend on an input or on random data */
} Price;
typedef struct Backtrack {
    World *w;
    Arena *arena;
    Facts *facts;
    const Library *library;
    Price (*price)(void *user, const Graph *);
    bool (*stop)(void *user); /* asked before each expansion; NULL: never stops */
    void *user;
    double alpha;  /* >= 1: how much worse than the best a graph in the queue may be */
    int64_t steps; /* budget: how many graphs may be expanded */
    int patience;  /* the search ends after this many expansions without a better graph */
} Backtrack;

typedef struct RegionRound { /* matches applied together to one graph */
    int n;
    const Match *match;
    Graph graph; /* the graph before these matches */
} RegionRound;
typedef struct RegionSolution {
    int n, steps, graphs; /* number of rounds; of graphs expanded; of graphs priced */
    RegionRound *round;
    Graph graph; /* the chosen graph, at the end of the rounds */
    Price before, after;
    const struct RegionSolution *cheapest; /* the solution of least cost; NULL: it is this one */
    /* Some graph had more than BACKTRACK_MATCHES matches, and the others were not tried. */
    bool cut;
} RegionSolution;
enum { BACKTRACK_MATCHES = 4096 };
/* Finds a cheap graph that equals `start`, and the rounds that lead to it: among the graphs found
   that cost at most 3 % more than the cheapest one, the graph with the fewest nodes. The search is
   deterministic if prices are. The solution lives in the arena and the World; rejected graphs are
   freed at once. */
void backtrack(const Backtrack *, const Graph *start, RegionSolution *);
#endif
