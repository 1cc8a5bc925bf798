/* fold.h -- folds constants. */
#ifndef ISOMER_FOLD_H
#define ISOMER_FOLD_H
#include "graphs/rewrite.h"

/* Replaces values by constants if they depend on nothing but constants. A value is replaced if it
   takes at most `growth` bytes more than the constants that it is made of; a tensor with equal
   elements, which a node can fill, only if it takes at most `growth` bytes in all. Integers are
   computed exactly, floats in double and rounded once per node. What cannot be computed stays.
   known (may be NULL) is the map of an earlier folding in this World, whose constants are not
   computed again. *map takes the graph's values to those of the result. */
bool graph_fold(World *, Arena *, const Graph *, int64_t growth, const ValueMap *known, Graph *out,
                ValueMap *, Error *);
/* Folds without a limit, but draws float32 constants of at least `drawn` bytes from 0.5 to 1.5
   instead of computing them: for a graph that is only timed. */
bool graph_fold_drawn(World *, Arena *, const Graph *, int64_t drawn, Graph *out, ValueMap *,
                      Error *);
#endif
