/* lift.h -- from a candidate over uniform types to a rule over symbolic ones. Every size becomes a
   name of its own, and what shape() needs on both sides is solved for them: the rule's types are
   the most general ones that both sides have. It is then tried at random sizes, where unequal ones
   are told apart; what is false there is tried again less general: attributes that may be any list,
   then unknowns of attributes tied to sizes of inputs, then sizes that are numbers in the set file,
   then its types as they are. */
#ifndef ISOMER_LIFT_H
#define ISOMER_LIFT_H
#include "generator/candidates.h"
#include "ops/base/text.h"

/* UNTRIED: no small sizes fit. */
typedef enum LiftResult { LIFT_TRUE, LIFT_FALSE, LIFT_UNTRIED } LiftResult;
/* Where a lifted rule has an axis block, as bits; a rule of all axes has it everywhere. */
enum { RANKS_ALL = 1, RANKS_SPATIAL = 2, RANKS_FRONT = 4 };
/* Decreasing generality. */
typedef enum LiftMode {
    LIFT_LISTS,
    LIFT_NUMBERS,
    LIFT_TIED,
    LIFT_SIZES,
    LIFT_UNIFORM,
    LIFT_MODES
} LiftMode;
typedef struct Lift Lift;
/* Reads the set again into a World of its own. */
Lift *lift_new(Escape *, const Space *like, uint64_t seed);
void lift_free(Lift *);
/* The most general true form as the body of a rule: its inputs, `from`, `to`; with its mode and its
   axis blocks. FALSE: at no mode. */
LiftResult lift_rule(Lift *, const Candidate *, LiftMode *mode, unsigned *ranks, Text *out);
/* The axis blocks that it may come to have; nothing is tried. */
unsigned lift_ranks(Lift *, const Candidate *);
#endif
