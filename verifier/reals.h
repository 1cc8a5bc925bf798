/* reals.h -- identities of real numbers that no normal form shows. */
#ifndef ISOMER_REALS_H
#define ISOMER_REALS_H
#include "verifier/simplify.h"

typedef struct RealSign {
    Nf nf;
    bool nonzero; /* nf != 0; else nf >= 0 */
} RealSign;
/* The form, without free guards, is 0 at every point of ctx where these signs are given. */
bool reals_zero_given(Prover *, Dom ctx, Nf, int n, const RealSign *given);
/* At a point of ctx where all of these hold, the goal does. Forms have no free guards. false: not
   shown. */
bool reals_follow(Prover *, Dom ctx, int n, const RealSign *given, RealSign goal);
#endif
