/* derive.h -- whether given rules follow from generated ones: a rule is brought to the types of the set's inputs, its
   nodes are found among the set's operators, and its sides are rewritten into each other. */
#ifndef ISOMER_DERIVE_H
#define ISOMER_DERIVE_H
#include "generator/basis.h"
#include "rules/rule.h"

typedef enum Derived {
    DERIVED_YES,
    DERIVED_NO,
    DERIVED_OUTSIDE
} Derived; /* OUTSIDE: no types of the set fit, or an operator is none of it */
/* steps: of all results together, when YES. */
Derived derive_rule(Space *, Basis *, Arena *, const Rule *, int *steps);
#endif
