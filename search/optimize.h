/* optimize.h -- whole runs, as the public functions (isomer.c) call them. False: the run's error is
   set. */
#ifndef ISOMER_OPTIMIZE_H
#define ISOMER_OPTIMIZE_H
#include "search/run.h"

bool optimize_run(Run *, IsomerResult *);
bool optimize_list_rules(Run *, IsomerResult *); /* --list-rules */
#endif
