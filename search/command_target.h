/* command_target.h -- how a search on a measuring command starts and stops the target. */
#ifndef ISOMER_COMMAND_TARGET_H
#define ISOMER_COMMAND_TARGET_H
#include "search/model_candidates.h"

/* A search that knows its run, threads and folder, and nothing of the model yet, in the run's
   arena: not on the stack, as an Escape must find its processes to stop them. The folder is NULL if
   it cannot be created: then the run's error is set. */
CommandSearch *command_search_start(Run *);
/* The search again, for the target on this number of threads: with its folder, origins and
   candidate 0, and with `candidate` as candidate 1. Only its processes are to be stopped. */
CommandSearch *command_search_again(const CommandSearch *, const ModelCandidate *candidate,
                                    int threads);
/* Sets the commands that time files, and the target's name in the cost file, as sizes and inputs of
   the run are now. False: the run's error is set. */
bool command_target(CommandSearch *);
void command_target_stop(CommandSearch *); /* the processes */
void command_search_end(CommandSearch *);  /* the processes, and the folder with all files in it */
#endif
