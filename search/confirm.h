/* confirm.h -- whether what was chosen by noisy times is really faster. */
#ifndef ISOMER_CONFIRM_H
#define ISOMER_CONFIRM_H
#include "search/model_candidates.h"

enum { CONFIRM_LEAST = 3 }; /* batches, also when there is no time left */

/* Times candidate *best anew, and those that the first times hardly tell from it, in batches with
   the original until it is clear whether the fastest of them gains as much as counts, `until`
   (run_seconds) at the latest. *best: that one, its ratio the mean over the batches; no first time
   counts any more. Frozen: by what the cost file has of an earlier run. False: the run's error is
   set. */
bool confirm(CommandSearch *, double until, int *best);
#endif
