/* discover.h -- --discover: the model's most expensive parts are asked for something equal and
   cheaper (discover-rules), answers are proved (verify-rules), and what is proved is kept in a file
   of the user's own rules (rules/installed.h). */
#ifndef ISOMER_SEARCH_DISCOVER_H
#define ISOMER_SEARCH_DISCOVER_H
#include "search/run.h"

/* The file of the user's own rules for the run's target: --rules-out, or the default. */
bool own_rules_file(const Run *, char **path, Error *);
/* Asks and proves within about o->discover seconds, unless that is 0, before the rules of the run
   are opened. The file is replaced as a whole, and holds what it held before. What came of it is in
   the run's stats. Only the two programs' absence, a file that cannot be read or written, and a
   run that is cancelled are errors. */
bool run_discover(Run *);
#endif
