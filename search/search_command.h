/* search_command.h -- search by whole models that a command times. */
#ifndef ISOMER_SEARCH_COMMAND_H
#define ISOMER_SEARCH_COMMAND_H
#include "search/run.h"

/* Leaves the best result in the derivation; false: the run's error is set. */
bool search_command(Run *, Derivation *);
/* Only the lines about the original on the target: how far it is from the machine's roofline.
   False: the run's error is set, also if the target gives no profile. */
bool search_headroom(Run *, const char **text);
#endif
