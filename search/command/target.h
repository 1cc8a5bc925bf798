/* target.h -- times whole models on another runtime by a command. The command is one long-lived
   process. It reads one path of an ONNX file per line; an empty line ends a batch. For each file it
   answers with a line `SECONDS PATH` or `FAIL PATH REASON`, in any order, then with an empty
   line. */
#ifndef ISOMER_TARGET_H
#define ISOMER_TARGET_H
#include "ops/base/text.h"

typedef struct Target Target;
typedef struct Timing { /* one file of a batch, and its time */
    const char *path;
    double memory;    /* bytes of memory that it takes while it is timed; 0: negligible */
    double seconds;   /* seconds of one run; <= 0: it failed */
    char reason[200]; /* why it failed */
} Timing;
/* Starts the command, a text that must not move, through the shell; target_stop ends it. The files
   of a batch may take `memory` bytes together. Returns NULL with E_ENVIRONMENT if the command
   cannot be started. */
Target *target_start(const char *command, double memory, Error *);
/* Times files, of which the first is the one that the others are compared with. Files that do not
   fit into memory beside the first are timed in further batches, each together with the first;
   their times are scaled by the ratio of the first file's times in both batches. Each batch may
   take timeout_seconds. If the process ends within a batch, it is started again and the batch is
   halved until it is clear at which file it ends: that file fails. Returns false with E_ENVIRONMENT
   if the process ended at the first file alone, timed out or broke the protocol; it can then only
   be stopped. */
bool target_measure(Target *, int n, Timing *, double timeout_seconds, Error *);
/* From now on, a batch ends with E_INTERRUPTED soon after stop(user) becomes true, which is asked
   several times a second. Signals alone end no batch. */
void target_cancel(Target *, bool (*stop)(void *user), void *user);
void target_stop(Target *); /* closes its input, waits a little, then kills it */
#endif
