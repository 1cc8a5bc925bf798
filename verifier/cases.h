/* cases.h -- a difference of forms as questions about real numbers. */
#ifndef ISOMER_CASES_H
#define ISOMER_CASES_H
#include "verifier/reals.h"

/* The form is 0 at every point of ctx, whatever the inputs. false: not shown. */
bool reals_zero(Prover *, Dom ctx, Nf);
#endif
