/* trial.h -- runs original and result side by side: both are read from their bytes at the sizes of
   this run, timed, and compared as a user would run them. */
#ifndef ISOMER_TRIAL_H
#define ISOMER_TRIAL_H
#include "search/cost.h"
#include "search/run.h"

typedef struct Trial Trial;
/* Opens the original and the result of a finished derivation (run_finish). NULL: the run's error
   says why. */
Trial *trial_open(Run *, const Derivation *);
void trial_close(Trial *); /* the argument may be NULL */
bool trial_runs(Trial *);  /* whether both run completely on the built-in runtime */
/* Times whole plans, interleaved. seconds[0] receives the time of the original, seconds[1 + k] that
   of the result of trial k, and predicted[] the sums of the prices of their steps. Returns false
   with the error set on failure. */
bool trial_time(int n, Trial *const[], Cost *, double seconds[], double predicted[], Error *);
typedef enum TrialResult { TRIAL_AGREES, TRIAL_FAILED, TRIAL_IMPOSSIBLE } TrialResult;
/* Compares both numerically. TRIAL_FAILED: the run's error says why; with E_CHECK, where they
   disagree. TRIAL_IMPOSSIBLE: a numerical comparison is not possible or does not confirm the
   result; the run's check_note says why. */
TrialResult trial_check(Trial *);
#endif
