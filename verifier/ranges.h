/* ranges.h -- edits the list of a term's bound variables, and finds the ranges of variables. */
#ifndef ISOMER_RANGES_H
#define ISOMER_RANGES_H
#include "verifier/simplify.h"

/* Removes the variable from the list; the term must not mention it. */
void term_drop(Prover *, NfTerm *, Symbol variable);
void term_add(Prover *, NfTerm *, Symbol variable);
/* Replaces a bound variable of the term by `value`. */
void term_eliminate(Prover *, NfTerm *, Symbol variable, Poly value);
/* Do two of the literals of d say that 0 <= x < n, for an n without variables? lit[] gets the
   two. */
bool range_from_zero(Prover *, Dom d, Symbol x, Poly *n, Lit lit[2]);
/* The literals x >= 0 and x < n. */
Lit at_least_zero(Prover *, Symbol);
Lit less_than(Prover *, Symbol, Poly);
/* Is it shown that the polynomial is >= 0 wherever ctx holds? */
bool never_negative(Prover *, Dom ctx, Poly);
#endif
