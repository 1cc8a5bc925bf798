/* source.h -- CUDA C for one step: the same text is compiled by NVRTC for a GPU and, in tests, by
   the C compiler for the host. Knows isomer_backend.h and nothing of CUDA. */
#ifndef ISOMER_CUDA_SOURCE_H
#define ISOMER_CUDA_SOURCE_H
#include "ops/backend/isomer_backend.h"
#include <stdbool.h>

/* A kernel "k" without the prelude. Its arguments are pointers: one for each view, to its first
   element (NULL for a view that is left out), then, if `table`, one to the step's parameters in
   device memory. One run launches `grid` blocks of `block` threads; grid 0:
   there is nothing to do. */
typedef struct KernelSource {
    char *text; /* the caller frees it */
    size_t size, room;
    unsigned grid, block;
    bool table, failed; /* failed: out of memory */
} KernelSource;

extern const char source_prelude[];
/* How many variants of the text there are for the step, the likely best first; 0: none. */
int source_variants(const Step *);
/* False: `why` says why; there is nothing to free. */
bool source_write(const Step *, int variant, KernelSource *, char *why, size_t n);
/* Bytes of an element of this type; 0: kernels cannot compute with it. */
int source_element_bytes(int dtype);
#endif
