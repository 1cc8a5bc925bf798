/* lift.h -- turns a candidate over the fixed sizes of a set file into a rule over symbolic sizes.

   Every size becomes a name of its own, and the needs of both sides are solved for these names, so
   the rule's types are the most general ones that both sides accept. The rule is then tried at
   random sizes, which tells unequal sides apart. If it is false there, less general forms are tried
   in turn: without attributes that may be any list; with unknowns of attributes tied to sizes of
   inputs; with the sizes kept that are numbers in the set file; with the types exactly as they are
   in the set file. */
#ifndef ISOMER_LIFT_H
#define ISOMER_LIFT_H
#include "generator/candidates.h"
#include "ops/base/text.h"

/* LIFT_UNTRIED: no small sizes satisfy the needs. */
typedef enum LiftResult { LIFT_TRUE, LIFT_FALSE, LIFT_UNTRIED } LiftResult;
/* The axis blocks of a lifted rule, as bits. A rule whose axes are all one block has all three
   bits. */
enum { RANKS_ALL = 1, RANKS_SPATIAL = 2, RANKS_FRONT = 4 };
/* The forms of a lifted rule, from the most to the least general. */
typedef enum LiftMode {
    LIFT_LISTS,
    LIFT_NUMBERS,
    LIFT_TIED,
    LIFT_SIZES,
    LIFT_UNIFORM,
    LIFT_MODES
} LiftMode;
typedef struct Lift Lift;
/* Creates the state for lifting candidates of a set, which is read again into a World of its
   own. */
Lift *lift_new(Escape *, const Space *like, uint64_t seed);
void lift_free(Lift *);
/* Appends the most general form that is true at random sizes, as the body of a rule: its inputs,
   `from` and `to`. *mode and *ranks become its form and axis blocks. Returns LIFT_UNTRIED if no
   form was true and some form could not be tried, and LIFT_FALSE if all forms are false. */
LiftResult lift_rule(Lift *, const Candidate *, LiftMode *mode, unsigned *ranks, Text *out);
/* The axis blocks that the lifted rule could have by its form; nothing is run. */
unsigned lift_ranks(Lift *, const Candidate *);
#endif
