/* step_kernel.h -- makes steps ready to run: by a kernel of the back end or, if the back end has no
   algorithm for the step (choices gives 0), by a kernel of the CPU's back end between copies of the
   views. */
#ifndef ISOMER_STEP_KERNEL_H
#define ISOMER_STEP_KERNEL_H
#include "ops/backend/backend.h"

typedef struct HostStep HostStep;
typedef struct StepKernel {
    const Backend *backend;
    Device *device;
    Kernel *kernel; /* NULL: the step runs on the host */
    HostStep *host;
} StepKernel;

/* The arguments of Backend.compile. */
typedef struct KernelRequest {
    const Step *step;
    int choice;
    const void *const *weights; /* by view: its known contents, or NULL; NULL: none is known */
} KernelRequest;
/* Makes the kernel of a step. cpu: the CPU's device, which the steps of a plan share; it is opened
   here when it is first needed, and its owner closes it after the steps are freed. *workspace: the
   bytes that a run needs on the device. Returns false with E_MEMORY if there is no memory, else
   with E_ENVIRONMENT, and the reason; there is nothing to free then. */
bool step_kernel_make(StepKernel *, const OpenDevice *, OpenDevice *cpu, const KernelRequest *,
                      size_t *workspace, Error *);
void step_kernel_free(StepKernel *); /* does nothing if it was not made */
/* Starts the step; a step on the host is done when this returns. For a step on the host, adds to
   *ns the nanoseconds that it took and those of what was started on the device before it: only
   waiting for the device tells the latter, and that is done here. */
bool step_kernel_run(const StepKernel *, void *const slot[], void *workspace, double *ns);
/* Whether a run does not read this view of the device's memory, because the kernel keeps its
   contents. */
bool step_kernel_packed(const StepKernel *, int view);
#endif
