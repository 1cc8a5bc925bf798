/* ways.h -- ways to run a step that a library of NVIDIA's has, beside the generated kernels. */
#ifndef ISOMER_CUDA_WAYS_H
#define ISOMER_CUDA_WAYS_H
#include "ops/cuda/device.h"

typedef struct Way Way; /* one way to run one step, ready to be started */
struct Library {
    const char *identity;
    /* How many it has for this step, the likely best first; 0: none. */
    int (*ways)(Library *, const Step *);
    /* *rest: the step's program is not in it, and has to follow. NULL: `why` says why not. */
    Way *(*make)(Library *, const Step *, int way, bool *rest, size_t *workspace, char *why,
                 size_t n);
    /* view[k]: where view k begins. 0: started on the device's stream. */
    int (*run)(Way *, void *const view[], void *workspace);
    void (*forget)(Way *);
    void (*close)(Library *);
};
/* False: `why` says what is missing. *out stays NULL where a test's device has no such library. */
bool lt_open(Device *, Library **out, char *why, size_t n);
bool dnn_open(Device *, Library **out, char *why, size_t n);

/* ---- memo.c */
/* How many ways each library has for the step. */
void memo_ways(Device *, const Step *, int ways[LIBRARIES]);
void memo_free(Device *);
#endif
