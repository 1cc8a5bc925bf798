/* literals.h -- the numbers of a rule, and what becomes of them in floating point. */
#ifndef ISOMER_LITERALS_H
#define ISOMER_LITERALS_H
#include "rules/rule.h"

typedef struct Literals {
    bool unfit;  /* one is not a number of the element type it is used in, so that it is rounded */
    bool differ; /* such a one is rounded on one side only, or in another type */
    bool divide; /* exp or a division occurs */
    bool jump;   /* a function that is not continuous occurs: floor, round, sign, .. */
} Literals;
/* Both graphs must be free of composites. */
Literals literals_of(World *, Arena *, const Instance *);
bool type_holds(DType, int64_t p, int64_t q); /* p/q as it is */
#endif
