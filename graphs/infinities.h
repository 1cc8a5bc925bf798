/* infinities.h -- which values may hold an infinity that a constant of the graph brings in: masks
   of attention, padding below everything. A rule that reads more than what it replaces (the class
   `spreads`) is not applied there, since 0 times infinity is not a number. */
#ifndef ISOMER_INFINITIES_H
#define ISOMER_INFINITIES_H
#include "graphs/graph.h"

/* Of what the value is computed from, a constant, or a number that an operator writes (OP_WRITES),
   is not finite, or its square is not, and no operator between them has bounded results
   (OP_BOUNDED). Infinite inputs of the model, and what operators make of finite numbers, are not
   foreseen. The World keeps the answer: a constant is read once. */
bool infinity_reaches(World *, Value);
#endif
