/* driver.c -- opens the driver's library, which then stays open until the process ends. */
#include "ops/cuda/driver.h"
#include <dlfcn.h>
#include <stdio.h>

#define TEXT(x) #x
#define NAME(x) TEXT(x) /* cuda.h renames functions: cuMemAlloc becomes cuMemAlloc_v2 */

bool driver_open(Driver *d, char *why, size_t n) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return snprintf(why, n,
                        "there is no NVIDIA driver here: install driver 580 or later, which brings "
                        "libcuda.so.1 (%s)",
                        dlerror()),
               false;
#define X(f)                                                                               \
    *(void **)&d->f##_ = dlsym(library, NAME(f));                                          \
    if (!d->f##_)                                                                          \
        return snprintf(why, n, "the NVIDIA driver lacks %s: install driver 580 or later", \
                        NAME(f)),                                                          \
               false;
    DRIVER_FUNCTIONS(X)
#undef X
    return true;
}
