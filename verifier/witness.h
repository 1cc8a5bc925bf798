/* witness.h -- quick "yes": a point that satisfies a set of conditions, found by trying. Most
   questions that are not to be answered "entailed" are settled here, without a solver. */
#ifndef ISOMER_WITNESS_H
#define ISOMER_WITNESS_H
#include "ops/core/expr.h"

typedef struct Lits {
    int n;
    const Lit *v;
} Lits;
void lits_print(World *, Lits, Text *);
typedef struct WitnessMember { /* `count` times the indicator of a set of points */
    int64_t count;
    Lits dom;
} WitnessMember;
typedef struct Witness Witness;
Witness *witness_new(World *, Arena *);
void witness_fact(Witness *, Lit);
/* True: some point satisfies the facts, the n conditions and `also` (NULL: nothing more). */
bool witness_find(Witness *, int n, const Lit *, const Lit *also);
/* True: at some point that satisfies the facts and the n conditions the counts of the members that
   hold there do not add up to 0. Such points are looked for where a member holds. */
bool witness_unbalanced(Witness *, int n, const Lit *, int nmember, const WitnessMember *);
#endif
