/* equal.h -- whether normal forms are equal under a context. */
#ifndef ISOMER_EQUAL_H
#define ISOMER_EQUAL_H
#include "verifier/simplify.h"

bool forms_equal(Prover *, Dom ctx, Nf, Nf); /* at every point of ctx */
bool atoms_equal(Prover *, Dom ctx, Atom, Atom);
#endif
