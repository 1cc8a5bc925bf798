/* part.h -- a place as a model of its own: its nodes and a border around them, as they were and
   rewritten. */
#ifndef ISOMER_PART_H
#define ISOMER_PART_H
#include "search/price.h"

/* Cuts the place out and rewrites it: part_of[place] becomes a new part, not timed yet, or an equal
   one that is there already; or -1, with the reason in why[place]. False: the run's error is
   set. */
bool part_describe(Pricing *, int place);
/* Writes the part as it was, unless path[0] is set, and rewritten, as files in the folder; path[1]
   NULL: that cannot be written. False: the run's error is set. */
bool part_write(Pricing *, const PartPrice *, const char *path[2]);
#endif
