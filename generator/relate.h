/* relate.h -- rules compared with rules: which of the given ones follow from known ones; what was
   proved, its basis, and what search wants of it. */
#ifndef ISOMER_RELATE_H
#define ISOMER_RELATE_H
#include "generator/minimize.h"

/* One line for each given rule: whether it follows from the known ones, and by which; the last line
   has the counts. *missing: how many do not. */
bool relate_derive(Arena *, const RuleSet *given, const RuleSet *known, Text *out, int *missing,
                   Error *);
typedef struct RelateCounts {
    int rules, proved, conditional, refuted, unknown, basis;
} RelateCounts;
/* What verify-rules wrote, in parts: what is proved, with the comment "basis" where the rest does
   not give it; only that basis (NULL: it is not looked for); what is not proved. */
bool relate_part(const Minimize *, const RuleSet *verdicts, Text *proved, Text *basis, Text *rest,
                 RelateCounts *, Error *);
/* The search set of proved rules: the right side of a gain never costs more than its left side;
   which side of a trade is cheaper depends on sizes and on what is constant, so a trade is given in
   both directions. Reversed rules have no verdict yet. */
bool relate_search(const Minimize *, const RuleSet *proved, Text *gains, Text *trades, Error *);
extern const EGraphLimits minimize_limits; /* enough for rules of four operators */
#endif
