/* splits.h -- splits indices of an output into digits. An index that runs over a multiple of a
   radix is replaced by high * radix + low, which is a one-to-one change of variables. The splits
   made when values are compared are noted, so that they can be repeated when the elements that are
   read are compared. */
#ifndef ISOMER_SPLITS_H
#define ISOMER_SPLITS_H
#include "verifier/normal.h"

enum { SPLITS_MAX = 12 }; /* splits of one output */
/* The splits of an output's indices, in the order in which they were made. */
typedef struct IndexSplits {
    int n;
    struct {
        int at; /* the position in p->index, including the digits appended before */
        Poly radix, count;
    } split[SPLITS_MAX];
} IndexSplits;

/* Replaces split.variable by the digits high and low, which are appended to p->index: sets *m to
   the substitution and returns the ranges of the digits. */
Dom split_index(Prover *, Split, Map *m);
/* Notes a split. It is noted only if all earlier ones of this output were, and if its radix and
   count depend on no variables. */
void splits_note(Prover *, IndexSplits *, Split);
#endif
