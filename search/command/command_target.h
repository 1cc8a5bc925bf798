/* command_target.h -- starts and stops the target of a search with a measuring command. */
#ifndef ISOMER_COMMAND_TARGET_H
#define ISOMER_COMMAND_TARGET_H
#include "search/command/model_candidates.h"

/* Returns a new search that has its run, threads and folder, but knows nothing of the model yet. It
   lies in the run's arena rather than on the stack, because an Escape must find its processes in
   order to stop them. If the folder cannot be created, `folder` is NULL and the run's error is
   set. */
CommandSearch *command_search_start(Run *);
/* Returns a search for the same model on another number of threads. It shares the folder, origins
   and candidate 0 of the given search, and `candidate` becomes its candidate 1. Since it shares the
   folder, end it with command_target_stop, not command_search_end. */
CommandSearch *command_search_again(const CommandSearch *, const ModelCandidate *candidate,
                                    int threads);
/* Sets the commands that time files, and the target's name in the cost file, for the sizes and
   inputs that the run has now. Returns false with the run's error set on failure. */
bool command_target(CommandSearch *);
void command_target_stop(CommandSearch *); /* stops the processes */
void command_search_end(CommandSearch *);  /* also removes the folder and its files */
#endif
