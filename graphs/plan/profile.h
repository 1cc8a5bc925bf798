/* profile.h -- timing kernels so that it repeats within 3 % on a busy machine: one thread on one
   core; short calls in batches; rounds spread over time; the minimum counts. */
#ifndef ISOMER_PROFILE_H
#define ISOMER_PROFILE_H
#include "graphs/plan/execute.h"

/* Seconds of one run of a step on random inputs; known[j]: view j is a constant that may be packed.
   A step that takes longer than `beat` seconds is only timed until that is clear. < 0: cannot be
   run, *e (may be NULL) says why. */
double profile_step(const Backend *, Device *, const Step *, int choice, const bool known[],
                    uint64_t seed, double beat, Error *);
/* The same, but so many copies of the step (64 at most) with weights of their own take turns, so
   that a copy finds its weights as far away as they are in a model that has as many bytes of them.
 */
double profile_step_cold(const Backend *, Device *, const Step *, int choice, const bool known[],
                         int copies, uint64_t seed, double beat, Error *);
/* Seconds of one run of each runner, interleaved; in[k]: its inputs. The first and the fastest are
   timed best; one that is clearly slower than the fastest is left early. */
bool profile_runners(int n, Runner *const runner[], const void *const *const in[],
                     void *const *const out[], double seconds[], Error *);
#endif
