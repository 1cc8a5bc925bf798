/* simplify.h -- normalizing under a context: what is known of the free variables where the form is
   used. */
#ifndef ISOMER_SIMPLIFY_H
#define ISOMER_SIMPLIFY_H
#include "verifier/apply.h"

/* Every term normalized; guards without bound variables that follow from ctx are dropped. */
Nf simplify(Prover *, Dom ctx, Nf);

/* An equation under ctx as equations that follow from it and together imply it, from B*Q + R = 0
   and |R| < B for a product B of sizes and numbers; 0: no such B. */
int equation_parts(Prover *, Dom ctx, Poly e, Poly out[2]);
/* The polynomial that x must be for e = 0, x occurring in e once, alone, with coefficient 1 or
   -1. */
bool solve_for(Prover *, Poly e, Symbol x, Poly *value);
/* l bounds x from below (side 1: x >= *bound) or from above (side -1: x <= *bound) with coefficient
   1. */
int bound_of(Prover *, Lit l, Symbol x, Poly *bound);
/* Replaces *dom by the conditions, without x, under which some integer x satisfies it. False, and
   nothing is changed: a condition on x is no bound with coefficient 1 (bound_of). In a lenient
   prover such conditions are dropped instead, and so are those that mention none of `keep`. */
bool project(Prover *, Dom *dom, Symbol x, int nkeep, const Symbol *keep);
/* Substitutes away variables of a part that its domain determines. */
Part part_simplify(Prover *, Dom ctx, Part);
#endif
