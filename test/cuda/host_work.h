/* host_work.h -- what the plug-in of a test does on the host in place of a GPU. */
#ifndef ISOMER_HOST_WORK_H
#define ISOMER_HOST_WORK_H
#include <stddef.h>

typedef int HostWork(void *data); /* returns 0 if it was done */
/* Does the work or, if the stream is being captured, records it with a copy of the n bytes of data.
   Returns 0 unless it failed. */
int host_work(HostWork *, void *data, size_t n);
/* Returns a value other than 0 if this thread has a context and no fault occurred. */
int host_context(void);
#endif
