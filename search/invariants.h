/* invariants.h -- moves loop-invariant nodes out of the bodies of loops. */
#ifndef ISOMER_INVARIANTS_H
#define ISOMER_INVARIANTS_H
#include "ops/base/file.h"
#include "search/run.h"

/* Moves nodes of the bodies of Loop and Scan that compute the same in every iteration in front of
   the loop, and times the model with this change against the original. Does nothing unless the
   target is a measuring command.

   *file receives the changed model, as pieces that lie in the run's arena and in the source; it is
   empty if nothing can be moved or the model does not gain. The run's stats say what was done.
   Returns false with the run's error set on failure. */
bool run_move_invariants(Run *, Pieces *file);
#endif
