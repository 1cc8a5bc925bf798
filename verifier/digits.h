/* digits.h -- evaluates floors, minima, digits and places of variables in a term. */
#ifndef ISOMER_DIGITS_H
#define ISOMER_DIGITS_H
#include "verifier/simplify.h"

/* Does one step: replaces the first floor, minimum, digit or place in the term that has a simpler
   value under ctx and the term's domain, or splits one of the term's variables into digits. False
   if there is nothing to do; p->split may then say which index of the output would have to be
   split. */
bool digits_resolve(Prover *, Dom ctx, NfTerm *);
#endif
