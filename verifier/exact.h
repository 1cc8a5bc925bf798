/* exact.h -- operations on floats that no float type rounds. A proof that both sides do the same
   operations (Prover.exact) may treat these as operations on real numbers. */
#ifndef ISOMER_EXACT_H
#define ISOMER_EXACT_H
#include "verifier/scope.h"

/* Is the expression a sum of integers (elements and numbers) that every float type represents, and
   are neither these elements nor the sum ever -0? */
bool exact_is_integer(Scope *, Ex);

/* The definition max(min(t + z, greatest), least) or min(max(t + z, least), greatest), where the
   two limits are those of the node's result type, an integer type of at most 8 bits, t is rounded
   to an integer, and z is an integer that floats represent. Where t + z lies within the limits,
   floats represent it, too. Outside them floats may round it, but not back across a limit, since
   they represent the limits. An infinite t saturates; a t that is NaN gives the least integer, as
   minus infinity does. So the result is the one that real numbers give. */
typedef struct Saturation {
    Ex rounded, zero; /* t and z above */
    int64_t limit[2];
} Saturation;
bool exact_is_saturated(Scope *, const ExNode *, Saturation *);
#endif
