/* relate.h -- rules beside rules: which of the given ones follow from known ones. */
#ifndef ISOMER_RELATE_H
#define ISOMER_RELATE_H
#include "ops/base/text.h"
#include "rules/follow.h"

/* One line for each given rule: whether it follows from the known ones, and by which; the last line has the counts.
   *missing: how many do not. */
bool relate_derive(Arena *, const RuleSet *given, const RuleSet *known, Text *out, int *missing, Error *);
#endif
