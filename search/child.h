/* child.h -- runs a program to its end. Its standard input and output are files in memory, so
   neither process ever waits for the other to read or write. */
#ifndef ISOMER_CHILD_H
#define ISOMER_CHILD_H
#include "ops/base/text.h"

typedef struct ChildSaid { /* what a program wrote; each text ends with a 0 that n does not count */
    char *out;             /* to its standard output */
    size_t n;              /* bytes of it */
    const char *reason;    /* the last line, not empty, of its standard error; "": there is none */
} ChildSaid;
/* Runs argv[0], which is searched for on the PATH, and waits until it ends. `in` is its standard
   input (NULL: empty). What it writes is copied to the arena. Returns its exit status, or -1 with
   errno set if it could not be run or was killed (ECANCELED). */
int child_run(Arena *, char *const argv[], const Text *in, ChildSaid *);
/* Does the same, but kills the program and every process that it started once stop(user) returns
   true; errno is then ECANCELED. */
int child_run_until(Arena *, char *const argv[], const Text *in, ChildSaid *,
                    bool (*stop)(void *user), void *user);
/* Returns a copy of the last line that is not empty; "" if there is none. */
const char *child_last_line(Arena *, const char *text);
#endif
