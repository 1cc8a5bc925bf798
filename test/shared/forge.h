/* forge.h -- forges verdicts as another build of the prover would have written them, so that a test
   sees which of the loader's checks rejects them. */
#ifndef ISOMER_TEST_FORGE_H
#define ISOMER_TEST_FORGE_H
#include "rules/rule.h"

/* Marks the rule as proved for operators whose definitions have the digest `defs` (32 hexadecimal
   digits), whatever the definitions are here. The verdict's own digest is correct. */
void rule_forge(Arena *, Rule *, const char *defs);
#endif
