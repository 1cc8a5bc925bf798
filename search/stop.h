/* stop.h -- remembers where a run ended a part of its search because time was over, or because too
   little was promised by then: as the amount of work that was done, kept in the cost file. A frozen
   run goes exactly as far without asking the clock, so it finds the same on any machine. Other
   numbers that depend on the machine and decide what is found are kept in the same way
   (stop_number). */
#ifndef ISOMER_STOP_H
#define ISOMER_STOP_H
#include "search/run.h"

enum { STOP_NEVER = INT32_MAX };
typedef struct Stop {
    Run *r;
    /* The target's name in the cost file; the name of the part of the search. */
    const char *device, *what;
    /* run_seconds at which its time is over */
    double until;
    int at; /* how much work was done when the part ended; STOP_NEVER: time did not end it */
} Stop;
/* Returns a Stop for a part of the search. In a frozen run `at` is what the cost file says,
   otherwise STOP_NEVER. */
Stop stop_open(Run *, const char *device, const char *what, double until);
/* Returns whether the part ends here, after the amount `done` of work: because its time is over; in
   a frozen run, because it ended here in the run that measured; in any run, because the caller
   signalled. Once true, it is true for all later work. */
bool stop_here(Stop *, int done);
/* Stores how far the part came, unless the run is frozen. Returns false with the run's error set on
   failure. */
bool stop_keep(const Stop *);
/* *n receives a number that depends on the machine: `here`, which is stored, or in a frozen run the
   stored one, if there is one. Returns false with the run's error set on failure. */
bool stop_number(Run *, const char *device, const char *what, int here, int *n);
#endif
