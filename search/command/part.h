/* part.h -- makes a model of its own of a place: the nodes of the place and a border around them,
   as they were and rewritten. */
#ifndef ISOMER_PART_H
#define ISOMER_PART_H
#include "search/command/price.h"

/* Cuts the place out of the model and rewrites it. part_of[place] becomes the number of a new part,
   which is not timed yet, or of an equal one that exists; or -1, with the reason in why[place].
   Returns false with the run's error set on failure. */
bool part_describe(Pricing *, int place);
/* Writes a part into the folder, as it was (unless path[0] is set) and rewritten, and sets the
   paths. path[1] is NULL if the rewritten part cannot be written. Returns false with the run's
   error set on failure. */
bool part_write(Pricing *, const PartPrice *, const char *path[2]);
#endif
