/* child.h -- a program run to its end, its input and output files in memory, so that neither side
   ever waits for the other. */
#ifndef ISOMER_CHILD_H
#define ISOMER_CHILD_H
#include "ops/base/text.h"

/* Runs argv[0], found as the shell would; in: what it reads (NULL: nothing), out: what it writes,
   terminated, in the arena; its messages are dropped. Its exit status; -1 with errno: it could not
   be run or was killed (ECANCELED). */
int child_run(Arena *, char *const argv[], const Text *in, char **out, size_t *n);
#endif
