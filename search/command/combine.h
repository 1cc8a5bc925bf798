/* combine.h -- decides which of the places that gain are rewritten together. */
#ifndef ISOMER_COMBINE_H
#define ISOMER_COMBINE_H
#include "search/command/model_candidates.h"

/* Times whole models with different combinations of places. *best receives the fastest candidate,
   or 0 if that is the original. Returns false with the run's error set on failure. */
bool combine(CommandSearch *, int *best);
/* Implements WholeTimer (price.h) for a CommandSearch: times all places that are expected to gain
   together, and the strongest sets each alone. These candidates remain available to combine. */
bool combine_time_promised(void *search, const double gain[], bool *gains);
/* Returns a candidate, not yet made, of the given places, which are sorted best first: a place is
   left out if an earlier one contains one of its nodes. */
ModelCandidate combine_places(CommandSearch *, int n, const int place[]);
#endif
