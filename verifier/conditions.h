/* conditions.h -- conditions on indices and sizes. A Dom is an interned set of literals (p = 0 or
   p >= 0) that all hold; equal numbers mean the same set. Nothing here asks the solver. */
#ifndef ISOMER_CONDITIONS_H
#define ISOMER_CONDITIONS_H
#include "verifier/solver.h"

typedef struct Prover Prover; /* normal.h */
typedef uint32_t Dom;         /* an interned set of literals; 0 is true everywhere */
typedef struct Map {          /* a substitution: from[k] becomes to[k] */
    int n;
    const Symbol *from;
    const Poly *to;
} Map;

enum { DOM_TRUE = 0 };
/* The conjunction of n literals. Literals are put in lowest terms, those that are always true are
   dropped, and a set with a literal that is always false becomes the one set for which dom_false
   holds. */
Dom dom_make(Prover *, int n, const Lit *);
Dom dom_and(Prover *, Dom, Dom);
Dom dom_with(Prover *, Dom, Lit);
Dom dom_without(Prover *, Dom, Lit);
Lits dom_lits(Prover *, Dom);
bool dom_false(Prover *, Dom); /* contains a literal that is always false */
bool dom_has(Prover *, Dom, Lit);
Dom dom_subst(Prover *, Dom, Map);
bool dom_mentions(Prover *, Dom, Symbol);
Lit lit_ge(Prover *, Poly a, Poly b); /* a >= b */
Lit lit_eq(Prover *, Poly a, Poly b);
int lit_truth(Prover *, Lit *); /* Puts the literal in lowest terms. Returns 1 if it is always true,
                                   0 if it is never true, -1 if that depends on its symbols. */
int lit_negate(Prover *, Lit, Lit out[2]); /* Writes the negation as disjoint literals, one of which
                                              holds; returns how many: 1 or, for an equation, 2. */
bool lit_mentions(Prover *, Lit, int n, const Symbol *);
void dom_print(Prover *, Dom, Text *);
#endif
