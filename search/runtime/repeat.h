/* repeat.h -- applies the solution of a region wherever the region occurs in the whole graph. */
#ifndef ISOMER_REPEAT_H
#define ISOMER_REPEAT_H
#include "graphs/region.h"
#include "search/runtime/backtrack.h"
#include "search/run.h"

/* Repeats in each region of the whole graph, from which the derivation starts, the rounds of the
   region's solution (NULL: none). Returns false with the run's error set on failure. */
bool repeat_solutions(Run *, int n, const Region region[], const RegionSolution *const solution[],
                      Derivation *);
#endif
