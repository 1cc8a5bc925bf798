/* discover.h -- implements --discover: asks for graphs that equal the model's most expensive parts
   and cost less (the program discover-rules), has the answers proved (verify-rules), and keeps what
   is proved in a file of the user's own rules (rules/installed.h). */
#ifndef ISOMER_SEARCH_DISCOVER_H
#define ISOMER_SEARCH_DISCOVER_H
#include "search/run.h"

/* Sets *path to the file of the user's own rules for the run's target: --rules-out, or the
   default. */
bool own_rules_file(const Run *, char **path, Error *);
/* Asks and proves for about o->discover seconds, unless that is 0; must be called before the rules
   of the run are opened. The file keeps the rules that it has, and is replaced as a whole. The
   run's stats say what was found. Returns false with the run's error set if one of the two programs
   is missing, a file cannot be read or written, or the run is cancelled. */
bool run_discover(Run *);
#endif
