/* second_opinion.h -- implements --check-with: another runtime compares original and result. */
#ifndef ISOMER_SECOND_OPINION_H
#define ISOMER_SECOND_OPINION_H
#include "search/run.h"

/* Checks that this runtime is installed; called before the search. Returns false with the run's
   error set if it is not. */
bool run_can_check_with(Run *);
/* Returns true if no opinion was asked for, or if the runtime agrees that the result computes the
   same at each set of sizes. Otherwise the run's error is set; E_CHECK: the runtime disagrees. */
bool run_check_with(Run *, const Derivation *);
#endif
