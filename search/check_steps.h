/* check_steps.h -- checks the values that rules made, and the constants that were computed, against
   the definitions of the operators. */
#ifndef ISOMER_CHECK_STEPS_H
#define ISOMER_CHECK_STEPS_H
#include "search/run.h"

/* Both functions take a finished derivation (derivation_finish). They return false with E_CHECK if
   a value that rules made differs from the original's, or a computed constant from the expression
   it was computed from. Values that are too large to be evaluated by definitions pass unchecked;
   *large receives how many of the constants were. */
bool run_check_rules(const Run *, const Derivation *);
bool derivation_check_constants(const Derivation *, uint64_t seed, int *large, Error *);
enum { CHECKED_ELEMENTS = 1 << 22 }; /* constants with more elements are not checked */
#endif
