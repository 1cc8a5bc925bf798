/* target.h -- a command times whole models on another runtime. The command is one long-lived
   process: it reads one path of an ONNX file per line, an empty line ends a batch; it answers for
   each file a line `SECONDS PATH` or `FAIL PATH REASON`, in any order, then an empty line. */
#ifndef ISOMER_TARGET_H
#define ISOMER_TARGET_H
#include "ops/base/text.h"

typedef struct Target Target;
typedef struct Timing { /* of one file of a batch */
    const char *path;
    double bytes;     /* of memory that it takes while it is timed; 0: not worth counting */
    double seconds;   /* of one run; <= 0: failed */
    char reason[200]; /* if it failed */
} Timing;
/* Starts the command through the shell; ends with target_stop. memory: how many bytes the files of
   a batch may take together. NULL and E_ENVIRONMENT: it cannot be started. */
Target *target_start(const char *command, double memory, Error *);
/* Times files, the first of which the others are compared with. What does not fit into memory
   beside the first is timed in further batches, each with the first, in which the times of the
   others are scaled to what the first one took in the first batch. Each batch may take
   timeout_seconds. False and E_ENVIRONMENT: the process died, timed out or broke the protocol; it
   must then only be stopped. */
bool target_measure(Target *, int n, Timing *, double timeout_seconds, Error *);
/* From now on a batch ends with E_INTERRUPTED soon after *cancel is nonzero (NULL: it never is),
   whoever sets it: a handler of a signal or another thread. Signals alone end none. */
void target_cancel(Target *, const volatile int *cancel);
void target_stop(Target *); /* closes its input, waits a little, then kills it */
#endif
