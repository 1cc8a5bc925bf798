/* verify_inner.h -- what the files of verify share: the state of one rule's verification. */
#ifndef ISOMER_VERIFY_INNER_H
#define ISOMER_VERIFY_INNER_H
#include "graphs/world.h"
#include "verifier/refute.h"
#include "verifier/verify.h"

#define VERIFY_SEED 20261121 /* of everything that is drawn */
enum {
    EARLY_ELEMENTS = 200, /* in a tensor, at most, where sizes are tried before a proof */
    CONDITIONS_MAX = 16,  /* added to a rule; one that needs more is not proved */
    PROVED_MAX = 16       /* combinations of lengths that others are compared with (spectators) */
};
typedef struct Conditions {
    int n;
    const char *text[CONDITIONS_MAX], *side[CONDITIONS_MAX];
} Conditions;
typedef struct Verify { /* in an arena: after a longjmp local variables would be lost */
    Arena *arena;       /* the caller's */
    const Rule *rule;
    const VerifyOptions *options;
    Escape escape;
    World *w;
    Arena *work;
    Text explain;
    Trace trace;
    VerifyResult result;
    bool spent;            /* the last proof under guessed conditions lacked budget */
    Conditions conditions; /* in force, in addition to the rule's own */
    const char *condition; /* the same as text */
    /* A condition under which it holds, but with a size of at most 1. */
    const char *useless_condition;
    const char *counterexample; /* to the rule as it stands; NULL: none was found */
    /* Block lengths that were proved under these conditions by a proof of their own. */
    int nproved, proved[PROVED_MAX][RULE_BLOCKS];
} Verify;

/* verify_instance.c. */
void verify_unknown(Verify *, const char *why); /* the verdict */
/* The block lengths as text, in `work`: "#h=2, #k=1"; "" for a rule without blocks. */
const char *verify_lengths_text(Verify *, const int length[]);
/* Makes the rule's instance at these block lengths, under the conditions in force, in `work`;
   expands its composites. */
bool verify_build(Verify *, const int length[], Instance *, Error *);
bool verify_expand(Verify *, Instance *, Error *);
/* Both, one after the other; false: the result says why it is unknown. */
bool verify_instance(Verify *, const int length[], Instance *);
/* Looks for a counterexample; the first one to the rule as it stands is kept. */
Refutation verify_refutation(Verify *, const int length[], const Instance *, const RefuteOptions *);
/* For a search at a few small sizes: what differs in sizes only may still hold under the conditions
   that make them equal. */
RefuteOptions verify_small_sizes(void);
/* That search, before anything is proved; none where the options say so. */
Refutation verify_differs_early(Verify *, const int length[], const Instance *);
ProofOptions verify_proof_options(Verify *);
/* Proves one instance, and adds to the result what that says. */
bool verify_prove(Verify *, const int length[], const Instance *, const ProofOptions *, Proof *);
/* Looks for a counterexample at the usual sizes. True: the verdict is REFUTED. */
bool verify_refuted(Verify *, const int length[], const Instance *);
/* The texts with commas between them, in the caller's arena. */
const char *verify_joined(Verify *, int n, const char *const part[]);
/* verify_conditions.c: looks for conditions under which the instance, of which `proof` failed, is
   proved. If there are any, they are in force afterwards, and earlier proofs no longer count. */
bool verify_conditions(Verify *, const int length[], const Instance *, const Proof *proof);
#endif
