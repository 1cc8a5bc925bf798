/* number.h -- the number systems in which a definition can be evaluated, one struct of functions
   each, and what is known of every Function.
     real      doubles: the oracle of kernels
     ratio     rationals of int64, exact: a difference is a counterexample. Overflow, and functions
               that leave the rationals, give "not known"
     residue   residues modulo a prime p and, for exponents, modulo q = (p - 1)/2, with a double
               alongside that decides max, abs, sign and floor. exp maps Z_q to Z_p (Zhang et al.,
               "A multi-level superoptimizer for tensor programs", 2024), sigmoid and tanh follow
               from it, sqrt is multiplicative; what else is not rational is a hash of (function,
               residue). Equal values by the laws of fields and exp have equal residues, as long as
               the doubles alongside stay finite: draw inputs of small size. */
#ifndef ISOMER_NUMBER_H
#define ISOMER_NUMBER_H
#include "ops/core/expr.h"

enum { RESIDUE_P = 2147483579, RESIDUE_Q = 1073741789, RESIDUE_NONE = 2147483647 };
typedef struct Residue {
    uint32_t p, q; /* RESIDUE_NONE: p not known (division by zero); q not known (a value that came
                      out of exp) */
    double order;
} Residue;
typedef struct Ratio {
    int64_t p, q;
} Ratio; /* lowest terms, q > 0; q == 0: infinity of the sign of p, not known when p == 0 too */
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
    Number (*most)(Number, Number);
    Number (*least)(Number, Number);
    Number (*power)(Number, Number);
    Number (*call)(Function, Number);
    Number (*lowest)(void); /* -infinity, the maximum of nothing */
    /* false: overflow, division by zero, a function outside this system, NaN. */
    bool (*known)(Number);
    bool (*equal)(Number, Number); /* real: bitwise or both NaN or both zero; residue: p alone */
    double (*approx)(Number);
} Numbers;
extern const Numbers numbers_real, numbers_ratio, numbers_residue;

/* What is known of a function, stated once: for the prover, for facts on ranges, for the number
   systems. */
typedef struct FunctionFacts {
    const char *name;
    double (*real)(double);
    double at_zero;    /* NaN: none */
    int monotone;      /* 1 not decreasing, -1 not increasing, 0 neither, on its domain */
    int parity;        /* -1 odd, 1 even, 0 neither */
    double low, high;  /* all values lie in [low, high] */
    double domain_low; /* defined from here up (recip: but for 0) */
    bool rational;     /* maps rationals to rationals */
} FunctionFacts;
const FunctionFacts *function_facts(Function);
#endif
