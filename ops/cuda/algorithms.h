/* algorithms.h -- what NVIDIA's libraries have for a step, in addition to the generated kernels. */
#ifndef ISOMER_CUDA_ALGORITHMS_H
#define ISOMER_CUDA_ALGORITHMS_H
#include "ops/cuda/device.h"

typedef struct Algorithm Algorithm; /* of a library, for one step; ready to be started */
struct Library {
    const char *identity;
    /* How many it has for this step, the likely best first; 0: none. */
    int (*algorithms)(Library *, const Step *);
    /* *rest: it does not include the step's program, which has to follow. NULL: `why` says why. */
    Algorithm *(*make)(Library *, const Step *, int algorithm, bool *rest, size_t *workspace,
                       char *why, size_t n);
    /* view[k]: where view k begins. 0: started on the device's stream. */
    int (*run)(Algorithm *, void *const view[], void *workspace);
    void (*forget)(Algorithm *);
    void (*close)(Library *);
};
/* False: `why` says what is missing. *out stays NULL where a test's device has no such library. */
bool lt_open(Device *, Library **out, char *why, size_t n);
bool dnn_open(Device *, Library **out, char *why, size_t n);

/* ---- memo.c */
/* How many algorithms each library has for the step. */
void memo_algorithms(Device *, const Step *, int algorithms[LIBRARIES]);
void memo_free(Device *);
#endif
