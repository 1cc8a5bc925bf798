/* backtrack.h -- cost-based backtracking search over the rewritings of one graph (Jia et al., TASO,
   SOSP 2019): a queue ordered by cost, to which every graph is added that costs less than alpha
   times the best so far. */
#ifndef ISOMER_BACKTRACK_H
#define ISOMER_BACKTRACK_H
#include "search/library.h"

typedef struct Price {
    double seconds;
    int nodes; /* that are not computed from constants alone */
} Price;
typedef struct Backtrack {
    World *w;
    Arena *arena;
    Facts *facts;
    const Library *library;
    Price (*price)(void *user, const Graph *);
    bool (*stop)(void *user); /* asked before each step; NULL: never */
    void *user;
    double alpha;  /* >= 1 */
    int64_t steps; /* budget: graphs that are expanded */
    int patience;  /* the search ends after this many expansions without a better graph */
} Backtrack;

typedef struct RegionRound { /* matches applied together to one graph */
    int n;
    const Match *match;
    Graph graph; /* before them */
} RegionRound;
typedef struct RegionSolution {
    int n, steps, graphs; /* rounds; graphs expanded and priced */
    RegionRound *round;
    Graph graph; /* the best */
    Price before, after;
    const struct RegionSolution *cheapest; /* the graph of least cost, if that is a different one */
    bool cut; /* some graph had more matches than are tried (BACKTRACK_MATCHES) */
} RegionSolution;
enum { BACKTRACK_MATCHES = 4096 };
/* The cheapest graph found and the rounds that lead to it; within 3 % of the least cost the one of
   fewest nodes. Deterministic for deterministic prices. Everything lives in the arena and the
   World; rejected graphs are freed at once. */
void backtrack(const Backtrack *, const Graph *start, RegionSolution *);
#endif
