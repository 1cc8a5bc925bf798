/* rule_numbers.h -- the numbers that occur in a rule, and what floating point makes of them. */
#ifndef ISOMER_RULE_NUMBERS_H
#define ISOMER_RULE_NUMBERS_H
#include "rules/rule.h"

typedef struct RuleNumbers {
    /* A number is not representable in the type that holds it: it is rounded. */
    bool any_rounded;
    /* Such a number is rounded on one side only, or in different types; or a variable is held by a
       type that may round it. */
    bool rounded_unlike;
    bool lost; /* a number of the rule is 0, infinite or not an integer in the type that holds it */
    bool divide; /* exp or a division occurs */
    bool jump;   /* a function that is not continuous occurs: floor, round, sign, .. */
    bool choice; /* data choose what is read (EX_WHERE) */
    /* An operator occurs whose kernel differs from its definition (OP_ACCURATE). */
    bool has_accurate_op;
    bool may_write_out; /* the right side has fewer of these: it may write out a definition */
} RuleNumbers;
/* Collects these facts for both sides. Both graphs must be free of composites. */
RuleNumbers rule_numbers(World *, Arena *, const Instance *);
bool type_holds(DType, int64_t p, int64_t q); /* does the type represent p/q exactly? */
#endif
