/* fold.h -- constant folding. */
#ifndef ISOMER_FOLD_H
#define ISOMER_FOLD_H
#include "graphs/rewrite.h"

/* A value computed from constants alone becomes a constant if that takes at most `growth` bytes
   more than the constants it was made of; a tensor of equal elements only if it has no more than
   `growth` bytes. Integers are computed exactly; floats in double, rounded once for each node. What
   cannot be computed stays. */
bool graph_fold(World *, Arena *, const Graph *, int64_t growth, Graph *out, ValueMap *, Error *);
#endif
