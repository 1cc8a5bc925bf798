/* proof.h -- one instance of a rule: is its right side equal to its left side for all sizes? */
#ifndef ISOMER_PROOF_H
#define ISOMER_PROOF_H
#include "verifier/sizes.h"

typedef struct Proof {
    bool proved;
    unsigned classes;   /* of RuleClass, when proved */
    const char *why;    /* when not */
    int nmissing;       /* conditions that the right side or the outputs need and nothing entails */
    const Lit *missing; /* in the rule's own symbols */
    SolverStats stats;
} Proof;
typedef struct ProofOptions {
    uint64_t budget; /* of the solver; 0: its default */
    Switches check;
    Text *explain; /* NULL: no */
} ProofOptions;

/* Both graphs must be free of composites. The result's strings live in the arena. */
Proof prove_instance(World *, Arena *, const Instance *, const ProofOptions *);
#endif
