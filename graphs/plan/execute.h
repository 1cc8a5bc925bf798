/* execute.h -- runs a plan on a back end. */
#ifndef ISOMER_EXECUTE_H
#define ISOMER_EXECUTE_H
#include "graphs/plan/plan.h"

typedef struct Runner Runner; /* a plan ready to run: kernels are compiled, constants are on the
                                 device, work memory is allocated */
/* Makes a runner for a plan, which must outlive it; runner_free frees it. Returns NULL with
   E_MEMORY, with E_LIMIT if device memory runs out, or with E_ENVIRONMENT if the device fails. */
Runner *runner_new(const Plan *, const Backend *, Device *, Error *);
/* A function that returns memory of constants to the system if they can be read again, as those of
   a mapped file can. */
typedef struct Relief {
    void (*give)(const void *user);
    const void *user;
} Relief;
enum { RELIEF_BYTES = 16 << 20 };
/* Makes a runner and calls relief first, and then whenever kernels have been made that read another
   RELIEF_BYTES of constants. Thus the constants and their packed copies are never in memory as a
   whole at the same time. */
Runner *runner_new_relieved(const Plan *, const Backend *, Device *, const Relief *, Error *);
/* Runs the plan. in and out are dense host buffers in the order of the graph's inputs and outputs.
   Returns false on failure; *e says which step failed. The second run records the parts that the
   back end can record; it and later runs start each as one kernel. */
bool runner_run(Runner *, const void *const in[], void *const out[], Error *);
/* Whether the last failure was that of an operator's kernel that refuses numbers, such as an index
   that is out of range. */
bool runner_refused(const Runner *);
/* Runs the steps from..to-1 and waits for them. If `from` is 0, copies the inputs first. */
bool runner_advance(Runner *, const void *const in[], int from, int to, Error *);
/* Copies the present contents of a view into the arena as a dense tensor; NULL if the device
   fails. */
void *runner_read(const Runner *, const View *, Arena *);
/* Runs the whole plan again on the inputs of the last run, copying nothing in or out. *seconds is
   measured by the device's clock. */
bool runner_time(Runner *, double *seconds, Error *);
/* Runs the plan once on the inputs of the last run and measures each step: seconds[step]. */
bool runner_profile(Runner *, double *seconds, Error *);
/* The number of steps that the last run started as recordings, and in *pieces the number of
   recordings. *why says why some steps are not recorded, or is ""; it lives as long as the
   runner. */
int runner_recorded(const Runner *, int *pieces, const char **why);
const Backend *runner_backend(const Runner *);
const Device *runner_device(const Runner *);
void runner_free(Runner *);
#endif
