/* fixpoint.h -- applies rules wherever they match, without regard to costs. */
#ifndef ISOMER_FIXPOINT_H
#define ISOMER_FIXPOINT_H
#include "search/derive.h"

/* What a rule may do at a value: nothing; be applied only where another application made a part of
   its match; be applied anywhere. */
enum { ROLE_NONE, ROLE_FOLLOWER, ROLE_SEED };
/* The roles of all rules, either the same everywhere or by value of the model. */
typedef struct RuleScope {
    /* By rule: its role; NULL: the roles are given by value, as follows. */
    const uint8_t *everywhere;
    uint32_t n;               /* length of the following arrays */
    const uint8_t *const *at; /* by value: the roles of all rules there; NULL: no rule has one */
    const bool *neutral;      /* by value: it does not restrict which rules may be applied */
} RuleScope;
typedef struct FixpointLimits {
    int applications; /* of rules, at most */
    /* Asked before each attempt to apply a rule; true: the derivation ends. NULL: never. */
    bool (*over)(void *user);
    void *user;
} FixpointLimits;
/* Applies the rules with on[r], in library order, wherever they match and the scope (NULL:
   everywhere) allows it, unless an expensive inner value would then be computed twice. After each
   pass, the rules that tidy (library.h) are applied as long as they can be.

   The derivation ends when nothing is left to apply; when a graph recurs apart from its constants,
   in which case the applications since then are forgotten (d->undone: that is, all of them); when
   the graph keeps growing; or at a limit, in which case d->limited is set: 64 passes, the given
   number of applications (fewer in a large World), or limits.over. Applications made before a limit
   stand. Returns false with the error set on failure. */
bool derive_fixpoint(Derivation *, const bool on[], const RuleScope *, FixpointLimits, Error *);
/* Calls `seen` for each match that derive_fixpoint would apply next if its conditions hold, with
   the rule and the nodes of the match. */
void fixpoint_next(Derivation *, const bool on[], const RuleScope *,
                   void (*seen)(void *user, int rule, NodeList), void *user);
#endif
