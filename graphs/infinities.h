/* infinities.h -- finds the values that an infinity of a constant may reach: masks of attention,
   padding with the lowest number. A rule that reads more than what it replaces (class `spreads`) is
   not applied there, since 0 times infinity is NaN. */
#ifndef ISOMER_INFINITIES_H
#define ISOMER_INFINITIES_H
#include "graphs/graph.h"

/* Whether v may hold an infinity that comes from the graph itself: v depends on a constant, or on a
   number that an operator writes (OP_WRITES), that is not finite or has no finite square, with no
   operator in between whose results are bounded (OP_BOUNDED). Infinities in the model's inputs, and
   those that operators make of finite numbers, are not considered. The World keeps the answer, so
   that a constant is read once. */
bool infinity_reaches(World *, Value);
#endif
