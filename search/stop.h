/* stop.h -- where a run ended a part of its search because time was over, or because too little
   was promised by then: the amount of work that was done, kept in the cost file. A frozen run goes
   exactly as far and never asks the clock, so it finds the same on any machine. */
#ifndef ISOMER_STOP_H
#define ISOMER_STOP_H
#include "search/run.h"

enum { STOP_NEVER = INT32_MAX };
typedef struct Stop {
    Run *r;
    const char *device, *what; /* the target's name in the cost file; the part of the search */
    double until;              /* run_seconds */
    int at;                    /* how much was done when it ended; STOP_NEVER: it did not */
} Stop;
/* In a frozen run `at` is what the cost file says, otherwise STOP_NEVER. */
Stop stop_open(Run *, const char *device, const char *what, double until);
/* Whether the part ends here, `done` having been done: because the time is over, in a frozen run
   because it did in the run that measured, in any run because the caller signalled. Nothing that is
   asked later goes on. */
bool stop_here(Stop *, int done);
/* Keeps how far the part came; nothing in a frozen run. False: the run's error is set. */
bool stop_keep(const Stop *);
#endif
