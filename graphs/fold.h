/* fold.h -- constant folding. */
#ifndef ISOMER_FOLD_H
#define ISOMER_FOLD_H
#include "graphs/rewrite.h"

/* A value computed from constants alone becomes a constant if that takes at most `growth` bytes
   more than the constants it was made of; a tensor of equal elements only if it has no more than
   `growth` bytes. Integers are computed exactly; floats in double, rounded once for each node. What
   cannot be computed stays. known (may be NULL): the map of an earlier folding in this World, whose
   constants are not computed again. */
bool graph_fold(World *, Arena *, const Graph *, int64_t growth, const ValueMap *known, Graph *out,
                ValueMap *, Error *);
/* The same without a limit, but float32 constants of at least `drawn` bytes are drawn, 0.5 to 1.5,
   and not computed: for a graph that is only timed. */
bool graph_fold_drawn(World *, Arena *, const Graph *, int64_t drawn, Graph *out, ValueMap *,
                      Error *);
#endif
