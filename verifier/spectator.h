/* spectator.h -- do the axes that one instance of a rule has in addition to those of another take
   part in anything? If not, what is proved of the other holds of the one. */
#ifndef ISOMER_SPECTATOR_H
#define ISOMER_SPECTATOR_H
#include "rules/rule.h"

/* `wide` is the rule of `base` with longer axis blocks, made in the same World under the same
   conditions, both free of composites. True: if the base holds for all sizes then so does wide, in
   the same class; spectator.c has the argument. False: that was not shown. */
bool spectators(World *, Arena *, const Instance *base, const Instance *wide);
#endif
