/* proof.h -- one instance of a rule: is its right side equal to its left side for all sizes? */
#ifndef ISOMER_PROOF_H
#define ISOMER_PROOF_H
#include "verifier/sizes.h"

typedef struct Missing { /* a condition that nothing entails, in the rule's own symbols */
    Lit lit;
    const char *side; /* who needs it: "right side", "outputs", "definedness" or "integers" */
} Missing;
typedef struct Proof {
    bool proved;
    bool vacuous;     /* no sizes satisfy the conditions */
    unsigned classes; /* bits of NumericClass, when proved */
    const char *why;  /* when not */
    bool spent;       /* the solver's budget is used up */
    int nmissing;
    const Missing *missing;
    SolverStats stats;
} Proof;
typedef struct ProofOptions {
    uint64_t budget; /* of the solver; 0: its default; a larger one allows more steps too */
    Switches check;
    Trace *trace;    /* NULL: none */
    bool needs_only; /* nothing is compared: proved stays false, missing says what is */
} ProofOptions;

/* Both graphs must be free of composites. The result's strings live in the arena. */
Proof prove_instance(World *, Arena *, const Instance *, const ProofOptions *);
#endif
