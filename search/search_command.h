/* search_command.h -- search by whole models that a command times. */
#ifndef ISOMER_SEARCH_COMMAND_H
#define ISOMER_SEARCH_COMMAND_H
#include "search/run.h"

/* Leaves the best result in the derivation; false: the run's error is set. */
bool search_command(Run *, Derivation *);
/* --headroom: *text is how far the original is from the machine's roofline on the target, in the
   run's arena. False: the run's error is set, also if the target provides no profile. */
bool search_headroom(Run *, const char **text);
#endif
