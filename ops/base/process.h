/* process.h -- resources of this process as the operating system reports them, and the time. */
#ifndef ISOMER_PROCESS_H
#define ISOMER_PROCESS_H
#include <stddef.h>

/* The peak resident memory of this program in bytes; 0: not known. Unlike ru_maxrss, it does not
   include the peak of the process that started this one. */
size_t process_peak(void);
/* The bytes of memory that can still be allocated without swapping, as limited by the machine and
   by the control group (version 2) of this process; 0: not known. */
size_t process_memory_free(void);
/* A monotonic time in seconds; only differences are meaningful. */
double process_clock(void);
/* The number of physical cores that this process may run on, at least 1: hardware threads of the
   same core are counted once. */
int process_cores(void);
#endif
