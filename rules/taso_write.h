/* taso_write.h -- rules of ours as TASO's (Jia et al., SOSP'19). */
#ifndef ISOMER_TASO_WRITE_H
#define ISOMER_TASO_WRITE_H
#include "rules/rule.h"
#include "rules/taso_inner.h"

/* same: paddings are SAME, else VALID. False, and why (static or in the arena): TASO has no words
   for it. What is made may say something else than the instance. */
bool taso_make(World *, Arena *, const Instance *, bool same, TasoRule *, const char **why);
void taso_put(Text *, const TasoRule *); /* appends it to a file's bytes */
#endif
