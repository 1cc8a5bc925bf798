/* effect.h -- what of a derivation its result still shows: rules may undo each other. */
#ifndef ISOMER_EFFECT_H
#define ISOMER_EFFECT_H
#include "search/derive.h"

/* By application: the graph at which the derivation ended shows it; false: it was undone. In the
   arena. */
const bool *derivation_shown(const Derivation *, Arena *);
/* By rule of the library: how many of its applications are shown. */
const int *derivation_counts(const Derivation *, Arena *);
#endif
