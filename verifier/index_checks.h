/* index_checks.h -- indices in the data, by which operators take elements (EX_TAKE). */
#ifndef ISOMER_INDEX_CHECKS_H
#define ISOMER_INDEX_CHECKS_H
#include "rules/rule.h"
#include "verifier/defined.h"

/* Whether the expression takes an element at an index that the data give: an operator that is
   defined by it checks the index. */
bool index_checked(World *, Ex);
/* True if, wherever all indices of the left side's operators lie within their axes, those of the
   right side's do, too, unless no output has an element. On false, Lack says which check was not
   shown. */
bool places_follow(NfImport *, const Instance *, Lack *);
#endif
