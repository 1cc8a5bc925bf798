/* open.h -- opens what a run needs before it searches: the model, the rules, the cost file, the
   inputs. */
#ifndef ISOMER_OPEN_H
#define ISOMER_OPEN_H
#include "search/run.h"

/* Opens everything that the options of the run name. Any failure that is caused by the options or
   the environment alone shows here, before the search. Returns false with the run's error set on
   failure. */
bool run_open(Run *);
/* Opens only the rules: for --list-rules, and again after the bodies of control flow were
   optimized. */
bool run_open_library(Run *);
#endif
