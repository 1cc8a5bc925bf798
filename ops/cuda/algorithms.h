/* algorithms.h -- the interface to NVIDIA's libraries: the algorithms that they have for a step, in
   addition to the generated kernels, and how many there are (memo.c). */
#ifndef ISOMER_CUDA_ALGORITHMS_H
#define ISOMER_CUDA_ALGORITHMS_H
#include "ops/cuda/device.h"

typedef struct Algorithm Algorithm; /* one algorithm of a library for one step, ready to run */
struct Library {
    const char *identity;
    /* The number of algorithms for this step, which are numbered from 0, the likely fastest first;
       0: none. */
    int (*algorithms)(Library *, const Step *);
    /* Prepares an algorithm for a step. *rest becomes true if the algorithm does not include the
       step's program, which must then run after it; *workspace becomes the bytes of scratch memory
       per run. NULL: `why` holds the reason. */
    Algorithm *(*make)(Library *, const Step *, int algorithm, bool *rest, size_t *workspace,
                       char *why, size_t n);
    /* Starts the algorithm on the device's stream; view[k] is the address of the first element of
       view k. Returns 0 if it was started. */
    int (*run)(Algorithm *, void *const view[], void *workspace);
    void (*forget)(Algorithm *);
    void (*close)(Library *);
};
/* Open cuBLASLt and cuDNN. Return false if that fails, with the reason in `why`. *out stays NULL if
   the test's device has no such library. */
bool lt_open(Device *, Library **out, char *why, size_t n);
bool dnn_open(Device *, Library **out, char *why, size_t n);

/* ---- memo.c */
/* Stores the number of algorithms that each library has for the step. */
void memo_algorithms(Device *, const Step *, int algorithms[LIBRARIES]);
void memo_free(Device *);
#endif
