/* confirm.h -- decides whether a candidate that was chosen by noisy times is really faster. */
#ifndef ISOMER_CONFIRM_H
#define ISOMER_CONFIRM_H
#include "search/command/model_candidates.h"

enum { CONFIRM_LEAST = 3 }; /* batches that are timed even if no time is left */

/* Times candidate *best and the candidates that are hardly slower anew, in batches together with
   the original, until it is clear whether the fastest of them gains enough (RUN_GAIN), or until
   `until` (run_seconds). *best receives the fastest, or 0 if all fail; its ratio becomes the mean
   over the batches, and earlier times no longer count. A frozen run decides by what the cost file
   holds of an earlier run. Returns false with the run's error set on failure. */
bool confirm(CommandSearch *, double until, int *best);
/* Calls confirm, then again with the fastest of the candidates that are still unconfirmed, as long
   as its first time is much better than what was confirmed (CONFIRM_AGAIN) and time is left: the
   best of many noisy times may be so much too good that it hides what is really the fastest. *best
   receives the fastest of all that are confirmed, or 0. */
bool confirm_best(CommandSearch *, double until, int *best);
#endif
