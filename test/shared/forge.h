/* forge.h -- verdicts as another build would have written them, so that tests see which of the
   loader's checks notices. */
#ifndef ISOMER_TEST_FORGE_H
#define ISOMER_TEST_FORGE_H
#include "rules/rule.h"

/* Proved for operators whose definitions have this digest (32 hexadecimal digits), whatever they
   mean here: the verdict's own digest fits it. */
void rule_forge(Arena *, Rule *, const char *defs);
#endif
