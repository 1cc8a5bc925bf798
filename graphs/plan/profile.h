/* profile.h -- times kernels so that the results repeat within 3 % on a busy machine: on one thread
   and one core, with short calls in batches and rounds spread over time, of which the minimum
   counts. */
#ifndef ISOMER_PROFILE_H
#define ISOMER_PROFILE_H
#include "graphs/plan/execute.h"

/* How to time a step alone, on random inputs. */
typedef struct StepTiming {
    const Backend *backend;
    Device *device;
    const Step *step;
    int choice;        /* number of the algorithm, from 0 */
    const bool *known; /* by view: it is a constant that the kernel may pack; NULL: none is */
    /* Number of copies of the step that take turns, at most 64; 0 or 1: only the step itself. Each
       copy has weights of its own, so that each finds its weights as far away as they are in a
       model with as many bytes of weights. */
    int copies;
    uint64_t seed;          /* of the inputs */
    double give_up_seconds; /* a slower step is timed only until that is clear */
} StepTiming;
/* Seconds of one run; < 0 if the step cannot be run, and *e (may be NULL) says why. */
double profile_step(const StepTiming *, Error *);
/* Seconds of one run by the fastest of all algorithms; choice and give_up_seconds are ignored. */
double profile_fastest(const StepTiming *, Error *);
/* Measures the seconds of one run of each runner, in rounds that alternate between the runners;
   in[k] and out[k] are the buffers of runner k. The first and the fastest are timed most
   thoroughly; a runner that is clearly slower than the fastest is dropped early. */
bool profile_runners(int n, Runner *const runner[], const void *const *const in[],
                     void *const *const out[], double seconds[], Error *);
#endif
