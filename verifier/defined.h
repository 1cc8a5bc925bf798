/* defined.h -- where an element is defined: what its partial functions want of their arguments, and
   what follows from what. */
#ifndef ISOMER_DEFINED_H
#define ISOMER_DEFINED_H
#include "verifier/import.h"

/* Pairs that say what must hold of a and b. */
typedef enum Want {
    WANT_PLACE = PAIR_WANT, /* a is a place on an axis of b places */
    WANT_NONZERO,           /* a != 0: it is divided by */
    WANT_NONNEGATIVE,       /* a >= 0: of it is taken a root */
    WANT_POWER,             /* a to the power of b is defined */
    WANT_POINT,             /* a, a maximum, is not of nothing */
    WANT_BOUNDED,           /* exp(a) does not overflow: no question of definedness */
    WANT_HIDDEN /* the same below what makes a number of an infinity: relu, sigmoid, .. */
} Want;
enum { WANTS_MAX = 16 };
/* What a function, or a power, wants of its arguments, in lowest terms, as atoms; none where it
   holds wherever ctx does. a and b have no free guards. Returns how many. */
int wants_of_function(Prover *, Dom ctx, Function, Nf a, Nf out[WANTS_MAX]);
int wants_of_power(Prover *, Dom ctx, Nf a, Nf b, Nf out[WANTS_MAX]);

bool wants_something(const ExNode *); /* one of these */
bool hides_infinity(const ExNode *);
/* Of these parts, from the given one on: what is bounded is below something that hides infinity. */
void wants_hide(Prover *, Parts *, int from);

typedef struct Lack { /* the first that does not follow */
    Nf want;
    int ncondition; /* of sizes, with which it may */
    Lit *condition;
} Lack;
/* Wherever ctx and everything given holds, everything wanted does. bounded: of what must be
   bounded, hidden or not, by what must be and is not hidden; else of all others. */
bool wants_follow(Prover *, Dom ctx, const Parts *given, const Parts *wanted, bool bounded, Lack *);
#endif
