/* equal.h -- equality of normal forms and of atoms under a context. */
#ifndef ISOMER_EQUAL_H
#define ISOMER_EQUAL_H
#include "verifier/simplify.h"

/* True: the two are equal at every point of ctx. False: that was not shown. */
bool forms_equal(Prover *, Dom ctx, Nf, Nf);
/* The same for atoms. */
bool atoms_equal(Prover *, Dom ctx, Atom, Atom);
#endif
