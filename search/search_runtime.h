/* search_runtime.h -- search by the costs of the built-in runtime's plans. */
#ifndef ISOMER_SEARCH_RUNTIME_H
#define ISOMER_SEARCH_RUNTIME_H
#include "search/run.h"

/* Leaves the best result in the derivation; false: the run's error is set. */
bool search_runtime(Run *, Derivation *);
#endif
