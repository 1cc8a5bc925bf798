/* least.h -- the smaller of two integers. */
#ifndef ISOMER_LEAST_H
#define ISOMER_LEAST_H
#include <stdint.h>

static inline int64_t int64_least(int64_t a, int64_t b) { return a < b ? a : b; }
#endif
