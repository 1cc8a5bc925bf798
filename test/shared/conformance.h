/* conformance.h -- the one suite that every back end has to pass: drawn steps (step_cases.h) by
   every choice, against the reference, with the guards around what a step may write. */
#ifndef ISOMER_TEST_CONFORMANCE_H
#define ISOMER_TEST_CONFORMANCE_H
#include "test/shared/step_cases.h"
#include <stdio.h>

typedef struct Suite {
    const Backend *backend;
    Device *device;
    Device *twin;       /* must give the same bytes; NULL: none */
    bool weights;       /* some inputs are known when a step is compiled */
    bool may_refuse;    /* choices other than the first when they are compiled */
    int rounds;         /* how often each choice runs; 0: once */
    void (*round)(int); /* called before each */
} Suite;
typedef struct Found {
    int steps, runs, refused, wrong;
    char text[2000]; /* what is wrong with the first step that is: how it was run, and the step */
} Found;

enum { CONFORMANCE_KINDS = 9 };
/* kind, its name, and how many steps of it make the full suite of 3,360. */
typedef struct StepCount {
    StepKind kind;
    const char *name;
    int steps;
} StepCount;
extern const StepCount conformance_kinds[CONFORMANCE_KINDS];

/* Runs steps 0 to count - 1 of a kind and adds to *found. A step without any choice is wrong, but
   of S_ROWS, which a back end need not have. True: nothing was wrong. Stops at the first wrong step
   unless `on`; then each is printed to it. */
bool conformance_run(const Suite *, StepKind, int count, FILE *on, Found *);
#endif
