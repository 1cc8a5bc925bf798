/* search_runtime.h -- the search for the built-in runtime, by the costs of its plans. */
#ifndef ISOMER_SEARCH_RUNTIME_H
#define ISOMER_SEARCH_RUNTIME_H
#include "search/run.h"

/* Leaves the best result in the derivation. Returns false with the run's error set on failure. */
bool search_runtime(Run *, Derivation *);
#endif
