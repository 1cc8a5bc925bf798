/* verify_inner.h -- what the files of verify share: the state while one rule is verified. */
#ifndef ISOMER_VERIFY_INNER_H
#define ISOMER_VERIFY_INNER_H
#include "graphs/world.h"
#include "verifier/refute.h"
#include "verifier/verify.h"

#define VERIFY_SEED 20261121 /* the seed of all random sizes and data */
enum {
    EARLY_ELEMENTS = 200, /* the most elements of a tensor when sizes are tried before a proof */
    CONDITIONS_MAX = 16,  /* conditions added to a rule; if it needs more it is not proved */
    PROVED_MAX = 16       /* lengths that are kept to compare later ones with (spectators) */
};
/* Conditions added to a rule, as text, and where each comes from (Missing.needed_by or
   "inferred"). */
typedef struct Conditions {
    int n;
    const char *text[CONDITIONS_MAX], *source[CONDITIONS_MAX];
} Conditions;
typedef struct Verify { /* lives in an arena, since a longjmp loses local variables */
    Arena *arena;       /* the caller's */
    const Rule *rule;
    const VerifyOptions *options;
    Escape escape;
    World *w;
    Arena *work; /* for what is needed only at one combination of block lengths */
    Text explain;
    Trace trace;
    VerifyResult result;
    bool spent;            /* the last proof under guessed conditions lacked budget */
    Conditions conditions; /* in force in addition to the rule's own conditions */
    const char *condition; /* `conditions` as one text */
    /* A condition under which the rule holds, but only with a size of at most 1; NULL if none was
       found. */
    const char *useless_condition;
    const char *counterexample; /* to the rule as it stands; NULL if none was found */
    /* The combinations of block lengths proved under these conditions by proofs of their own. */
    int nproved, proved[PROVED_MAX][RULE_BLOCKS];
} Verify;

/* verify_instance.c. */
void verify_unknown(Verify *, const char *why); /* sets the verdict UNKNOWN */
/* The block lengths as text in v->work: "#h=2, #k=1"; "" for a rule without blocks. */
const char *verify_lengths_text(Verify *, const int length[]);
/* verify_build makes the rule's instance at these block lengths, under the conditions in force, in
   v->work; verify_expand expands its composites. False: the Error says what is wrong. */
bool verify_build(Verify *, const int length[], Instance *, Error *);
bool verify_expand(Verify *, Instance *, Error *);
/* Builds and expands the instance. False: the result says why the rule is UNKNOWN. */
bool verify_instance(Verify *, const int length[], Instance *);
/* Looks for a counterexample to the instance. The first one that is found is kept in
   v->counterexample. */
Refutation verify_refutation(Verify *, const int length[], const Instance *, const RefuteOptions *);
/* Options for a search at a few small sizes. Outputs whose sizes differ do not count, since the
   rule may still hold under conditions that make the sizes equal. */
RefuteOptions verify_small_sizes(void);
/* Does that search before anything is proved, unless the options exclude it. */
Refutation verify_differs_early(Verify *, const int length[], const Instance *);
ProofOptions verify_proof_options(Verify *);
/* Proves one instance and adds its classes, queries and explanation to the result. */
bool verify_prove(Verify *, const int length[], const Instance *, const ProofOptions *, Proof *);
/* Looks for a counterexample at the usual sizes, if there is none yet. True: the verdict is
   REFUTED. */
bool verify_refuted(Verify *, const int length[], const Instance *);
/* The texts joined by ", ", in the caller's arena. */
const char *verify_joined(Verify *, int n, const char *const part[]);
/* Looks for conditions under which the instance, whose proof `proof` failed, is proved
   (verify_conditions.c). True: they are in force, and earlier proofs of other instances no longer
   count. */
bool verify_conditions(Verify *, const int length[], const Instance *, const Proof *proof);
#endif
