/* backend.h -- finding a back end: the CPU's, which is built in, or a plug-in opened at run
   time. */
#ifndef ISOMER_BACKEND_H
#define ISOMER_BACKEND_H
#include "ops/base/text.h"
#include "ops/backend/isomer_backend.h"

/* "cpu" is the built-in one; anything else is a shared object that exports isomer_backend: a word
   (isomer-WORD.so next to the program or where it was installed), a path, or a file's name in the
   loader's search path. It stays loaded. NULL: E_ENVIRONMENT if there is no such
   file, or it is not a back end of this ABI. */
const Backend *backend_open(const char *name_or_path, Error *);
/* A device of a back end; closed by device_close, or with the Escape. False: E_ENVIRONMENT;
   E_USAGE: it opens, but not with these options. */
typedef struct OpenDevice {
    const Backend *backend;
    Device *device;
    Cleanup cleanup;
} OpenDevice;
bool device_open(OpenDevice *, Escape *, const char *backend, const char *options, Error *);
void device_close(OpenDevice *); /* if it is open */
bool device_channels_last(const OpenDevice *);
/* The text for Backend.open: these options, and threads=N where it is not 1; more (may be NULL):
   the user's. */
const char *backend_options(Arena *, int64_t threads, const char *more);
/* A line of --version: what it says of itself, or why it does not open. */
void backend_version(const char *name_or_path, Text *);
#endif
