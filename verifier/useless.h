/* useless.h -- conditions under which a rule is of no use. */
#ifndef ISOMER_USELESS_H
#define ISOMER_USELESS_H
#include "verifier/sizes.h"

/* A size of an input or of a result of `after`, which is `before` with more conditions, can be at
   most 1 because of these. */
bool prove_useless(World *, Arena *, const Instance *before, const Instance *after);
#endif
