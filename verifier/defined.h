/* defined.h -- wants: what the partial functions in a definition require of their arguments. An
   element is defined where all its wants hold. This file also says whether the wants of one graph
   imply those of another. */
#ifndef ISOMER_DEFINED_H
#define ISOMER_DEFINED_H
#include "verifier/import.h"

/* The kinds of wants. A want is an AT_PAIR with this word; it says what must hold of its a and
   b. */
typedef enum Want {
    WANT_PLACE = PAIR_WANT, /* a is an index on an axis of length b, from the start or the end */
    WANT_NONZERO,           /* a != 0: something is divided by a */
    WANT_NONNEGATIVE,       /* a >= 0: a root or a logarithm of a is taken */
    WANT_POWER,             /* a to the power of b is defined */
    WANT_POINT,             /* the maximum a is not over an empty set */
    WANT_BOUNDED,           /* exp(a) does not overflow; not a condition of definedness */
    /* Like WANT_BOUNDED, but below a function that may turn an infinity into a number: relu,
       sigmoid, .. */
    WANT_BOUNDED_HIDDEN,
    /* The next two are about floats, too, and no conditions of definedness. A function is undefined
       if rounding changes the sign of the sum a, or makes it 0. */
    WANT_SIGN_KEPT,
    WANT_ACCURATE /* the relative error of a small a = sigmoid(t) * .. is small */
} Want;
enum { WANTS_MAX = 16 };
/* Write what a function of a, or the power a^b, requires of its arguments, in lowest terms, as
   atoms; return how many. Wants that hold wherever ctx does are left out. a and b have no free
   guards. */
int wants_of_function(Prover *, Dom ctx, Function, Nf a, Nf out[WANTS_MAX]);
int wants_of_power(Prover *, Dom ctx, Nf a, Nf b, Nf out[WANTS_MAX]);

/* The same for what rounding may do to the argument a of a function: whether it may change its sign
   or make it 0, and whether it has a factor that is a sigmoid. */
int wants_of_rounding(Prover *, Dom ctx, bool sign, bool sigmoid, Nf a, Nf out[WANTS_MAX]);

const AtomInfo *want_atom(Prover *, Nf want); /* the AT_PAIR */
/* Writes a form of sizes and indices, such as a place, as a polynomial. False: it is none. */
bool want_polynomial(Prover *, Nf, Poly *);
bool wants_something(const ExNode *); /* does the node have wants? */
bool hides_infinity(const ExNode *);  /* may it turn an infinite argument into a number? */
/* Turns WANT_BOUNDED into WANT_BOUNDED_HIDDEN in the parts from number `from` on. */
void wants_hide(Prover *, Parts *, int from);

/* Returns whether the points at which the want x applies are shown to be among those at which the
   same want is given. */
bool wants_covered(Prover *, Dom ctx, const Parts *given, const Part *x);

typedef struct Lack { /* the first want that was not shown to follow */
    Nf want;
    int ncondition; /* conditions on sizes under which it may follow */
    Lit *condition;
} Lack;
/* What is lacking if the want x does not follow. The conditions are that each given part has a
   point, and that a size by which x divides is not 0. */
Lack wants_lack(Prover *, Dom ctx, const Parts *given, const Part *x);
/* True if, wherever ctx holds and all that is given, all that is wanted holds too. If `floats`,
   only the wants about floats count, from WANT_BOUNDED on, and WANT_BOUNDED_HIDDEN is not used of
   what is given; otherwise these are ignored. On false, Lack says what was not shown. */
bool wants_follow(Prover *, Dom ctx, const Parts *given, const Parts *wanted, bool floats, Lack *);
#endif
