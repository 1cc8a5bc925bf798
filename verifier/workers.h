/* workers.h -- rules verified by worker processes, so that one that runs out of memory or dies
   costs one rule. */
#ifndef ISOMER_WORKERS_H
#define ISOMER_WORKERS_H
#include "verifier/verify.h"

typedef struct WorkerOptions {
    int jobs;
    size_t memory;           /* bytes of address space of each worker; 0: no limit */
    const bool *skip;        /* rules that are not to be verified; NULL: none */
    const char *explain_id;  /* the rule to explain, by identifier or name; NULL: none */
    const char *obligations; /* the folder into which they are written; NULL: they are not */
} WorkerOptions;
bool rule_named(const Rule *, const char *name_or_identifier);
/* In the order in which rules finish. */
typedef void (*WorkerDone)(void *user, int rule, const VerifyResult *);

/* E_ENVIRONMENT when processes cannot be made; E_INTERRUPTED on SIGINT or SIGTERM, with the rules
   done so far reported. */
bool workers_run(Arena *, const RuleSet *, const VerifyOptions *, const WorkerOptions *, WorkerDone,
                 void *user, Error *);
#endif
