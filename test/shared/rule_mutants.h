/* rule_mutants.h -- makes mutants of true rules: rules whose right side is changed in one place. A
   prover must not prove those that are wrong. */
#ifndef ISOMER_TEST_RULE_MUTANTS_H
#define ISOMER_TEST_RULE_MUTANTS_H
#include "ops/base/random.h"
#include "rules/rule.h"

/* X(id, word) */
#define MUTATIONS(X)                          \
    X(MUTATE_SWAP, "swapped operands")        \
    X(MUTATE_AXIS, "another axis")            \
    X(MUTATE_NUMBER, "another number")        \
    X(MUTATE_DROP_ATTR, "attribute left out") \
    X(MUTATE_OPERATOR, "another operator")    \
    X(MUTATE_REWIRE, "rewired input")         \
    X(MUTATE_OUTPUTS, "swapped outputs")      \
    X(MUTATE_DROP, "dropped operator")        \
    X(MUTATE_SPLIT, "another split point")    \
    X(MUTATE_ACTIVATION, "activation added")
typedef enum Mutation {
#define X(id, word) id,
    MUTATIONS(X) MUTATION_COUNT
#undef X
} Mutation;
const char *mutation_word(Mutation);

/* Makes one mutant, without axis blocks, of a rule; its name is that of the rule with "-k"
   appended, and the place that is changed is drawn. Returns false if the rule has no place for this
   mutation, or if the result is not a valid rule or is the same rule. */
bool rule_mutant(Arena *, const Rule *, int k, Mutation, Random *, Rule *out);
#endif
