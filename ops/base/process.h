/* process.h -- what the operating system says about this process, and the time. */
#ifndef ISOMER_PROCESS_H
#define ISOMER_PROCESS_H
#include <stddef.h>

/* The most memory that this program had resident so far, in bytes; 0: not known. Unlike ru_maxrss
   it does not start at what the process that started it had. */
size_t process_peak(void);
/* Bytes of memory that programs may still take, by the machine and by the control group of this
   process (version 2), without swapping; 0: not known. */
size_t process_memory_free(void);
/* Seconds of a clock that is never set back; only differences mean anything. */
double process_clock(void);
/* The cores that this process may run on, at least 1; hardware threads of one core count once. */
int process_cores(void);
#endif
