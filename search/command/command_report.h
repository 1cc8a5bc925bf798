/* command_report.h -- what a search with a measuring command reports about its places. */
#ifndef ISOMER_COMMAND_REPORT_H
#define ISOMER_COMMAND_REPORT_H
#include "search/command/model_candidates.h"

/* Returns how many different gains these places have; *out receives them in the run's arena, the
   largest first. Places with the same part and the same rewriting form one entry. */
int command_gains(CommandSearch *, int nplace, const int place[], const PlaceGain **out);
/* Sets stats.reason: why nothing gains. */
void command_keep_reason(CommandSearch *);
#endif
