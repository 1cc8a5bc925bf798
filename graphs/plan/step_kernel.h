/* step_kernel.h -- a step ready to be run: by a kernel of the back end or, where that has no
   algorithm to run it (choices gives 0), by a kernel of the CPU's back end between copies of the
   views. */
#ifndef ISOMER_STEP_KERNEL_H
#define ISOMER_STEP_KERNEL_H
#include "ops/backend/backend.h"

typedef struct HostStep HostStep;
typedef struct StepKernel {
    const Backend *backend;
    Device *device;
    Kernel *kernel; /* NULL: it runs on the host */
    HostStep *host;
} StepKernel;

/* What a kernel is made of: the arguments of Backend.compile. */
typedef struct KernelRequest {
    const Step *step;
    int choice;
    const void *const *weights; /* by view; NULL: none is known */
} KernelRequest;
/* cpu: the CPU's device, shared by the steps of a plan; it is opened here when it is needed first,
   and its owner closes it, after the steps. *workspace: bytes that a run needs on the device.
   False: the error's reason says why not; there is nothing to free. */
bool step_kernel_make(StepKernel *, const OpenDevice *, OpenDevice *cpu, const KernelRequest *,
                      size_t *workspace, Error *);
void step_kernel_free(StepKernel *); /* if it was made */
/* Starts it; on the host: returns when it is done. *ns: the nanoseconds that passed until then are
   added, including those of what was started on the device before, since only waiting for the
   device tells them, and that is done here. */
bool step_kernel_run(const StepKernel *, void *const slot[], void *workspace, double *ns);
/* When it runs, it does not read this view of the device's memory. */
bool step_kernel_packed(const StepKernel *, int view);
#endif
