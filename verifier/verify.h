/* verify.h -- verifies one rule. The verdict is PROVED for all sizes, REFUTED with a
   counterexample, or UNKNOWN with a reason. */
#ifndef ISOMER_VERIFY_H
#define ISOMER_VERIFY_H
#include "verifier/proof.h"

typedef struct VerifyOptions {
    /* Z3 resource units for each combination of block lengths; 0 for the default. */
    uint64_t budget;
    bool no_preconditions; /* does not look for conditions under which the rule holds */
    bool prove_first;      /* does not look for a counterexample before a proof has failed */
    bool explain;          /* writes VerifyResult.explanation; implies prove_first */
    bool obligations;      /* keeps the questions on which the proofs rest in the result */
    Switches check;        /* all on, except in tests */
    int shapes;            /* how many sets of sizes are tried for a counterexample; 0 for 60 */
    size_t memory;         /* in bytes; a rule that needs more is UNKNOWN; 0 for no limit */
} VerifyOptions;
typedef struct VerifyResult { /* strings live in the caller's arena */
    Verdict verdict;
    unsigned classes;      /* PROVED: bits of NumericClass */
    const char *condition; /* PROVED: what was added to the rule's own `where`; "" if nothing */
    /* PROVED: a block of each group for which the verdict holds at all ranks, as in Rule.all_ranks;
       "" if none. */
    const char *all_ranks;
    /* For each of the conditions where it comes from, joined by ", ": Missing.needed_by (proof.h)
       or "inferred". "" if there are none. */
    const char *condition_sources;
    /* Not PROVED: "useless" if the rule holds only where a size is at most 1, "vacuous" if no sizes
       satisfy its conditions, "invalid" if it is not a pair of graphs; otherwise "". */
    const char *category;
    const char *why; /* the reason if UNKNOWN, a remark if REFUTED; otherwise "" */
    /* REFUTED: sizes, data and an element that differs; otherwise NULL. */
    const char *counterexample;
    const char *explanation; /* NULL unless options.explain */
    /* PROVED, with options.obligations or options.explain: the questions on which the proofs rest.
       The argument about spectators rests on none. */
    int nobligation;
    const Obligation *obligation;
    /* The same as text, a line "DIGEST<tab>PURPOSE" for each; NULL if not asked for. */
    const char *obligations;
    double ms;   /* processor time, in milliseconds */
    int queries; /* questions that Z3 was asked */
} VerifyResult;

/* The default options. */
VerifyOptions verify_defaults(void);
/* Verifies one rule. A rule that does not type-check, or cannot be decided within the limits, is
   UNKNOWN. The verdict that the rule carries has no influence. */
VerifyResult verify_rule(Arena *, const Rule *, const VerifyOptions *);
#endif
