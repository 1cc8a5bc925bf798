/* interrupt.h -- signals that end a program, as a number for which its run asks, so that the run
   can leave no temporary files behind. */
#ifndef ISOMER_INTERRUPT_H
#define ISOMER_INTERRUPT_H
#include "ops/base/error.h"

/* From now on counts SIGINT, SIGTERM and, unless it is ignored, SIGHUP. Only the main function of a
   program calls this. Returns the count, which is at most `most`; after so many signals, the next
   SIGINT or SIGTERM kills the process. */
const volatile int *interrupts_count(int most);
/* Whether there was a signal; sets E_INTERRUPTED then. The count may be NULL. */
bool interrupted(const volatile int *count, Error *);
/* The same for functions that cannot return: raises E_INTERRUPTED. */
void interrupted_raise(const volatile int *count, Escape *);
#endif
