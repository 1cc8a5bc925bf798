/* host_work.h -- what a test's plug-in does on the host in place of a GPU. */
#ifndef ISOMER_HOST_WORK_H
#define ISOMER_HOST_WORK_H
#include <stddef.h>

typedef int HostWork(void *data); /* 0: done */
/* Does it, or notes it with a copy of these n bytes, if the stream is being captured. */
int host_work(HostWork *, void *data, size_t n);
/* Not 0: this thread has a context that works. */
int host_context(void);
#endif
