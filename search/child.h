/* child.h -- runs a program to its end, with its input and output in files in memory, so that
   neither side ever waits for the other. */
#ifndef ISOMER_CHILD_H
#define ISOMER_CHILD_H
#include "ops/base/text.h"

/* Runs argv[0], which is searched for as in a shell. in: its standard input (NULL: empty); out: its
   standard output, 0-terminated, in the arena; its standard error is dropped. Returns its exit
   status; -1 with errno: it could not be run or was killed (ECANCELED). */
int child_run(Arena *, char *const argv[], const Text *in, char **out, size_t *n);
/* The same, but once stop(user) says so, it and what it started are killed: ECANCELED. */
int child_run_until(Arena *, char *const argv[], const Text *in, char **out, size_t *n,
                    bool (*stop)(void *user), void *user);
#endif
