/* second_opinion.h -- --check-with. */
#ifndef ISOMER_SECOND_OPINION_H
#define ISOMER_SECOND_OPINION_H
#include "search/run.h"

/* The runtime to ask is installed; called before the search. */
bool run_can_ask(Run *);
/* It agrees that the result computes the same; E_CHECK: it does not. */
bool run_second(Run *, const Derivation *);
#endif
