/* check_steps.h -- checks what rules made, and the computed constants, by definitions. */
#ifndef ISOMER_CHECK_STEPS_H
#define ISOMER_CHECK_STEPS_H
#include "search/run.h"

/* For a finished derivation. E_CHECK: a value that rules made, or a computed constant, differs from
   what it was made from. Values that are too large to be computed by definitions pass: *large
   counts the constants among them. */
bool run_check_rules(const Run *, const Derivation *);
bool derivation_check_constants(const Derivation *, uint64_t seed, int *large, Error *);
enum { CHECKED_ELEMENTS = 1 << 22 }; /* of a constant, at most */
#endif
