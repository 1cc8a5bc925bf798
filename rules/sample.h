/* sample.h -- gives numbers to all variables of a rule's instance, so that it can be run. Sizes
   from 2 on that differ from each other are preferred, so that axes are not confused. */
#ifndef ISOMER_RULES_SAMPLE_H
#define ISOMER_RULES_SAMPLE_H
#include "rules/match.h"

typedef struct RuleSample {
    const int64_t *value; /* for each symbol of the instance */
    Graph from, to;       /* over the same inputs, which have the names of the rule */
} RuleSample;
/* Makes a sample, always the same one for the same instance. Fails with E_CHECK if none is found
   within a fixed number of draws. */
bool sample_make(World *, Arena *, const Instance *, RuleSample *, Error *);
#endif
