/* recording.h -- runs the same steps again and again. If the back end can record, the steps on the
   device between two steps on the host are recorded and then started as one kernel. */
#ifndef ISOMER_RECORDING_H
#define ISOMER_RECORDING_H
#include "graphs/plan/plan.h"
#include "graphs/plan/step_kernel.h"

/* The kernels and memory of a plan, which belong to its owner. */
typedef struct Running {
    const Plan *plan;
    const Backend *backend;
    Device *device;
    const StepKernel *kernel; /* by step; steps that run once are skipped */
    void *const *slot;        /* by slot: its memory */
    void *workspace;
} Running;
typedef struct Stretch {
    int from, to;   /* the steps from..to-1 */
    Kernel *kernel; /* their recording; NULL: they run one by one */
} Stretch;
typedef struct Recording {
    int n;
    /* The back end marks the begin of each step k as time k and its end as time k + 1. */
    bool marked;
    Stretch *stretch; /* NULL: not made yet */
    char why[200];    /* the first reason why a stretch is not recorded; "" if there is none */
} Recording;

/* Records the steps, all of which must have run before. Returns false if memory runs out. A stretch
   that cannot be recorded will run step by step. */
bool recording_make(Recording *, const Running *, bool marked);
void recording_free(Recording *, const Backend *);
/* Starts all steps; adds to *ns as step_kernel_run does. Returns -1, or on failure the step that
   failed or the first step of the recording that failed. */
int recording_run(const Recording *, const Running *, double *ns);
/* Starts the steps from..to-1 one by one; returns and adds to *ns as recording_run does. */
int steps_run(const Running *, int from, int to, bool marked, double *ns);
#endif
