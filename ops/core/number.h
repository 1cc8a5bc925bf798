/* number.h -- the number systems in which a definition can be evaluated, each a struct of
   functions, and the properties of every Function.

     real      doubles: the oracle for kernels
     wary      doubles for finding counterexamples: a step function of a number that is within
               rounding of a step, but not on it, is "not known"
     ratio     exact rationals of int64: a difference is a counterexample. After an overflow, or a
               function with an irrational value, the result is "not known"
     residue   residues modulo a prime p and, for exponents, modulo q = (p - 1)/2, together with a
               double that decides max, abs, sign and floor. exp maps Z_q to Z_p (Zhang et al., "A
               multi-level superoptimizer for tensor programs", 2024); sigmoid and tanh are computed
               from it; sqrt is multiplicative; other irrational functions are a hash of (function,
               residue). Values that are equal by the laws of fields and of exp have equal residues
               as long as the doubles stay finite, so inputs should be small */
#ifndef ISOMER_NUMBER_H
#define ISOMER_NUMBER_H
#include "ops/core/expr.h"

enum { RESIDUE_P = 2147483579, RESIDUE_Q = 1073741789, RESIDUE_NONE = 2147483647 };
typedef struct Residue {
    uint32_t p, q; /* RESIDUE_NONE means: p is not known (after a division by zero), or q is not
                      known (for a result of exp) */
    double order;
} Residue;
typedef struct Ratio {
    int64_t p, q;
} Ratio; /* in lowest terms, q > 0. q == 0: an infinity with the sign of p, or not known if p ==
            0 */
typedef union Number {
    double real;
    Ratio ratio;
    Residue residue;
} Number;

typedef struct Numbers {
    const char *name;
    Number (*ratio)(int64_t p, int64_t q); /* q > 0 */
    Number (*real)(double);
    Number (*add)(Number, Number);
    Number (*mul)(Number, Number);
    /* the greater of two numbers */
    Number (*most)(Number, Number);
    /* the smaller of two numbers */
    Number (*least)(Number, Number);
    Number (*power)(Number, Number);
    Number (*call)(Function, Number);
    Number (*lowest)(void); /* -infinity, the maximum of no numbers */
    /* False after an overflow, a division by zero, a function outside this system, or NaN. */
    bool (*known)(Number);
    bool (*equal)(Number, Number); /* real: ==, or both NaN; residue: p alone is compared */
    /* the value as a double; for a residue, the double kept with it */
    double (*approx)(Number);
} Numbers;
extern const Numbers numbers_real, numbers_wary, numbers_ratio, numbers_residue;
/* Whether numbers of the system are doubles. */
bool numbers_are_doubles(const Numbers *);

/* The properties of a function, used by the prover, by facts about ranges and by the number
   systems. */
typedef struct FunctionFacts {
    const char *name;
    double (*real)(double);
    double at_zero;    /* the value at 0; NaN: none */
    int monotone;      /* on its domain: 1 not decreasing, -1 not increasing, 0 neither */
    int parity;        /* -1 odd, 1 even, 0 neither */
    double low, high;  /* bounds: all values lie in [low, high] */
    double domain_low; /* the domain begins here (that of recip excludes 0) */
    bool rational;     /* maps rationals to rationals */
} FunctionFacts;
const FunctionFacts *function_facts(Function);
#endif
