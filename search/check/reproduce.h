/* reproduce.h -- reduces a disagreement between original and result to a small case. */
#ifndef ISOMER_REPRODUCE_H
#define ISOMER_REPRODUCE_H
#include "search/run.h"

/* Writes the folder OUT.disagreement: a case that shows that original and result differ
   (search/REPORT.md). The run's error is extended by its path; if the folder cannot be written, the
   error stays as it is. */
void run_reproduce(Run *, const Derivation *);
#endif
