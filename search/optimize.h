/* optimize.h -- whole runs, as the public functions (isomer.c) call them. */
#ifndef ISOMER_OPTIMIZE_H
#define ISOMER_OPTIMIZE_H
#include "search/run.h"

/* Both return false with the run's error set on failure. */
bool optimize_run(Run *, IsomerResult *);
bool optimize_list_rules(Run *, IsomerResult *); /* --list-rules */
/* Does what isomer_optimize does, as a part of another run: a disagreement of the models is written
   to the folder BESIDE.disagreement, or nowhere if `beside` is NULL. */
int optimize_within(const char *beside, const char *in, const char *out, const IsomerOptions *,
                    IsomerResult *);
#endif
