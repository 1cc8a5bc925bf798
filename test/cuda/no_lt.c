/* no_lt.c -- in place of cuBLASLt in a test's plug-in, whose kernels are all generated. */
#include "ops/cuda/ways.h"

bool lt_open(Device *d, Library **out, char *why, size_t n) {
    return (void)d, (void)out, (void)why, (void)n, true;
}
