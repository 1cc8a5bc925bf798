/* verify.h -- the verdict on a rule: PROVED for all sizes, REFUTED by a counterexample, or UNKNOWN
   and why. */
#ifndef ISOMER_VERIFY_H
#define ISOMER_VERIFY_H
#include "verifier/proof.h"

typedef struct VerifyOptions {
    uint64_t budget; /* Z3 resource units for each combination of block lengths; 0: the default */
    bool no_preconditions; /* as it stands: no condition is looked for under which it holds */
    bool prove_first;      /* no counterexample is looked for before a proof has failed */
    bool explain;          /* implies prove_first */
    bool obligations;      /* the questions on which the proofs rest are kept in the result */
    Switches check;        /* all on, except in tests */
    int shapes;            /* sets of sizes tried for a counterexample; 0: 60 */
    size_t memory;         /* bytes; beyond them the rule is UNKNOWN. 0: no limit */
} VerifyOptions;
typedef struct VerifyResult { /* strings live in the arena that was given */
    Verdict verdict;
    unsigned classes;
    const char *condition; /* PROVED: what was added to the rule's own `where`; "" none */
    /* PROVED: a block of each group for which it holds at all ranks, as in a Rule; "" none. */
    const char *all;
    /* Where each of these conditions comes from: a side of Missing (proof.h), or "inferred", as
       many, joined by ", "; "" none. */
    const char *sides;
    const char *category; /* not PROVED: "useless" where it holds only with a size of at most 1,
                             "vacuous" where with no sizes at all; "" else */
    const char *why;      /* UNKNOWN: which obligation, which budget; "" else */
    const char *counterexample; /* REFUTED; NULL else */
    const char *explanation;    /* NULL unless asked for */
    /* PROVED: on what the proofs rest, if asked for; the spectators' argument rests on nothing. */
    int nobligation;
    const Obligation *obligation;
    const char
        *obligations; /* the same as text: a line "DIGEST<tab>PURPOSE" for each; NULL: none */
    double ms;
    int queries;
} VerifyResult;

VerifyOptions verify_defaults(void);
/* What cannot be typed or decided within the limits is UNKNOWN. The verdict that the rule carries
   has no influence. */
VerifyResult verify_rule(Arena *, const Rule *, const VerifyOptions *);
#endif
