/* search_runtime_inner.h -- what the parts of the search for the built-in runtime share. */
#ifndef ISOMER_SEARCH_RUNTIME_INNER_H
#define ISOMER_SEARCH_RUNTIME_INNER_H
#include "graphs/region.h"
#include "search/backtrack.h"
#include "search/cost.h"
#include "search/finish.h"
#include "search/stop.h"

enum { CANDIDATES = 6 }; /* whole models that are timed, at most */

typedef struct RuntimeSearch {
    Run *r;
    Cost *cost;
    FinishLimits limits;
    Stop stop; /* of --time-limit .. */
    int asked; /* .. and how often it was asked */
    int nregion, nsolved;
    Region *region;
    int *at;           /* by region: its number among the solved ones; the rest is by this number */
    const char **hash; /* digest of the region */
    Graph *start;
    const bool **constant; /* by input of the start: whether it is one */
    RegionSolution *solution;
    double *gain;   /* predicted, over all occurrences */
    double *growth; /* bytes of constants, likewise */
} RuntimeSearch;

/* Which of the graphs found for a region a candidate has. */
typedef enum Take { TAKE_NOTHING, TAKE_BEST, TAKE_CHEAPEST } Take;

/* solve_regions.c: solves each of the regions once. False: the run's error is set. */
bool search_solve_regions(RuntimeSearch *);
/* Of solved region k; NULL: the region stays as it is. */
const RegionSolution *search_solution(const RuntimeSearch *, int k, Take);
/* --cost nodes: what counts is how many nodes there are, not their prices. */
bool search_counts_nodes(const IsomerOptions *);
/* propose.c: the candidates for the whole model, each a Take by solved region, in the run's arena.
   Returns how many there are, CANDIDATES at most. The first is what prices alone prefer: the only
   one if just one is tried. */
int search_propose(RuntimeSearch *, Take *take[CANDIDATES + 1]);
#endif
