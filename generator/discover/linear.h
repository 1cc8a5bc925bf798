/* linear.h -- unknown constants solved for. */
#ifndef ISOMER_LINEAR_H
#define ISOMER_LINEAR_H
#include "generator/discover/answer_inner.h"

enum { HOLES = 6 };
typedef struct Sum {
    Value v;
    int nhole, nleaf;
    Value hole[HOLES]; /* inputs that stand for the unknowns */
    Value leaf[2];     /* the terms on data */
    bool shifted;      /* not linear in one of these */
} Sum;
/* The residues of the unknowns for which the sum equals the goal, in the arena, those of hole k
   from first[k] to first[k + 1]; first has HOLES + 1 places. NULL: there is no solution, more than
   one, or the system is too large. */
const uint32_t *sum_solve(Search *, Arena *, const Sum *, const Goal *, int first[]);
#endif
