/* fixpoint.h -- rules applied wherever they match, without costs. */
#ifndef ISOMER_FIXPOINT_H
#define ISOMER_FIXPOINT_H
#include "search/derive.h"

/* Where rules may be used, by values of the model: a seed anywhere; what follows only on what an
   application made. */
enum { USE_NOT, USE_FOLLOW, USE_SEED };
typedef struct Choice {
    const uint8_t *everywhere; /* by rule; NULL: by place */
    uint32_t n;                /* length of: */
    const uint8_t *const *at;  /* by value: the uses by rule there; NULL: none may be used */
    const bool *neutral;       /* by value: it decides nothing */
} Choice;
/* Rules on[r] in library order wherever they match and the choice (NULL: none is made) lets them,
   until a graph comes again, it keeps growing or `cap` applications were made. Not where a costly
   inner value would be computed twice. */
bool derive_fixpoint(Derivation *, const bool on[], const Choice *, int cap, Error *);
#endif
