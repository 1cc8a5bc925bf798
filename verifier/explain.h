/* explain.h -- the steps of a proof as lines of its trace (trace.h). Nothing here changes a proof;
   without a reader nothing is done. */
#ifndef ISOMER_EXPLAIN_H
#define ISOMER_EXPLAIN_H
#include "verifier/apply.h"

void explain_form(Prover *, const char *title, Nf);
void explain_facts(Prover *, int n, const Lit *);
/* A variable or another symbol is this where `given` holds: why says by which step. */
void explain_value(Prover *, const char *why, Symbol, Poly value, Dom given);
void explain_equation(Prover *, Poly e, int n, const Poly *parts); /* e = 0 where these are 0 */
void explain_count(Prover *, Symbol, Poly n);
void explain_cases(Prover *, int n, const Cell *);
void explain_change(Prover *, int n, const Symbol *, const Poly *value);
#endif
