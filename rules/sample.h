/* sample.h -- a rule's instance with numbers for all its variables: what can be run. Sizes from 2
   on are preferred, and different ones, so that axes are not confused. */
#ifndef ISOMER_RULES_SAMPLE_H
#define ISOMER_RULES_SAMPLE_H
#include "rules/match.h"

typedef struct RuleSample {
    const int64_t *value; /* by the instance's symbols */
    Graph from, to;       /* over the same inputs, which have the rule's names */
} RuleSample;
/* The same sample for the same instance. E_CHECK: none was found within so many draws. */
bool sample_make(World *, Arena *, const Instance *, RuleSample *, Error *);
#endif
