/* reals_inner.h -- what the files of reals share: a question to Z3 about real numbers
   as it grows. */
#ifndef ISOMER_REALS_INNER_H
#define ISOMER_REALS_INNER_H
#include "verifier/reals.h"
#include <z3.h>

enum { KNOWN_MAX = 120, CHOICES_MAX = 24, WHOLE_MAX = 16, POINTS_MAX = 24 };
typedef struct Point { /* value = f(at), where `when` holds */
    Function f;
    Z3_ast at, value, when;
} Point;
/* Part `number` of a maximum, at a point of its own where the greatest is if it is in this part. */
typedef struct Choice {
    const AtomInfo *most;
    int number;
    Symbol *var;
    Dom dom;
    Z3_ast greatest, here;
} Choice;
typedef struct Reals {
    Prover *p;
    Dom ctx;
    Z3_context z;
    Z3_solver s;
    Z3_sort real;
    Z3_ast zero, one, yes;
    Z3_ast under; /* what is looked at is at a point of its domain if this holds */
    int nknown, npoint, nfresh;
    const void *key[KNOWN_MAX]; /* of an atom or of the body of a term */
    Z3_ast value[KNOWN_MAX];
    Nf stands[KNOWN_MAX]; /* what the value is of */
    Point point[POINTS_MAX];
    int nwhole;
    Z3_ast whole[WHOLE_MAX]; /* integers */
    int nchoice;
    Choice choice[CHOICES_MAX];
    int nsaid, roomsaid;
    Z3_ast *said;            /* what holds, as it was said, where it is collected */
    bool related, too_large; /* more than the sign is stated about some atom */
} Reals;

/* Terms and statements (reals_terms.c). What is stated is stated for good. */
Z3_ast real_fresh(Reals *);
Z3_ast real_number(Reals *, int64_t v);
Z3_ast real_plus(Reals *, Z3_ast a, Z3_ast b);
Z3_ast real_minus(Reals *, Z3_ast a, Z3_ast b);
Z3_ast real_times(Reals *, Z3_ast a, Z3_ast b);
Z3_ast real_product(Reals *, unsigned n, const Z3_ast *v);
Z3_ast real_le(Reals *, Z3_ast a, Z3_ast b);
Z3_ast real_equal(Reals *, Z3_ast a, Z3_ast b);
void real_assert(Reals *, Z3_ast x);
/* Stated where `when` holds. */
void real_assert_if(Reals *, Z3_ast when, Z3_ast x);
Z3_ast real_rational(Reals *, Ratio c);
/* The term of an atom or body, by its address; NULL: none yet. */
Z3_ast real_known(const Reals *, const void *key);
Z3_ast real_remember(Reals *, const void *key, Nf of, Z3_ast value);

/* What is known of functions (reals_functions.c): states that value = f(at) (where `when` holds),
   and how it relates to the values of f that were stated before. */
void real_add_value(Reals *, Function f, Z3_ast at, Z3_ast value, Z3_ast when);
void real_add_function(Reals *, Function f, Z3_ast at, Z3_ast value);
/* Where exponentials or logarithms occur together with sigmoids: e = exp(t) for sigmoid(t). */
void real_relate_sigmoids(Reals *);
#endif
