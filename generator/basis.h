/* basis.h -- decides which rules follow from which. Equations between terms are indexed by the
   codes of both sides, and a bounded search rewrites one term into another with them. */
#ifndef ISOMER_BASIS_H
#define ISOMER_BASIS_H
#include "generator/candidates.h"

typedef struct Basis Basis;
Basis *basis_new(Space *, Arena *);
/* Adds the equation a = b between terms over common variables. It holds for all terms in place of
   its variables; it is also entered with equal variables. ranks: the axis blocks to which it was
   lifted, as bits (lift.h). */
void basis_add(Basis *, const Term *a, const Term *b, unsigned ranks);
/* The codes that a derivation looked up. The derivation gives the same answer as long as no
   equation with one of these codes is added. */
typedef struct BasisTrace {
    Arena *arena;
    uint32_t n, room;
    uint64_t *code; /* hashes of the codes */
} BasisTrace;
/* The number of rewritings so far: each equation makes several. */
uint32_t basis_count(const Basis *);
/* Whether one of the rewritings added since basis_count was `since` could change the traced
   derivation. */
bool basis_touched(const Basis *, uint32_t since, const BasisTrace *);
typedef struct BasisSearch {
    int terms, operators; /* limits: terms that are looked at, and operators of each */
    unsigned ranks;       /* uses only equations that have all these axis blocks */
} BasisSearch;
/* The number of steps from a to b, each of which applies one equation, or -1 if the search finds no
   such chain. The Space must be the calling thread's own. The trace, which may be NULL, is
   extended. */
int basis_derive(const Basis *, Space *, const Term *a, const Term *b, BasisSearch, BasisTrace *);
/* Both sides of result k of a candidate as terms over its variables. Returns false if one is too
   large. */
bool candidate_terms(const Space *, const Candidate *, int k, Term *from, Term *to);
#endif
