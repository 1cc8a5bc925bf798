/* execute.h -- runs a plan on a back end. */
#ifndef ISOMER_EXECUTE_H
#define ISOMER_EXECUTE_H
#include "graphs/plan/plan.h"

typedef struct Runner Runner; /* kernels compiled, constants on the device, work memory taken */
/* NULL: E_MEMORY, or E_ENVIRONMENT if the device fails. The plan must outlive it; runner_free. */
Runner *runner_new(const Plan *, const Backend *, Device *, Error *);
/* Gives memory back that constants take where they can be read again, as those of a mapped file. */
typedef struct Relief {
    void (*give)(const void *user);
    const void *user;
} Relief;
enum { RELIEF_BYTES = 16 << 20 };
/* The same; relief is called first, and then whenever kernels have been made that read RELIEF_BYTES
   of constants more: what they keep packed and what it was packed of are never in memory whole. */
Runner *runner_new_relieved(const Plan *, const Backend *, Device *, const Relief *, Error *);
/* in, out: dense host buffers in the order of the graph's inputs and outputs. False: *e says which
   step failed. From the second run on, what the back end can record is replayed. */
bool runner_run(Runner *, const void *const in[], void *const out[], Error *);
/* It failed, and what failed is the kernel of an operator that refuses numbers, such as an index
   that is out of range. */
bool runner_refused(const Runner *);
/* Runs the steps from..to-1 and waits for them; from step 0 on with these inputs. */
bool runner_advance(Runner *, const void *const in[], int from, int to, Error *);
/* What a view holds now, dense, in the arena; NULL: the device fails. */
void *runner_read(const Runner *, const View *, Arena *);
/* The whole plan once more on the inputs set before, nothing copied in or out; by the device's
   clock. */
bool runner_time(Runner *, double *seconds, Error *);
/* One run, seconds[step], after a run has set the inputs. */
bool runner_profile(Runner *, double *seconds, Error *);
/* How many steps the last run replayed, as so many recordings; *why, which lives as long as the
   runner: why some are not recorded, or "". */
int runner_recorded(const Runner *, int *pieces, const char **why);
const Backend *runner_backend(const Runner *);
const Device *runner_device(const Runner *);
void runner_free(Runner *);
#endif
