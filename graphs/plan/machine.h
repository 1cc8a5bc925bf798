/* machine.h -- measures what a device can do at best, which bounds the time of a step from below by
   its roofline (Williams, Waterman and Patterson, 2009): the larger of the time for its arithmetic
   at the peak rate and the time for its data at the bandwidth of the smallest memory level that
   holds them. */
#ifndef ISOMER_MACHINE_H
#define ISOMER_MACHINE_H
#include "graphs/plan/costdb.h"
#include "ops/backend/backend.h"

enum { MACHINE_LEVELS = 4 };
typedef struct Machine {
    double flops; /* operations per second */
    int n;        /* number of memory levels, from the smallest; the last one holds everything */
    struct {
        double size, bandwidth; /* in bytes; in bytes per second */
    } level[MACHINE_LEVELS];
} Machine;

/* The least time in seconds for this many operations and bytes, each byte being read or written
   once. */
double machine_least(const Machine *, double flops, double bytes);
/* Measures the rates on as many threads as the device has, or takes them from the cost file (NULL:
   none), which keeps them under the device's identity. Returns false if they cannot be measured; *e
   says why. */
bool machine_find(const Backend *, Device *, CostDb *, Machine *, Error *);
/* Size in bytes of the first data cache of this level (1 to 3) that a folder of Linux's sysfs
   describes (`index0/level`, `type`, `size`, ..); 0 if there is none or the folder does not
   exist. */
double machine_cache(const char *folder, int level);
/* Prints the rates as a line of text. */
void machine_print(const Machine *, Text *);
#endif
