/* fixpoint.h -- rules applied wherever they match, without costs. */
#ifndef ISOMER_FIXPOINT_H
#define ISOMER_FIXPOINT_H
#include "search/derive.h"

/* What a rule may do: nothing; fire only where another application made a part of its match; fire
   anywhere. */
enum { ROLE_NONE, ROLE_FOLLOWER, ROLE_SEED };
/* The roles of all rules, the same everywhere or by value of the model. */
typedef struct RuleScope {
    const uint8_t *everywhere; /* roles by rule; NULL: they are by value, as follows */
    uint32_t n;                /* values: the length of both arrays */
    const uint8_t *const *at;  /* by value: the roles by rule there; NULL: no rule has one */
    const bool *neutral;       /* by value: where it lies restricts no rule */
} RuleScope;
typedef struct FixpointLimits {
    int applications;
    bool (*over)(const void *user); /* asked before each round; true: it ends. NULL: never */
    const void *user;
} FixpointLimits;
/* Applies the rules with on[r], in library order, wherever they match and the scope (NULL:
   everywhere) allows it, except where an expensive inner value would be computed twice; after each
   pass those that tidy (library.h), as long as they can. It ends when a graph recurs, but for its
   constants (what was applied since then is forgotten), or keeps growing; or at a limit, and then
   d->limited is set: 64 passes, so many applications, fewer in a large World, or because the caller
   says so. What was applied until then stands. */
bool derive_fixpoint(Derivation *, const bool on[], const RuleScope *, FixpointLimits, Error *);
/* Calls `seen` with each match that derive_fixpoint would apply next if its conditions hold: the
   rule and the nodes of the match. */
void fixpoint_next(Derivation *, const bool on[], const RuleScope *,
                   void (*seen)(void *user, int rule, NodeList), void *user);
#endif
