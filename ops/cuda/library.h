/* library.h -- finds CUDA's libraries when a device is opened. */
#ifndef ISOMER_CUDA_LIBRARY_H
#define ISOMER_CUDA_LIBRARY_H
#include <stdbool.h>
#include <stddef.h>

/* Opens the library NAME, which then stays open. If `folder` is not "", it looks only there and in
   wheels below it; else it asks the loader, then looks in CUDA's usual place, then in the wheels of
   Python environments ($VIRTUAL_ENV, $CONDA_PREFIX, that of the python3 on the PATH, the user's,
   the system's). NULL: `why` says which library is missing and which `wheel` has it. */
void *library_open(const char *folder, const char *name, const char *wheel, char *why, size_t n);
/* Sets *function[k] to the function name[k]. Returns false if one is missing, which `why` names. */
bool library_functions(void *library, const char *what, int count, const char *const name[],
                       void **const function[], char *why, size_t n);
#endif
