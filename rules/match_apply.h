/* match_apply.h -- builds the right side of a rule at a match. */
#ifndef ISOMER_MATCH_APPLY_H
#define ISOMER_MATCH_APPLY_H
#include "rules/match.h"

/* Builds the right side in the World; to[k] becomes the replacement of match->root[k]. Returns
   false with the reason if it does not type-check there, or if a condition, a need or an equality
   of types is not entailed by the facts. */
bool match_apply(World *, Arena *, Facts *, const Match *, Value to[], Error *);

/* Whether the conditions of the rule, its own and those of its proof, are entailed at the match.
   match_apply checks this first. */
bool match_holds(World *, Arena *, Facts *, const Match *);
#endif
