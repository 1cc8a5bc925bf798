/* optimize.h -- whole runs, as the public functions (isomer.c) call them. Both return false with
   the run's error set on failure. */
#ifndef ISOMER_OPTIMIZE_H
#define ISOMER_OPTIMIZE_H
#include "search/run.h"

bool optimize_run(Run *, IsomerResult *);
bool optimize_list_rules(Run *, IsomerResult *); /* --list-rules */
#endif
