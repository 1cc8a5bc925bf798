/* finish.h -- from the graph that rules made to what is written. */
#ifndef ISOMER_FINISH_H
#define ISOMER_FINISH_H
#include "search/run.h"

/* The graph as it is written: values that rules left to be computed from constants are computed;
   constants that were computed only for rules to see are again as in the file. */
bool run_finish(Run *, Derivation *, Error *);
/* The bytes to be written. E_LIMIT: the file would grow by more than --max-growth; stats.growth
   receives its growth. */
bool run_pieces(Run *, const Derivation *, Arena *, Pieces *, Error *);
bool run_fits(Run *, const Derivation *, Error *); /* run_pieces without them */
int64_t run_constant_bytes(Run *, const Graph *);
#endif
