/* digits.h -- floors, minima, digits and places of variables in a term. */
#ifndef ISOMER_DIGITS_H
#define ISOMER_DIGITS_H
#include "verifier/simplify.h"

/* One step: the first floor, minimum, digit or place of the term that has a simpler value
   under ctx and the term's domain is replaced by it. False: there is none; p->split may then say
   which index of the output would have to be split. */
bool digits_resolve(Prover *, Dom ctx, NfTerm *);
#endif
