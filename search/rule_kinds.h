/* rule_kinds.h -- what the search wants to know of a rule beyond whether it matches. */
#ifndef ISOMER_RULE_KINDS_H
#define ISOMER_RULE_KINDS_H
#include "rules/rule.h"

/* Both sides only move elements, and the right one takes fewer steps. */
bool rule_shortens_moves(World *, const Instance *);
/* Both sides do little with each element (no contraction), the right one has no operator beyond
   those of the left one, and its nodes write fewer elements. Any number of applications of such
   rules, and of those that shorten moves, comes to an end. */
bool rule_lightens(World *, const Instance *);
/* Its left side computes bytes between two of its operators, and its right side none of that
   type. */
bool rule_retypes(World *, const Instance *);
/* Its right side makes signed or unsigned bytes, and its left side has none of these. */
bool rule_changes_bytes(World *, const Instance *);
#endif
