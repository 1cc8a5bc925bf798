/* library.h -- finding CUDA's libraries when a device is opened. */
#ifndef ISOMER_CUDA_LIBRARY_H
#define ISOMER_CUDA_LIBRARY_H
#include <stdbool.h>
#include <stddef.h>

/* Opens NAME: in `folder` if that is not "" (itself, or wheels below it), by the loader, in
   CUDA's usual place, then in the wheels of a Python environment ($VIRTUAL_ENV, $CONDA_PREFIX, the
   user's, the system's). It stays open. NULL: `why` says which is missing and
   which `wheel` has it. */
void *library_open(const char *folder, const char *name, const char *wheel, char *why, size_t n);
/* Fills function[k] with name[k]. False: `why` names the one that is missing. */
bool library_functions(void *library, const char *what, int count, const char *const name[],
                       void **const function[], char *why, size_t n);
#endif
