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
    const bool *neutral;       /* by value: it does not take part in the choice */
} Choice;
/* Applies the rules with on[r], in library order, wherever they match and the choice (NULL:
   everywhere) allows it, except where an expensive inner value would be computed twice. It ends
   when a graph recurs or keeps growing; or at a limit, and then d->limited is set: 64 passes, `cap`
   applications, fewer in a large World. */
bool derive_fixpoint(Derivation *, const bool on[], const Choice *, int cap, Error *);
#endif
