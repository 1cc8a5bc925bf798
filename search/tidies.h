/* tidies.h -- which rules only ever take work away. */
#ifndef ISOMER_TIDIES_H
#define ISOMER_TIDIES_H
#include "rules/rule.h"

/* Either both sides only move elements and the right one takes fewer steps, or both do little with
   each element (no contraction), the right one has no operator beyond those of the left one, and
   its nodes write fewer elements. So any number of applications of such rules comes to an end. */
bool rule_tidies(World *, const Instance *);
#endif
