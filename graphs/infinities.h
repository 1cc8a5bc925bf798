/* infinities.h -- which values may hold an infinity that a constant of the graph brings in: masks
   of attention, padding below everything. A rule that reads more than what it replaces (the class
   `spreads`) is not applied there, since 0 times infinity is not a number. */
#ifndef ISOMER_INFINITIES_H
#define ISOMER_INFINITIES_H
#include "graphs/graph.h"

/* A constant that is not finite, or whose square is not, is among what the value is computed from,
   and no operator between them has bounded results (OP_BOUNDED). Infinite inputs of the model, and
   what operators make of finite numbers, are not foreseen. The World keeps the answer: a constant
   is read once. */
bool infinity_reaches(World *, Value);
#endif
