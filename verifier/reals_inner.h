/* reals_inner.h -- what the files of reals share: the state of a question to Z3 about real numbers
   while it is being built. */
#ifndef ISOMER_REALS_INNER_H
#define ISOMER_REALS_INNER_H
#include "verifier/reals.h"
#include <z3.h>

/* What exceeds one of these limits is left out of the question, or the question is not asked. */
enum { KNOWN_MAX = 120, CHOICES_MAX = 24, WHOLE_MAX = 16, POINTS_MAX = 24 };
typedef struct Point { /* a value of a function: value = f(at) where `when` holds */
    Function f;
    Z3_ast at, value, when;
} Point;
/* The statement that the maximum is attained in its part `number`, at a point of the part's domain
   of which nothing else is known. */
typedef struct Choice {
    const AtomInfo *most; /* the maximum */
    int number;
    Symbol *var; /* the point: fresh names for the part's variables */
    Dom dom;     /* the part's domain, at this point */
    /* The value of the maximum, and the statement that the point lies in `dom`. */
    Z3_ast greatest, here;
} Choice;
typedef struct Reals {
    Prover *p;
    Dom ctx;
    Cleanup cleanup; /* closes the context */
    Z3_context z;
    Z3_solver s;
    Z3_sort real;
    Z3_ast zero, one, yes;
    /* The condition under which the point being looked at exists. */
    Z3_ast point_exists;
    int nknown, npoint, nfresh;
    const void *key[KNOWN_MAX]; /* the AtomInfo or BodyInfo that has a term of Z3, value[k] */
    Z3_ast value[KNOWN_MAX];
    Nf stands[KNOWN_MAX]; /* the form that value[k] stands for, for explanations */
    Point point[POINTS_MAX];
    int nwhole;
    Z3_ast whole[WHOLE_MAX]; /* terms that are integers */
    int nchoice;
    Choice choice[CHOICES_MAX];
    int nsaid, roomsaid;
    Z3_ast *said; /* the assertions, kept if obligations are collected */
    /* `worth_asking`: more than a sign is stated about some atom, so that asking may help.
       `too_large`: a limit was exceeded, so that the question is not asked. */
    bool worth_asking, too_large;
} Reals;

/* Terms and statements (reals_terms.c). A statement stays in force until the question ends. */
Z3_ast real_fresh(Reals *);
Z3_ast real_number(Reals *, int64_t v);
Z3_ast real_plus(Reals *, Z3_ast a, Z3_ast b);
Z3_ast real_minus(Reals *, Z3_ast a, Z3_ast b);
Z3_ast real_times(Reals *, Z3_ast a, Z3_ast b);
Z3_ast real_product(Reals *, unsigned n, const Z3_ast *v);
Z3_ast real_le(Reals *, Z3_ast a, Z3_ast b);
Z3_ast real_equal(Reals *, Z3_ast a, Z3_ast b);
void real_assert(Reals *, Z3_ast x);
/* States x where `when` holds. */
void real_assert_if(Reals *, Z3_ast when, Z3_ast x);
Z3_ast real_rational(Reals *, Ratio c);
/* The term of an atom or body, by the address of its AtomInfo or BodyInfo. NULL if it has none
   yet. */
Z3_ast real_known(const Reals *, const void *key);
Z3_ast real_remember(Reals *, const void *key, Nf of, Z3_ast value);

/* Facts about functions (reals_functions.c). States that value = f(at) where `when` holds, and how
   this value relates to the values of f that were stated before. */
void real_add_value(Reals *, Function f, Z3_ast at, Z3_ast value, Z3_ast when);
/* The same everywhere; a logarithm is stated as a value of exp. */
void real_add_function(Reals *, Function f, Z3_ast at, Z3_ast value);
/* If exponentials or logarithms occur, states for each sigmoid(t) how it relates to exp(t). */
void real_relate_sigmoids(Reals *);
#endif
