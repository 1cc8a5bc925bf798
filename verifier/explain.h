/* explain.h -- writes the steps of a proof as lines of its trace (trace.h). Nothing here changes a
   proof, and nothing is done if nobody reads the trace. */
#ifndef ISOMER_EXPLAIN_H
#define ISOMER_EXPLAIN_H
#include "verifier/apply.h"

void explain_form(Prover *, const char *title, Nf);
void explain_facts(Prover *, int n, const Lit *);
/* A variable or another symbol equals `value` where `given` holds; `why` names the step that shows
   it. */
void explain_value(Prover *, const char *why, Symbol, Poly value, Dom given);
/* The equation e = 0 is replaced by the equations parts[k] = 0. */
void explain_equation(Prover *, Poly e, int n, const Poly *parts);
/* A sum over the symbol, on which nothing depends, is n times its body. */
void explain_count(Prover *, Symbol, Poly n);
void explain_cases(Prover *, int n, const Cell *); /* the cells into which a form is split */
/* The change of variables under which two terms match. */
void explain_change(Prover *, int n, const Symbol *, const Poly *value);
#endif
