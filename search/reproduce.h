/* reproduce.h -- reduces a disagreement to a small case. */
#ifndef ISOMER_REPRODUCE_H
#define ISOMER_REPRODUCE_H
#include "search/run.h"

/* Writes OUT.disagreement: a case that shows that original and result differ (search/REPORT.md);
   its path is added to the run's error, which is all that changes if it cannot be written. */
void run_reproduce(Run *, const Derivation *);
#endif
