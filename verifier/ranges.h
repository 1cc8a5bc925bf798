/* ranges.h -- the bound variables of a term, and the ranges over which variables run. */
#ifndef ISOMER_RANGES_H
#define ISOMER_RANGES_H
#include "verifier/simplify.h"

void term_drop(Prover *, NfTerm *, Symbol variable); /* only from the list of variables */
void term_add(Prover *, NfTerm *, Symbol variable);
void term_eliminate(Prover *, NfTerm *, Symbol variable, Poly value);
/* 0 <= x < n for an n without variables, as two of the literals of d. */
bool range_from_zero(Prover *, Dom d, Symbol x, Poly *n, Lit lit[2]);
Lit at_least_zero(Prover *, Symbol);
Lit less_than(Prover *, Symbol, Poly);
bool never_negative(Prover *, Dom ctx, Poly);
#endif
