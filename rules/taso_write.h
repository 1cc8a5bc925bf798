/* taso_write.h -- writes rules in TASO's format (Jia et al., SOSP'19). */
#ifndef ISOMER_TASO_WRITE_H
#define ISOMER_TASO_WRITE_H
#include "rules/rule.h"
#include "rules/taso_inner.h"

/* Makes TASO's form of an instance, with SAME padding if `same`, else VALID. Returns false with the
   reason (static or in the arena) if TASO has no words for it. The result may mean something else
   than the instance; the caller must check. */
bool taso_make(World *, Arena *, const Instance *, bool same, TasoRule *, const char **why);
void taso_put(Text *, const TasoRule *); /* appends the rule to the bytes of a file */
#endif
