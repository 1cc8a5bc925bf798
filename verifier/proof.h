/* proof.h -- proves one instance of a rule: for all sizes its right side equals its left side and
   is defined wherever the left side is. */
#ifndef ISOMER_PROOF_H
#define ISOMER_PROOF_H
#include "verifier/sizes.h"

typedef struct Missing { /* a needed condition that does not follow, in the rule's own symbols */
    Lit lit;
    /* What needs the condition: "right side", "outputs", "definedness" or "integers". */
    const char *needed_by;
} Missing;
typedef struct Proof {
    bool proved;
    bool vacuous;     /* no sizes satisfy the conditions */
    unsigned classes; /* bits of NumericClass, if proved */
    const char *why;  /* the reason, if not proved */
    bool spent;       /* the solver's budget is used up */
    int nmissing;
    const Missing *missing;
    SolverStats stats;
} Proof;
typedef struct ProofOptions {
    uint64_t budget; /* Z3 resource units, 0 for the default; a larger one allows more steps, too */
    Switches check;
    Trace *trace;    /* NULL if no trace is wanted */
    bool needs_only; /* values are not compared: `proved` stays false, `missing` is found */
} ProofOptions;

/* Both graphs of the instance must be free of composites. The result's strings live in the
   arena. */
Proof prove_instance(World *, Arena *, const Instance *, const ProofOptions *);
#endif
