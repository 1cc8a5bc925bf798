/* rule_mutants.h -- true rules made wrong in one place of their right sides, as rule text: what a
   prover must not prove. */
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

/* One mutant of the rule named NAME-k, without axis blocks, in *out; which place is drawn. false:
   this mutation has no place in it, or what comes out is not a rule, or is the same rule. */
bool rule_mutant(Arena *, const Rule *, int k, Mutation, Random *, Rule *out);
#endif
