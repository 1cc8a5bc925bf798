/* cases.h -- shows that a difference of two forms is zero, by questions about real numbers. */
#ifndef ISOMER_CASES_H
#define ISOMER_CASES_H
#include "verifier/reals.h"

/* True: the form is 0 at every point of ctx, for all inputs. False: that was not shown. */
bool reals_zero(Prover *, Dom ctx, Nf);
#endif
