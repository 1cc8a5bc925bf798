/* basis.h -- which rules give which: equations between terms, indexed by the code of either side,
   and a bounded search that rewrites one term into another with them. */
#ifndef ISOMER_BASIS_H
#define ISOMER_BASIS_H
#include "generator/candidates.h"

typedef struct Basis Basis;
Basis *basis_new(Space *, Arena *);
/* The equation holds for all terms in place of its variables; equal variables are tried too. a and
   b share variables. ranks: the axis blocks it was lifted to, as bits (lift.h). */
void basis_add(Basis *, const Term *a, const Term *b, unsigned ranks);
/* What a derivation asked for: it comes out the same while no equation with one of these codes is
   added. */
typedef struct BasisTrace {
    Arena *arena;
    uint32_t n, room;
    uint64_t *code; /* hashes */
} BasisTrace;
uint32_t basis_count(const Basis *);
/* By equations added when there were `since`. */
bool basis_touched(const Basis *, uint32_t since, const BasisTrace *);
typedef struct BasisSearch {
    int terms, operators; /* that are looked at, and of one of them: at most */
    unsigned ranks;       /* only by equations that have these axis blocks */
} BasisSearch;
/* Steps from a to b, each one use of an equation: how many, -1: not found (or not so near). The
   Space is the calling thread's own; the trace, which may be NULL, grows. */
int basis_derive(const Basis *, Space *, const Term *a, const Term *b, BasisSearch, BasisTrace *);
/* Both sides of result k of a candidate as terms over its variables; false: too large. */
bool candidate_terms(const Space *, const Candidate *, int k, Term *from, Term *to);
#endif
