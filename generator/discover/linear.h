/* linear.h -- solves for unknown constants. */
#ifndef ISOMER_LINEAR_H
#define ISOMER_LINEAR_H
#include "generator/discover/answer_inner.h"

enum { HOLES = 6 };
/* A graph over terms on data that is linear in unknown constants. */
typedef struct Sum {
    Value v;
    int nhole, nleaf;
    Value hole[HOLES]; /* inputs that stand for the unknown constants */
    Value leaf[2];     /* the terms on data that it uses */
    bool shifted;      /* not linear in one of the leaves */
} Sum;
/* Solves for the unknowns with which the sum equals the goal. Returns their residues in the arena;
   those of hole k are at first[k] up to first[k + 1], and `first` must have room for HOLES + 1
   numbers. Returns NULL if there is no solution or more than one, or if the system is too large. */
const uint32_t *sum_solve(Search *, Arena *, const Sum *, const Goal *, int first[]);
#endif
