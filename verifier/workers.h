/* workers.h -- verifies rules in worker processes, so that a process that runs out of memory or
   dies costs one rule only. */
#ifndef ISOMER_WORKERS_H
#define ISOMER_WORKERS_H
#include "verifier/verify.h"

typedef struct WorkerOptions {
    int jobs;
    size_t memory;           /* bytes of address space of each worker; 0 for no limit */
    const bool *skip;        /* by rule: it is not to be verified; NULL if all are */
    const char *explain_id;  /* the identifier or name of the rule to explain; NULL if none */
    const char *obligations; /* the folder for obligations; NULL if they are not written */
} WorkerOptions;
/* Is this the rule's name or identifier? */
bool rule_named(const Rule *, const char *name_or_identifier);
/* Is called for each rule, in the order in which they finish. */
typedef void (*WorkerDone)(void *user, int rule, const VerifyResult *);

/* Verifies the rules of the set that are not skipped, and calls `done` for each. E_ENVIRONMENT if
   processes cannot be made; E_INTERRUPTED on SIGINT or SIGTERM, after the rules done so far were
   reported. */
bool workers_run(Arena *, const RuleSet *, const VerifyOptions *, const WorkerOptions *, WorkerDone,
                 void *user, Error *);
#endif
