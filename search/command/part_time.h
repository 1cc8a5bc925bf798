/* part_time.h -- times parts on the target. */
#ifndef ISOMER_PART_TIME_H
#define ISOMER_PART_TIME_H
#include "search/command/price.h"

/* A part that takes more than this share of its former time gains nothing. */
#define PART_TIE 0.98
enum { PART_BATCH = 8 }; /* rewritings of a part in one batch */

/* Looks up the times of a part in the cost file. Returns false if it must be timed: if there are
   none or, unless the run is frozen, if it failed or could not be written in an earlier run. */
bool part_time_find(const Pricing *, PartPrice *);
/* Times up to PART_BATCH rewritings of one part in one batch with that part, and keeps the times.
   Returns false with the run's error set on failure. */
bool part_time_batch(Pricing *, int n, const int list[]);
#endif
