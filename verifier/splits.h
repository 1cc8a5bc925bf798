/* splits.h -- the indices of an output as digits: an index that runs over a multiple of a radix is
   high * radix + low, which is one to one. What was split for the values is split alike where it is
   asked which elements they read. */
#ifndef ISOMER_SPLITS_H
#define ISOMER_SPLITS_H
#include "verifier/normal.h"

enum { SPLITS_MAX = 12 };    /* of an output */
typedef struct IndexSplits { /* of an output's indices, in turn */
    int n;
    struct {
        int at; /* which of p->index, as many as they are by then */
        Poly radix, count;
    } split[SPLITS_MAX];
} IndexSplits;

/* Appends high and low to p->index, in place of which index they come is in *m: their ranges. */
Dom split_index(Prover *, Split, Map *m);
/* Keeps a split that comes next, as long as none has depended on other indices. */
void splits_note(Prover *, IndexSplits *, Split);
#endif
