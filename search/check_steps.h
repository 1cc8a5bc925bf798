/* check_steps.h -- what rules made, and constants that were computed, by definitions. */
#ifndef ISOMER_CHECK_STEPS_H
#define ISOMER_CHECK_STEPS_H
#include "search/run.h"

/* Of a finished derivation; E_CHECK: what rules made, or a constant that was computed, is not what
   it was made of. What is too large to be computed by definitions passes. */
bool run_check_rules(Run *, const Derivation *);
bool run_check_constants(Run *, const Derivation *);
#endif
