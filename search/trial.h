/* trial.h -- original and result side by side: both are read from their bytes at the sizes of this
   run, then timed and compared as a user would run them. */
#ifndef ISOMER_TRIAL_H
#define ISOMER_TRIAL_H
#include "search/cost.h"
#include "search/run.h"

typedef struct Trial Trial;
/* The derivation is finished (run_finish); NULL: the run's error says why. */
Trial *trial_open(Run *, const Derivation *);
void trial_close(Trial *); /* NULL is allowed */
bool trial_runs(Trial *);  /* both run completely on the built-in runtime */
/* Times whole plans, interleaved: seconds[0] for the original, seconds[1 + k] for the result of
   trial k; and what the prices of their steps predict. */
bool trial_time(int n, Trial *const[], Cost *, double seconds[], double predicted[], Error *);
typedef enum TrialResult { TRIAL_AGREES, TRIAL_FAILED, TRIAL_IMPOSSIBLE } TrialResult;
/* TRIAL_FAILED: the run's error says why; E_CHECK: they disagree, and where. TRIAL_IMPOSSIBLE: a
   numerical comparison is not possible; the run's check_note says why. */
TrialResult trial_check(Trial *);
#endif
