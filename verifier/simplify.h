/* simplify.h -- simplifies forms under a context, that is, given what is known of the free
   variables where the form is used. */
#ifndef ISOMER_SIMPLIFY_H
#define ISOMER_SIMPLIFY_H
#include "verifier/apply.h"

/* Simplifies every term, and drops the guards without bound variables that follow from ctx. */
Nf simplify(Prover *, Dom ctx, Nf);

/* Splits the equation e = 0 into equations out[k] = 0 that follow from it under ctx and together
   imply it: if e is B*Q + R with |R| < B for a product B of sizes and numbers, these are Q = 0 and
   R = 0. Returns how many there are; 0 if no such B is found. */
int equation_parts(Prover *, Dom ctx, Poly e, Poly out[2]);
/* Returns 1 if the literal says x >= *bound, -1 if it says x <= *bound, and 0 if it is not a bound
   on x with coefficient 1 or -1. */
int bound_of(Prover *, Lit l, Symbol x, Poly *bound);
/* Eliminates x: replaces *dom by conditions without x under which some integer x satisfies *dom. If
   a condition on x is not a bound (bound_of), it returns false and changes nothing. A lenient
   prover drops such conditions instead, unless the value of an input's element decides them; it
   also drops conditions between bounds that mention none of `keep`. */
bool project(Prover *, Dom *dom, Symbol x, int nkeep, const Symbol *keep);
/* Simplifies an open part, and substitutes away the variables that its domain determines. */
Part part_simplify(Prover *, Dom ctx, Part);
#endif
