/* useless.h -- recognizes conditions under which a rule is of no use. */
#ifndef ISOMER_USELESS_H
#define ISOMER_USELESS_H
#include "verifier/sizes.h"

/* `after` is `before` with more conditions. Returns true if these leave some size of an input or
   output no value above 1 that it could have before. */
bool prove_useless(World *, Arena *, const Instance *before, const Instance *after);
#endif
