/* rule_trial.h -- rules tried with numbers: sizes are drawn that satisfy what a rule needs, its
   sides are built at these sizes, and the oracle computes both on drawn data. What the tests of the
   rule library, of the corpora and of the verifier share; independent of matcher, prover and
   kernels. */
#ifndef ISOMER_TEST_RULE_TRIAL_H
#define ISOMER_TEST_RULE_TRIAL_H
#include "graphs/oracle.h"
#include "ops/base/random.h"
#include "rules/rule.h"

enum { TRIAL_SYMBOLS = 64, TRIAL_TRIES = 4000, TRIAL_WHY = 300 };
typedef enum TrialNeeds {
    TRIAL_LEFT,
    TRIAL_BOTH,
    TRIAL_TYPES
} TrialNeeds; /* sizes for the left side alone, where both sides type and have the same sizes, or
                 where both type */
typedef enum TrialResult { TRIAL_SAME, TRIAL_DIFFERENT, TRIAL_ERROR } TrialResult;
typedef struct Trial {
    World *w;
    Arena *arena;
    Random random;
    const Rule *rule;
    Instance instance; /* symbolic */
    int nlit;
    const Lit *lit; /* what drawn values satisfy */
    int64_t value[TRIAL_SYMBOLS];
    bool zeros; /* some of the data is 0; what divides by it differs where real numbers do not (inf
                   - inf) */
    bool large; /* every third tensor has numbers up to 13, beyond what clips and activations bend
                   at */
    bool sizes_differ;  /* the outputs had other sizes in a comparison */
    int64_t elements;   /* compared so far */
    uint64_t inhabited; /* bit k: input k had elements in a comparison */
    uint64_t wide; /* bit k: symbol k is not a size, or was above 1 in one without empty tensors */
    char why[TRIAL_WHY]; /* of the last failure or difference */
} Trial;

/* A World of its own with the rule's instance in it; false: it does not type-check (why says so).
   Close it in either case. */
bool trial_open(Trial *, const Rule *, const int length[], TrialNeeds, uint64_t seed);
void trial_close(Trial *);
/* Draws a value for each symbol, sizes from `least` on; false: none found in TRIAL_TRIES tries. */
bool trial_draw(Trial *, int64_t least);
/* One side, as a graph whose sizes are the drawn numbers; real variables become 1/2, 1/4, ..;
   inputs are named in-NAME. false: shape() refuses. */
bool trial_graph(Trial *, const Graph *side, Graph *out);
/* Both graphs have the same inputs; equal to 1e-6 relative, NaN to NaN. */
TrialResult trial_compare(Trial *, const Graph *, const Graph *);
/* The whole of it for n draws, half of them with sizes of 0 allowed, one of four with sizes from 2
   on if there are such: different if it is in any; *done: in how many it was computed. */
TrialResult trial_rule(Trial *, int n, int *done);
#endif
