/* infinities.h -- which values may hold an infinity that a constant of the graph brings in: masks
   of attention, padding below everything. A rule that reads more than what it replaces (the class
   `spreads`) is not applied there, since 0 times infinity is not a number. */
#ifndef ISOMER_INFINITIES_H
#define ISOMER_INFINITIES_H
#include "graphs/graph.h"

typedef struct Infinities { /* of one World; all zero to begin with */
    uint8_t *reached;
    uint32_t done, room;
} Infinities;
/* The Arena must outlive the Infinities. A constant that is not finite, or whose square is not, is
   among what the value is computed from, and no operator between them has bounded results
   (OP_BOUNDED). Infinite inputs of the model, and what operators make of finite numbers, are not
   foreseen. */
bool infinity_reaches(Infinities *, World *, Arena *, Value);
#endif
