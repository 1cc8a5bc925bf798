/* rule_kinds.h -- properties of a rule that the search uses to decide when to apply it. */
#ifndef ISOMER_RULE_KINDS_H
#define ISOMER_RULE_KINDS_H
#include "rules/rule.h"

/* Both sides only move elements, and the right side takes fewer steps. */
bool rule_shortens_moves(World *, const Instance *);
/* Both sides do little with each element (no contraction), the right side has no operator that the
   left side lacks, and its nodes write fewer elements. Applying such rules, and rules that shorten
   moves, always terminates. */
bool rule_lightens(World *, const Instance *);
/* The left side computes bytes of some type between two of its operators, and the right side none
   of that type. */
bool rule_retypes(World *, const Instance *);
/* The right side makes signed or unsigned bytes, and the left side has no bytes of that kind. */
bool rule_changes_bytes(World *, const Instance *);
#endif
