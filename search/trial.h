/* trial.h -- original and result side by side: both read from their bytes with the sizes of this
   run, timed and compared as a user would run them. */
#ifndef ISOMER_TRIAL_H
#define ISOMER_TRIAL_H
#include "search/cost.h"
#include "search/run.h"

typedef struct Trial Trial;
/* The derivation is finished (run_finish); NULL: the run's error says why. */
Trial *trial_open(Run *, const Derivation *);
void trial_close(Trial *); /* NULL is allowed */
bool trial_runs(Trial *);  /* both run wholly on the built-in runtime */
/* Whole plans, interleaved: seconds[0] of the original, seconds[1 + k] of the result of trial k;
   and what their steps' prices say of them. */
bool trial_time(int n, Trial *const[], Cost *, double seconds[], double predicted[], Error *);
typedef enum TrialResult { TRIAL_AGREES, TRIAL_FAILED, TRIAL_IMPOSSIBLE } TrialResult;
/* TRIAL_FAILED: the run's error says why; E_CHECK: they disagree, and where. TRIAL_IMPOSSIBLE:
   numbers can say nothing of it; the run's check_note says why. */
TrialResult trial_check(Trial *);
#endif
