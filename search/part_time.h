/* part_time.h -- what parts take on the target. */
#ifndef ISOMER_PART_TIME_H
#define ISOMER_PART_TIME_H
#include "search/price.h"

#define PART_TIE 0.98 /* a part that gains less gains nothing */
enum { PART_BATCH = 8 };

/* The times that the cost file has. What failed or was not written is tried again, unless the run
   is frozen. */
bool part_time_find(const Pricing *, PartPrice *);
/* Times up to PART_BATCH rewritings of one part, in one batch with it, and keeps the times. False:
   the run's error is set. */
bool part_time_batch(Pricing *, int n, const int list[]);
#endif
