/* facts.h -- what is known about sizes, and whether it implies a condition. The procedure is sound
   but incomplete and uses no solver: a "no" means "not shown". */
#ifndef ISOMER_FACTS_H
#define ISOMER_FACTS_H
#include "ops/core/expr.h"

typedef struct Facts Facts;
/* New facts know that sizes, indices and numbers that depend on data are >= 0, and what the
   definitions of floor, min, digits and bound variables say. */
Facts *facts_new(World *, Arena *);
void facts_assume(Facts *, Lit);
/* Sets the lower bound of a symbol; INT64_MIN: it has none, as for an integer attribute that may be
   negative. To be called before anything is assumed about the symbol. */
void facts_at_least(Facts *, Symbol, int64_t);
/* Whether the literal follows. Tries solved equations, then lower bounds of monomials, then
   combinations with assumed inequalities. */
bool facts_entail(Facts *, Lit);
/* Substitutes all solved symbols. Polynomials with equal results are equal under the facts. Returns
   p itself if the substitution overflows. */
Poly facts_reduce(Facts *, Poly);
#endif
