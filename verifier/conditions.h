/* conditions.h -- conditions on indices and sizes: sets of literals, interned, so that equal
   numbers mean the same set. Nothing here asks the solver. */
#ifndef ISOMER_CONDITIONS_H
#define ISOMER_CONDITIONS_H
#include "verifier/solver.h"

typedef struct Prover Prover; /* normal.h */
typedef uint32_t Dom;         /* interned set of literals; 0: true everywhere */
typedef struct Map {          /* variables to polynomials */
    int n;
    const Symbol *from;
    const Poly *to;
} Map;

enum { DOM_TRUE = 0 };
Dom dom_make(Prover *, int n, const Lit *);
Dom dom_and(Prover *, Dom, Dom);
Dom dom_with(Prover *, Dom, Lit);
Dom dom_without(Prover *, Dom, Lit);
Lits dom_lits(Prover *, Dom);
bool dom_false(Prover *, Dom); /* plainly false */
bool dom_has(Prover *, Dom, Lit);
Dom dom_subst(Prover *, Dom, Map);
bool dom_mentions(Prover *, Dom, Symbol);
Lit lit_ge(Prover *, Poly a, Poly b); /* a >= b */
Lit lit_eq(Prover *, Poly a, Poly b);
int lit_truth(Prover *, Lit *);            /* in lowest terms; 1 true, 0 false, -1 depends */
int lit_negate(Prover *, Lit, Lit out[2]); /* its negation as one or two disjoint literals */
bool lit_mentions(Prover *, Lit, int n, const Symbol *);
void dom_print(Prover *, Dom, Text *);
#endif
