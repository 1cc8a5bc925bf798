/* backend.h -- opens back ends: the built-in one for the CPU, or a plug-in loaded at run time. */
#ifndef ISOMER_BACKEND_H
#define ISOMER_BACKEND_H
#include "ops/base/text.h"
#include "ops/backend/isomer_backend.h"

/* Returns a back end. "cpu" is built in; any other name is a shared object that exports
   isomer_backend: a word (isomer-WORD.so next to the program or where it was installed), a path, or
   the name of a file in the loader's search path. A plug-in is never unloaded. NULL: E_ENVIRONMENT
   if the file does not exist or is not a back end of this ABI. */
const Backend *backend_open(const char *name_or_path, Error *);
/* An open device of a back end. device_close closes it, or the Escape (may be NULL). device_open
   returns false with E_ENVIRONMENT, or with E_USAGE if the device opens only without these
   options. */
typedef struct OpenDevice {
    const Backend *backend;
    Device *device;
    Cleanup cleanup;
} OpenDevice;
bool device_open(OpenDevice *, Escape *, const char *backend, const char *options, Error *);
void device_close(OpenDevice *); /* does nothing if it is not open */
bool device_channels_last(const OpenDevice *);
/* The options for Backend.open: threads=N, unless it is 1, and `more`, those of the user (may be
   NULL). */
const char *backend_options(Arena *, int64_t threads, const char *more);
/* Whether `more` leaves out threads=N if another number of threads than 1 is given beside it; else
   E_USAGE. One thread is the default: --threads 1 beside threads=4 cannot be told from no
   --threads. */
bool backend_threads_agree(int64_t threads, const char *more, Error *);
/* Appends a line of --version: the identity of the back end's device, or why it does not open. */
void backend_version(const char *name_or_path, Text *);
#endif
