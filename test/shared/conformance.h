/* conformance.h -- the suite that every back end has to pass. Random steps (step_cases.h) are run
   with each of their choices and compared with the reference; guards show whether a step writes
   where it must not. */
#ifndef ISOMER_TEST_CONFORMANCE_H
#define ISOMER_TEST_CONFORMANCE_H
#include "test/shared/step_cases.h"
#include <stdio.h>

typedef struct Suite {
    const Backend *backend;
    Device *device;
    Device *twin;       /* must give the same bytes as `device`; NULL: no twin */
    bool weights;       /* the contents of some inputs are known when a step is compiled */
    bool may_refuse;    /* choices other than the first may be refused when they are compiled */
    int rounds;         /* how often each choice runs; 0: once */
    void (*round)(int); /* called before each round; NULL: nothing is called */
} Suite;
typedef struct Found {
    int steps, runs, refused, wrong;
    char text[2000]; /* the first step that is wrong: what is wrong, and the step */
} Found;

enum { CONFORMANCE_KINDS = 9 };
/* A kind of step, its name, and how many steps of this kind the full suite of 3,360 steps has. */
typedef struct StepCount {
    StepKind kind;
    const char *name;
    int steps;
} StepCount;
extern const StepCount conformance_kinds[CONFORMANCE_KINDS];

/* Runs steps 0 to count - 1 of a kind and adds to *found. A step without any choice counts as
   wrong, unless it is an S_ROWS step, which a back end need not support. Returns whether nothing
   was wrong. Without `on` the run stops at the first wrong step; otherwise each wrong step is
   printed to it. */
bool conformance_run(const Suite *, StepKind, int count, FILE *on, Found *);
#endif
