/* match_apply.h -- what the right side of a rule is at a match. */
#ifndef ISOMER_MATCH_APPLY_H
#define ISOMER_MATCH_APPLY_H
#include "rules/match.h"

/* Builds the right side in the world: to[k] is what replaces match->root[k]. False, with the
   reason: it does not type-check there, or a condition, a need or an equality of types is not
   entailed. */
bool match_apply(World *, Arena *, Facts *, const Match *, Value to[], Error *);

/* Whether the conditions of the rule, its own and those of its proof, are entailed at the match:
   the first thing that match_apply asks. */
bool match_holds(World *, Arena *, Facts *, const Match *);
#endif
