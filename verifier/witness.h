/* witness.h -- tries to answer a question about integers by a point: it searches for values of the
   symbols that satisfy a set of conditions. Most questions whose answer is not "entailed" are
   settled here, without Z3. */
#ifndef ISOMER_WITNESS_H
#define ISOMER_WITNESS_H
#include "ops/core/expr.h"

typedef struct Lits {
    int n;
    const Lit *v;
} Lits;
void lits_print(World *, Lits, Text *); /* prints the conditions, separated by commas */
typedef struct WitnessMember { /* `count` at the points where all of `dom` holds, 0 elsewhere */
    int64_t count;
    Lits dom;
} WitnessMember;
typedef struct Witness Witness;
Witness *witness_new(World *, Arena *);
void witness_fact(Witness *, Lit); /* adds a condition that holds in all questions */
/* True: there is a point that satisfies the facts, the n conditions and `also` (NULL: nothing
   more). False: none was found. */
bool witness_find(Witness *, int n, const Lit *, const Lit *also);
/* True: there is a point that satisfies the facts and the n conditions and at which the counts of
   the members that hold do not add up to 0. Such points are looked for where one of the first few
   members holds. False: none was found. */
bool witness_unbalanced(Witness *, int n, const Lit *, int nmember, const WitnessMember *);
#endif
