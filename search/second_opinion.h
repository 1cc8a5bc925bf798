/* second_opinion.h -- --check-with: another runtime compares original and result. */
#ifndef ISOMER_SECOND_OPINION_H
#define ISOMER_SECOND_OPINION_H
#include "search/run.h"

/* Checks that this runtime is installed; called before the search. */
bool run_can_check_with(Run *);
/* True: no opinion was asked for, or the runtime agrees that the result computes the same. E_CHECK:
   it disagrees. */
bool run_check_with(Run *, const Derivation *);
#endif
