/* facts.h -- what is known of sizes, and a small sound procedure that says whether it entails a
   condition. "No" means "not shown". No solver. */
#ifndef ISOMER_FACTS_H
#define ISOMER_FACTS_H
#include "ops/core/expr.h"

typedef struct Facts Facts;
/* Knows that names, indices and data symbols are >= 0, and what defines floor, min, digits and
   bound variables. */
Facts *facts_new(World *, Arena *);
void facts_assume(Facts *, Lit);
/* A lower bound; INT64_MIN: none, for an integer attribute that may be negative. Before what is
   assumed of it. */
void facts_at_least(Facts *, Symbol, int64_t);
/* By solved equalities, then bounds of monomials, then adding assumed inequalities. */
bool facts_entail(Facts *, Lit);
/* Solved symbols substituted away: equal results mean equal under the facts. p itself where that
   overflows. */
Poly facts_reduce(Facts *, Poly);
#endif
