/* search_runtime_inner.h -- what the files of the search for the built-in runtime share. */
#ifndef ISOMER_SEARCH_RUNTIME_INNER_H
#define ISOMER_SEARCH_RUNTIME_INNER_H
#include "graphs/region.h"
#include "search/runtime/backtrack.h"
#include "search/cost.h"
#include "search/finish.h"
#include "search/stop.h"

enum { CANDIDATES = 6 }; /* whole models that are timed, at most */

typedef struct RuntimeSearch {
    Run *r;
    Cost *cost;
    FinishLimits limits;
    Stop stop;            /* where --time-limit ended the search */
    int asked;            /* how often `stop` was asked */
    int nregion, nsolved; /* all regions; different ones, each solved once */
    Region *region;
    int *solved_of;    /* by region: its index among the solved ones, which the arrays below use */
    const char **hash; /* digest of the region */
    Graph *start;      /* the region as a graph */
    const bool **constant; /* by input of `start`: whether it is a constant */
    RegionSolution *solution;
    double *gain;   /* predicted seconds gained in all occurrences together */
    double *growth; /* bytes of constants added in all occurrences together */
} RuntimeSearch;

/* Which of the graphs found for a region a candidate uses: none, RegionSolution itself or its
   `cheapest`. */
typedef enum Take { TAKE_NOTHING, TAKE_BEST, TAKE_CHEAPEST } Take;

/* Solves each of the different regions once (solve_regions.c). Returns false with the run's error
   set on failure. */
bool search_solve_regions(RuntimeSearch *);
/* Returns the solution that `take` chooses for solved region k; NULL: the region stays as it is. */
const RegionSolution *search_solution(const RuntimeSearch *, int k, Take);
/* Returns whether the number of nodes counts, not their prices (--cost nodes). */
bool search_counts_nodes(const IsomerOptions *);
/* Proposes candidates for the whole model, each as a Take by solved region, in the run's arena
   (propose.c). Returns their number, at most CANDIDATES. The first candidate is the one that prices
   alone prefer; it is the only one if just one is tried. */
int search_propose(RuntimeSearch *, Take *take[CANDIDATES + 1]);
#endif
