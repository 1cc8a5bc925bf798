/* no_dnn.c -- in place of cuDNN in a test's plug-in, whose kernels are all generated. */
#include "ops/cuda/algorithms.h"

bool dnn_open(Device *d, Library **out, char *why, size_t n) {
    return (void)d, (void)out, (void)why, (void)n, true;
}
