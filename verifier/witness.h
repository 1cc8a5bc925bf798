/* witness.h -- quick "yes": a point that satisfies a set of conditions, found by trying. Most questions that are
   not to be answered "entailed" are settled here, without a solver. */
#ifndef ISOMER_WITNESS_H
#define ISOMER_WITNESS_H
#include "ops/core/expr.h"

typedef struct Witness Witness;
Witness *witness_new(World *, Arena *);
void witness_fact(Witness *, Lit);
/* True: some point satisfies the facts, the n conditions and `also` (NULL: nothing more). */
bool witness_find(Witness *, int n, const Lit *, const Lit *also);
#endif
