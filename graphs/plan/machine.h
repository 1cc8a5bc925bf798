/* machine.h -- what a device can do at best, and so the least time of a step: its roofline
   (Williams, Waterman and Patterson, 2009), the larger of its arithmetic at the greatest rate and
   of its data at the bandwidth of the smallest memory that holds them. */
#ifndef ISOMER_MACHINE_H
#define ISOMER_MACHINE_H
#include "graphs/plan/costdb.h"
#include "ops/backend/backend.h"

enum { MACHINE_LEVELS = 4 };
typedef struct Machine {
    double flops; /* a second */
    int n;        /* levels, from the smallest; the last one holds everything */
    struct {
        double size, bandwidth; /* bytes, bytes a second */
    } level[MACHINE_LEVELS];
} Machine;

/* Seconds that this arithmetic and these bytes, read and written once, take at least. */
double machine_least(const Machine *, double flops, double bytes);
/* On as many threads as the device has. Kept in the cost file (NULL: none) under the device's
   identity; what is there is not measured again. False: *e says why it cannot be measured. */
bool machine_find(const Backend *, Device *, CostDb *, Machine *, Error *);
/* Bytes of the first cache of this level (1 to 3) for data that a folder of Linux's sysfs describes
   (`index0/level`, `type`, `size`, ..); 0: there is none, or the folder does not exist. */
double machine_cache(const char *folder, int level);
/* Lines for people. */
void machine_print(const Machine *, Text *);
#endif
