/* combine.h -- which of the places that gain are rewritten together. */
#ifndef ISOMER_COMBINE_H
#define ISOMER_COMBINE_H
#include "search/wholes.h"

/* *best: the fastest candidate, as timed beside others; 0: the original. */
bool combine(CommandSearch *, int *best);
#endif
