/* rule_trial.h -- tries rules with numbers. It draws sizes that satisfy what a rule needs, builds
   both sides at these sizes, and computes both on random data by the oracle. The tests of the rule
   library, of other rule corpora and of the verifier share it; it does not depend on matcher,
   prover or kernels. */
#ifndef ISOMER_TEST_RULE_TRIAL_H
#define ISOMER_TEST_RULE_TRIAL_H
#include "graphs/oracle.h"
#include "ops/base/random.h"
#include "rules/rule.h"

enum { TRIAL_SYMBOLS = 64, TRIAL_TRIES = 4000, TRIAL_WHY = 300 };
/* For which sizes a rule is tried: where the left side is valid; where both sides are valid and
   have the same sizes; where both sides are valid. */
typedef enum TrialNeeds { TRIAL_LEFT, TRIAL_BOTH, TRIAL_TYPES } TrialNeeds;
typedef enum TrialResult { TRIAL_SAME, TRIAL_DIFFERENT, TRIAL_ERROR } TrialResult;
typedef struct Trial {
    World *w;
    Arena *arena;
    Random random;
    const Rule *rule;
    Instance instance; /* over symbolic sizes */
    int nlit;
    const Lit *lit;               /* the conditions that drawn values satisfy */
    int64_t value[TRIAL_SYMBOLS]; /* drawn value of each symbol of the instance */
    /* Some of the data is 0. Divisions by it may then differ although the sides are equal over the
       real numbers (infinity - infinity). */
    bool zeros;
    /* Every third tensor has numbers up to 13, which are beyond the bends of clips and
       activations. */
    bool large;
    bool sizes_differ;        /* set if the outputs had different sizes in a comparison */
    int64_t elements;         /* number of elements compared so far */
    uint64_t inputs_nonempty; /* bit k: input k had elements in some comparison */
    /* bit k: symbol k is not a size, or was above 1 in a comparison without empty tensors. */
    uint64_t symbols_above_one;
    char why[TRIAL_WHY]; /* the last failure or difference */
} Trial;

/* Makes a World with the rule's instance for these block lengths. Returns false if the instance
   does not type-check; `why` then has the reason. It must be closed in either case. */
bool trial_open(Trial *, const Rule *, const int length[], TrialNeeds, uint64_t seed);
void trial_close(Trial *);
/* Draws a value for each symbol; sizes are at least `least`. Returns false if no values were found
   in TRIAL_TRIES attempts. */
bool trial_draw(Trial *, int64_t least);
/* Builds a side as a graph whose sizes are the drawn numbers. The rule's real variables become 1/2,
   1/4, .., and inputs are named in-NAME. Returns false if an operator refuses these sizes. */
bool trial_graph(Trial *, const Graph *side, Graph *out);
/* Compares two graphs with the same inputs on random data. Results are the same if they differ by
   at most 1e-6 of their size (relative above 1, absolute below), and NaN equals NaN. */
TrialResult trial_compare(Trial *, const Graph *, const Graph *);
/* Tries the rule at n sets of sizes. Every other set may contain sizes of 0, and every fourth has
   sizes of at least 2 if possible. The result is TRIAL_DIFFERENT if the sides differ at any of
   them. *done is the number of sets at which both sides were computed. */
TrialResult trial_rule(Trial *, int n, int *done);
#endif
