/* spectator.h -- are the axes that one instance of a rule has in addition to those of another
   spectators? If so, what is proved of the shorter instance holds for the longer one. */
#ifndef ISOMER_SPECTATOR_H
#define ISOMER_SPECTATOR_H
#include "rules/rule.h"

/* `wide` is an instance of the same rule as `base` with longer axis blocks, made in the same World
   under the same conditions; both are free of composites. True: if `base` holds for all sizes, then
   so does `wide`, in the same class (the argument is in spectator.c). False: that was not shown. */
bool spectators(World *, Arena *, const Instance *base, const Instance *wide);
#endif
