/* rounds.h -- the protocol by which anything that can be called repeatedly is timed. */
#ifndef ISOMER_ROUNDS_H
#define ISOMER_ROUNDS_H
#include "ops/backend/backend.h"
#include <sched.h>
#include <stdint.h>
#include <time.h>

typedef struct Timed { /* calls 1, left false and both best infinite to begin with */
    bool (*run)(void *, int calls, double *seconds); /* seconds: of all of them */
    void *what;
    int calls;
    bool left;      /* it takes no part in further rounds */
    double best[2]; /* of the even and of the odd rounds */
} Timed;

enum { TIMED_MOST = 64 };
/* Times n of them, at most TIMED_MOST, in rounds that alternate between them in the order that
   `seed` draws, for about `patience` seconds. What takes longer than `beat` seconds, or clearly
   longer than the fastest of several, is left early; the first of several never, since the others
   are compared with it. False: a call failed. */
bool time_rounds(int n, Timed *, double beat, double patience, uint64_t seed);
double timed_least(const Timed *); /* seconds of a call */

double clock_now(clockid_t); /* in seconds */
/* The clock for a run that begins and ends on this machine. */
clockid_t device_clock(const Backend *, const Device *);
/* Keeps the thread on the core it is on, if the clock is the thread's own; unpin_thread undoes it,
   and does nothing where no core is set in `before`. */
void pin_thread(clockid_t, cpu_set_t *before);
void unpin_thread(const cpu_set_t *before);
#endif
