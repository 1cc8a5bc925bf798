/* rule_numbers.h -- the numbers of a rule, and what becomes of them in floating point. */
#ifndef ISOMER_RULE_NUMBERS_H
#define ISOMER_RULE_NUMBERS_H
#include "rules/rule.h"

typedef struct RuleNumbers {
    bool unfit;  /* one is not a number of the element type it is used in, so that it is rounded */
    bool differ; /* such a one is rounded on one side only, or in another type */
    bool divide; /* exp or a division occurs */
    bool jump;   /* a function that is not continuous occurs: floor, round, sign, .. */
    bool accurate; /* an operator occurs whose definition written out gives other bits */
    bool written;  /* the right side has fewer of them: some definition may be written out */
} RuleNumbers;
/* Both graphs must be free of composites. */
RuleNumbers rule_numbers(World *, Arena *, const Instance *);
bool type_holds(DType, int64_t p, int64_t q); /* p/q as it is */
#endif
