/* combine.h -- which of the places that gain are rewritten together. */
#ifndef ISOMER_COMBINE_H
#define ISOMER_COMBINE_H
#include "search/model_candidates.h"

/* Times candidates in batches. *best: the fastest one; 0: the original. False: the run's error is
   set. */
bool combine(CommandSearch *, int *best);
/* A WholeTimer (price.h) of a CommandSearch: times all places that are expected to gain together,
   and the strongest sets alone. They are candidates like those of combine. */
bool combine_ask(void *search, const double gain[], bool *gains);
/* The candidate of these places, best first, each where no earlier one has a node. */
ModelCandidate combine_places(CommandSearch *, int n, const int place[]);
#endif
