/* reals.h -- identities of real numbers that no normal form shows. */
#ifndef ISOMER_REALS_H
#define ISOMER_REALS_H
#include "verifier/simplify.h"

/* The form is 0 at every point of ctx, whatever the inputs. false: not shown. */
bool reals_zero(Prover *, Dom ctx, Nf);
#endif
