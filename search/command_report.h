/* command_report.h -- what a search on a target that times files says about its places. */
#ifndef ISOMER_COMMAND_REPORT_H
#define ISOMER_COMMAND_REPORT_H
#include "search/model_candidates.h"

/* What these places gain: equal ones together, the largest gain first, in the run's arena. Returns
   how many there are. */
int command_gains(CommandSearch *, int nplace, const int place[], const PlaceGain **out);
/* Keeps in the run's statistics why nothing gains. */
void command_keep_reason(CommandSearch *);
#endif
