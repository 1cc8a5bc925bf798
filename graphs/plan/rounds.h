/* rounds.h -- times anything that can be called repeatedly. */
#ifndef ISOMER_ROUNDS_H
#define ISOMER_ROUNDS_H
#include "ops/backend/backend.h"
#include <sched.h>
#include <stdint.h>
#include <time.h>

typedef struct Timed { /* Something to be timed. It starts with calls = 1, dropped = false and both
                          `best` infinite. */
    bool (*run)(void *, int calls, double *seconds); /* *seconds: of all calls together */
    void *user;
    int calls;      /* calls per sample */
    bool dropped;   /* it takes no part in further rounds */
    double best[2]; /* least seconds per call, of the even and of the odd rounds */
} Timed;

enum { TIMED_MOST = 64 };
/* Times n things, at most TIMED_MOST, for about `patience` seconds, in rounds that alternate
   between them in an order drawn from `seed`. Whatever takes longer than `give_up_seconds`, or
   clearly longer than the fastest of several, is dropped early; the first of several never is,
   because the others are compared with it. Returns false if a call failed. */
bool time_rounds(int n, Timed *, double give_up_seconds, double patience, uint64_t seed);
double timed_least(const Timed *); /* the least seconds of a call */

double clock_now(clockid_t); /* in seconds */
/* The clock for a run that begins and ends on this machine: the thread's CPU time if only this
   thread runs the kernels, else elapsed time. */
clockid_t device_clock(const Backend *, const Device *);
/* Pins the thread to its present core if the clock is the thread's own. unpin_thread undoes this;
   it does nothing if `before` is empty. */
void pin_thread(clockid_t, cpu_set_t *before);
void unpin_thread(const cpu_set_t *before);
#endif
