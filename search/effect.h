/* effect.h -- tells which applications of a derivation its result still shows, since rules may undo
   each other. */
#ifndef ISOMER_EFFECT_H
#define ISOMER_EFFECT_H
#include "search/derive.h"

/* Returns, by application, whether the final graph of the derivation still shows it; false: others
   undid it. The array lives in the arena. */
const bool *derivation_shown(const Derivation *, Arena *);
/* Returns, by rule of the library, how many of its applications are still shown. */
const int *derivation_counts(const Derivation *, Arena *);
#endif
