/* check_steps.h -- checks the values that rules made, and the constants that were computed, against
   the definitions of the operators. */
#ifndef ISOMER_CHECK_STEPS_H
#define ISOMER_CHECK_STEPS_H
#include "search/run.h"

/* These functions take a finished derivation (derivation_finish). They return false with E_CHECK if
   a value that rules made differs from the original's, or a computed constant from the expression
   it was computed from. */
/* Compares the graphs as wholes if they are small enough, otherwise each application of a rule by
   itself. stats.applications and stats.applications_compared receive how many there are and how
   many were compared: in a run with several size sets, the least number of all sets. */
bool run_check_rules(Run *, const Derivation *);
/* Compares each application by itself, at these sizes; *compared receives the number of those that
   could be. The others need too many operations, or a part of them has no definition. Of the
   options, samples, seed and the data of inputs are used. */
bool derivation_check_applications(const Derivation *, Sizes, const CheckOptions *, int *compared,
                                   Error *);
/* Returns the names, in the arena, of the rules of which an application by itself differs on data
   that is far larger and smaller than usual (SAMPLE_EXTREME), run on the device of the options. */
StringList derivation_differing(const Derivation *, Arena *, Sizes, const CheckOptions *);
/* *compared receives the number of constants that could be compared. The others have more elements
   than CHECKED_ELEMENTS, or a part of their expression has no definition. */
bool derivation_check_constants(const Derivation *, uint64_t seed, int *compared, Error *);
enum { CHECKED_ELEMENTS = 1 << 22 };
#endif
