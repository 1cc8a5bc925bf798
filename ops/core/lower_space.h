/* lower_space.h -- what the files of lowering share: the indices over which a step runs, and
   elements of inputs at index polynomials as views. */
#ifndef ISOMER_LOWER_SPACE_H
#define ISOMER_LOWER_SPACE_H
#include "ops/core/lower.h"

enum { SPACE_AXES = 2 * RANK_MAX };
typedef struct SpaceIndex { /* the symbol is the sum of k times the index on the axis */
    Symbol symbol;
    int axis;
    int64_t k;
} SpaceIndex;
typedef struct LowerSpace { /* the axes of the output, then those of bound variables */
    World *w;
    Sizes sizes;
    int n, nindex;
    int64_t extent[SPACE_AXES];
    SpaceIndex index[SPACE_AXES];
} LowerSpace;
LowerSpace space_new(World *, Sizes, const View *like);
/* One more axis; false: its size is not known, or there are too many. */
bool space_bind(LowerSpace *, Symbol bound);
/* Likewise of all variables that x binds; where there are too many axes, those of a single place
   get none. */
bool space_bind_all(LowerSpace *, const ExNode *x);
bool space_size(const LowerSpace *, Poly, int64_t *);
/* The element read, as a view of all axes of the space; false: it is not a view. */
bool space_view(const LowerSpace *, const ExNode *at, const View *x, View *out);
/* Takes axes apart, of the space and of the output, whose quotients or remainders the expression
   reads; false: there are none. */
bool space_split(LowerSpace *, Ex, View *like);
#endif
