/* reals.h -- identities of real numbers that normal forms do not show; Z3 is asked about them. */
#ifndef ISOMER_REALS_H
#define ISOMER_REALS_H
#include "verifier/simplify.h"

typedef struct RealSign {
    Nf nf;
    bool nonzero; /* true: nf != 0; false: nf >= 0 */
} RealSign;
/* True: the form is 0 at every point of ctx where the given signs hold. False: that was not shown.
   No form has free guards. */
bool reals_zero_given(Prover *, Dom ctx, Nf, int n, const RealSign *given);
/* True: at every point of ctx where the given signs hold, so does the goal. False: that was not
   shown. No form has free guards. */
bool reals_follow(Prover *, Dom ctx, int n, const RealSign *given, RealSign goal);
#endif
