/* repeat.h -- what solved a region, done again where the region occurs in the whole graph. */
#ifndef ISOMER_REPEAT_H
#define ISOMER_REPEAT_H
#include "graphs/region.h"
#include "search/backtrack.h"
#include "search/run.h"

/* Repeats in each region of the whole graph, from which the derivation starts, the rounds of its
   solution; NULL: none. False: the run's error is set. */
bool repeat_solutions(Run *, int n, const Region region[], const RegionSolution *const solution[],
                      Derivation *);
#endif
