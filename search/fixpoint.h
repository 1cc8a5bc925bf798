/* fixpoint.h -- rules applied wherever they match, without costs. */
#ifndef ISOMER_FIXPOINT_H
#define ISOMER_FIXPOINT_H
#include "search/derive.h"

/* Where rules may be used, by values of the model: a seed anywhere, a follower only on what an
   application made. */
enum { USE_NOT, USE_FOLLOW, USE_SEED };
typedef struct Choice {
    const uint8_t *everywhere; /* by rule; NULL: by place */
    uint32_t n;                /* length of: */
    const uint8_t *const *at;  /* by value: the uses by rule there; NULL: none may be used */
    const bool *neutral;       /* by value: it has no say in the choice */
} Choice;
/* Applies the rules on[r], in library order, wherever they match and the choice (NULL: everywhere)
   allows it, until a graph recurs, the graph keeps growing, after 64 passes or `cap` applications,
   or fewer in a large World: where it ends at one of these limits, d->limited is set. Not where a
   costly inner value would be computed twice. */
bool derive_fixpoint(Derivation *, const bool on[], const Choice *, int cap, Error *);
#endif
