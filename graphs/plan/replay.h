/* replay.h -- steps that are run again and again: what runs on the device between two steps on the
   host is recorded, where the back end can do that, and started as one kernel. */
#ifndef ISOMER_REPLAY_H
#define ISOMER_REPLAY_H
#include "graphs/plan/plan.h"
#include "graphs/plan/step_kernel.h"

/* A plan's kernels and memory, which its owner keeps. */
typedef struct Running {
    const Plan *plan;
    const Backend *backend;
    Device *device;
    const StepKernel *kernel; /* by step; those done once are not run */
    void *const *slot;
    void *workspace;
} Running;
typedef struct Stretch {
    int from, to;   /* steps from..to-1 */
    Kernel *kernel; /* NULL: they are run one by one */
} Stretch;
typedef struct Replay {
    int n;
    bool marked;      /* each step k begins at the back end's time k and ends at time k + 1 */
    Stretch *stretch; /* NULL: not made */
    char why[200];    /* the first reason why a stretch is not recorded; "": all are */
} Replay;

/* Records the steps, all of which must have run before. False: out of memory. Recording that fails
   leaves a stretch to be run step by step. */
bool replay_make(Replay *, const Running *, bool marked);
void replay_free(Replay *, const Backend *);
/* Starts all of it; *ns as in step_kernel_run. -1: done; else the step that failed, or in which a
   recording begins that failed. */
int replay_run(const Replay *, const Running *, double *ns);
/* Starts steps from..to-1 one by one; returns as replay_run does. */
int steps_run(const Running *, int from, int to, bool marked, double *ns);
#endif
