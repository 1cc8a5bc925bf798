/* child.h -- runs a program to its end. Its standard input and output are files in memory, so
   neither process ever waits for the other to read or write. */
#ifndef ISOMER_CHILD_H
#define ISOMER_CHILD_H
#include "ops/base/text.h"

/* Runs argv[0], which is searched for on the PATH, and waits until it ends. `in` is its standard
   input (NULL: empty). *out receives its standard output, n bytes and a terminating 0, in the
   arena; its standard error is dropped. Returns its exit status, or -1 with errno set if it could
   not be run or was killed (ECANCELED). */
int child_run(Arena *, char *const argv[], const Text *in, char **out, size_t *n);
/* Does the same, but kills the program and every process that it started once stop(user) returns
   true; errno is then ECANCELED. */
int child_run_until(Arena *, char *const argv[], const Text *in, char **out, size_t *n,
                    bool (*stop)(void *user), void *user);
#endif
