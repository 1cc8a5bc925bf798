/* finish.h -- from the graph that rules made to what is written. */
#ifndef ISOMER_FINISH_H
#define ISOMER_FINISH_H
#include "search/run.h"

/* The graph as it is written: what rules left to be computed from constants is computed, what was
   computed only to be seen by rules is as in the file again. */
bool run_finish(Run *, Derivation *, Error *);
/* What is to be written. E_LIMIT: it is more than --max-growth allows; stats.growth is by how much
   it grew. */
bool run_pieces(Run *, const Derivation *, Arena *, Pieces *, Error *);
bool run_fits(Run *, const Derivation *, Error *); /* run_pieces without them */
int64_t run_constant_bytes(Run *, const Graph *);
#endif
