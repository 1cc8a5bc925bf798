/* relate.h -- compares rules with rules: which of some rules follow from known ones; which were
   proved, their basis, and which of them the search should use. */
#ifndef ISOMER_RELATE_H
#define ISOMER_RELATE_H
#include "generator/minimize.h"

/* Writes a line for each given rule: whether it follows from the known rules, and from which. The
   last line has the counts. *missing becomes the number of rules that do not follow. */
bool relate_derive(Arena *, const RuleSet *given, const RuleSet *known, Text *out, int *missing,
                   Error *);
typedef struct RelateCounts {
    int rules, proved, conditional, refuted, unknown, basis;
} RelateCounts;
/* Splits the output of verify-rules into three texts: the proved rules, with the comment "basis" on
   those that the rest does not imply; that basis alone (NULL: it is not computed); and the rules
   that are not proved. */
bool relate_part(const Minimize *, const RuleSet *verdicts, Text *proved, Text *basis, Text *rest,
                 RelateCounts *, Error *);
/* Writes the search set of proved rules. The right side of a gain is never more expensive than its
   left side. For a trade, sizes or constants decide which side is cheaper, so it is written in both
   directions. Reversed rules have no verdict yet. */
bool relate_search(const Minimize *, const RuleSet *proved, Text *gains, Text *trades, Error *);
extern const EGraphLimits minimize_limits; /* enough for rules with four operators */
#endif
