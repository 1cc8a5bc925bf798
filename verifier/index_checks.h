/* index_checks.h -- indices in the data, by which operators take elements (EX_TAKE). */
#ifndef ISOMER_INDEX_CHECKS_H
#define ISOMER_INDEX_CHECKS_H
#include "rules/rule.h"
#include "verifier/defined.h"

/* True if, wherever all indices of the left side's operators lie within their axes, those of the
   right side's do, too, except that nothing is shown for outputs without elements. On false, Lack
   says which check was not shown. */
bool places_follow(NfImport *, const Instance *, Lack *);
#endif
