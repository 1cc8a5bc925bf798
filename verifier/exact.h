/* exact.h -- operations of floats that no float type rounds: a proof that both sides do the same
   ones (Prover's exact) takes them for those of real numbers. */
#ifndef ISOMER_EXACT_H
#define ISOMER_EXACT_H
#include "verifier/scope.h"

/* A sum of integers, elements and numbers, that every float type holds and that is never -0. */
bool exact_is_integer(Scope *, Ex);

/* max(min(t + z, greatest), least) or min(max(t + z, least), greatest) with the limits of the
   node's result, an integer of at most 8 bits; t is rounded to an integer, and z is one that floats
   hold. Where t + z lies between the limits it is held, too; beyond them floats may round it, but
   not back across a limit, which they hold. An infinite t saturates, and one that is not a number
   gives the least integer, as minus infinity does. So the result is that of real numbers. */
typedef struct Saturation {
    Ex rounded, zero; /* t and z */
    int64_t limit[2];
} Saturation;
bool exact_is_saturated(Scope *, const ExNode *, Saturation *);
#endif
