/* search_command.h -- search by whole models that a command times. */
#ifndef ISOMER_SEARCH_COMMAND_H
#define ISOMER_SEARCH_COMMAND_H
#include "search/run.h"

/* Leaves the best result in the derivation; false: the run's error is set. */
bool search_command(Run *, Derivation *);
#endif
