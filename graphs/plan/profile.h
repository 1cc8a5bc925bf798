/* profile.h -- timing kernels so that it repeats within 3 % on a busy machine: one thread on one
   core; short calls in batches; rounds spread over time; the minimum counts. */
#ifndef ISOMER_PROFILE_H
#define ISOMER_PROFILE_H
#include "graphs/plan/execute.h"

/* A step alone, on random inputs. */
typedef struct StepTiming {
    const Backend *backend;
    Device *device;
    const Step *step;
    int choice;        /* the algorithm, from 0 */
    const bool *known; /* by view: it is a constant that may be packed; NULL: none is */
    int copies;    /* of the step, with weights of their own, that take turns, so that each finds
                      its weights as far away as they are in a model that has as many bytes of
                      them; 64 at most; 0 or 1: the step itself */
    uint64_t seed; /* of the inputs */
    double beat;   /* seconds: a step that takes longer is only timed until that is clear */
} StepTiming;
/* Seconds of one run. < 0: it cannot be run, *e (may be NULL) says why. */
double profile_step(const StepTiming *, Error *);
/* The same by the fastest of all algorithms; choice and beat are not looked at. */
double profile_fastest(const StepTiming *, Error *);
/* Seconds of one run of each runner, interleaved; in[k]: its inputs. The first and the fastest are
   timed best; one that is clearly slower than the fastest is left early. */
bool profile_runners(int n, Runner *const runner[], const void *const *const in[],
                     void *const *const out[], double seconds[], Error *);
#endif
