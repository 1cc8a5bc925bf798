/* driver.h -- the NVIDIA driver as one struct of functions that are looked up by name. Nothing of
   CUDA is linked, and tests put functions of their own into the struct. */
#ifndef ISOMER_CUDA_DRIVER_H
#define ISOMER_CUDA_DRIVER_H
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

#define DRIVER_FUNCTIONS(X)      \
    X(cuInit)                    \
    X(cuDriverGetVersion)        \
    X(cuDeviceGetCount)          \
    X(cuDeviceGet)               \
    X(cuDeviceGetName)           \
    X(cuDeviceGetAttribute)      \
    X(cuDevicePrimaryCtxRetain)  \
    X(cuDevicePrimaryCtxRelease) \
    X(cuCtxSetCurrent)           \
    X(cuMemAlloc)                \
    X(cuMemFree)                 \
    X(cuMemcpyHtoDAsync)         \
    X(cuMemcpyDtoHAsync)         \
    X(cuMemcpyDtoDAsync)         \
    X(cuStreamCreate)            \
    X(cuStreamDestroy)           \
    X(cuStreamSynchronize)       \
    X(cuEventCreate)             \
    X(cuEventDestroy)            \
    X(cuEventRecord)             \
    X(cuEventElapsedTime)        \
    X(cuModuleLoadData)          \
    X(cuModuleUnload)            \
    X(cuModuleGetFunction)       \
    X(cuLaunchKernel)            \
    X(cuStreamBeginCapture)      \
    X(cuStreamEndCapture)        \
    X(cuEventRecordWithFlags)    \
    X(cuGraphInstantiate)        \
    X(cuGraphLaunch)             \
    X(cuGraphDestroy)            \
    X(cuGraphExecDestroy)        \
    X(cuGetErrorString)
typedef struct Driver {
#define X(f) __typeof__(f) *f##_;
    DRIVER_FUNCTIONS(X)
#undef X
} Driver;

enum { DRIVER_VERSION = 13000 }; /* the oldest CUDA version of a driver that is accepted */
/* Fills the struct. Returns false if that fails; `why` says in one sentence what is missing and how
   to get it. */
bool driver_open(Driver *, char *why, size_t n);
#endif
