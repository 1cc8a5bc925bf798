/* reproduce.h -- a disagreement as a small case. */
#ifndef ISOMER_REPRODUCE_H
#define ISOMER_REPRODUCE_H
#include "search/run.h"

/* OUT.disagreement: what shows that original and result differ (search/REPORT.md); the run's error
   says where it is. */
void run_reproduce(Run *, const Derivation *);
#endif
