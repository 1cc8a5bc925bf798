/* no_dnn.c -- takes the place of cuDNN in the plug-in of a test, in which all kernels for
   convolutions are generated. */
#include "ops/cuda/algorithms.h"

bool dnn_open(Device *d, Library **out, char *why, size_t n) {
    return (void)d, (void)out, (void)why, (void)n, true;
}
