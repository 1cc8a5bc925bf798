/* source.h -- CUDA C for one step. NVRTC compiles the text for a GPU; in tests, the C compiler
   compiles the same text for the host. This part knows isomer_backend.h, and nothing of CUDA. */
#ifndef ISOMER_CUDA_SOURCE_H
#define ISOMER_CUDA_SOURCE_H
#include "ops/backend/isomer_backend.h"
#include <stdbool.h>

/* The text of a kernel "k", without the prelude, and how to launch it. Its arguments are pointers:
   one for each view, to its first element (NULL for a view that is left out), and then, if `table`,
   one to the step's parameters in device memory. A run launches `grid` thread blocks of `block`
   threads; if grid is 0, there is nothing to do. */
typedef struct KernelSource {
    char *text; /* the caller frees it */
    size_t size, room;
    unsigned grid, block;
    bool table, failed; /* failed: out of memory */
} KernelSource;

extern const char source_prelude[];
/* The number of kernels that can be generated for the step, the likely fastest first; 0: none. */
int source_variants(const Step *);
/* Writes the text of a variant. Returns false if that fails, with the reason in `why`; then there
   is nothing to free. */
bool source_write(const Step *, int variant, KernelSource *, char *why, size_t n);
/* The bytes of an element of this type; 0: kernels cannot compute with it. */
int source_element_bytes(int dtype);
#endif
