/* verify.h -- the verdict on a rule: PROVED for all sizes, REFUTED by a counterexample, or UNKNOWN and why. */
#ifndef ISOMER_VERIFY_H
#define ISOMER_VERIFY_H
#include "verifier/proof.h"

typedef struct VerifyOptions {
    uint64_t budget;       /* Z3 resource units for each combination of block lengths; 0: the default */
    bool no_preconditions; /* the rule as it stands: nothing is added to its conditions */
    bool explain;
    Switches check; /* all on, but in tests */
    int shapes;     /* for counterexamples; 0: 60 */
    size_t memory;  /* bytes, 0: no limit */
} VerifyOptions;
typedef struct VerifyResult { /* strings live in the arena that was given */
    Verdict verdict;
    unsigned classes;
    const char *condition;      /* what was added to the rule's own `where`; "" none */
    const char *why;            /* UNKNOWN: which obligation, which budget; "" else */
    const char *counterexample; /* REFUTED; NULL else */
    const char *explanation;    /* NULL unless asked for */
    double ms;
    int queries;
} VerifyResult;

VerifyOptions verify_defaults(void);
VerifyResult verify_rule(Arena *, const Rule *, const VerifyOptions *);
#endif
