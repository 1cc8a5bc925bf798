/* lower_space.h -- shared by the files of lowering: the indices over which a step runs, and views
   of input elements at index polynomials. */
#ifndef ISOMER_LOWER_SPACE_H
#define ISOMER_LOWER_SPACE_H
#include "ops/core/lower.h"

enum { SPACE_AXES = 2 * RANK_MAX };
typedef struct SpaceIndex { /* a symbol is the sum of factor * (index on `axis`) over all entries
                               that have it */
    Symbol symbol;
    int axis;
    int64_t factor;
} SpaceIndex;
typedef struct LowerSpace { /* n axes: those of the output, then those of bound variables */
    World *w;
    Sizes sizes;
    int n, nindex;
    int64_t extent[SPACE_AXES];
    SpaceIndex index[SPACE_AXES];
} LowerSpace;
/* A space with the axes of `like`, which the index symbols i0, i1, .. stand for. */
LowerSpace space_new(World *, Sizes, const View *like);
/* Adds an axis for a bound variable; false: its size is not known, or there are too many axes. */
bool space_bind(LowerSpace *, Symbol bound);
/* Likewise for all variables that x binds. If there are too many axes, variables with a single
   value get none. */
bool space_bind_all(LowerSpace *, const ExNode *x);
/* Evaluates a polynomial of sizes; false: it has no value. */
bool space_size(const LowerSpace *, Poly, int64_t *);
/* Makes the EX_AT `at` a view of input x over all axes of the space; false: it is not affine. */
bool space_view(const LowerSpace *, const ExNode *at, const View *x, View *out);
/* Splits axes, of the space and of the output `like`, whose quotients or remainders the expression
   reads. False: there are none, or the axes would be too many; nothing is changed. */
bool space_split(LowerSpace *, Ex, View *like);
#endif
