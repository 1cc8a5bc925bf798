/* combine.h -- which of the places that gain are rewritten together. */
#ifndef ISOMER_COMBINE_H
#define ISOMER_COMBINE_H
#include "search/model_candidates.h"

/* Times candidates in batches. *best: the fastest one; 0: the original. False: the run's error is
   set. */
bool combine(CommandSearch *, int *best);
/* The candidate of these places, best first, each where no earlier one has a node. */
ModelCandidate combine_places(CommandSearch *, int n, const int place[]);
#endif
