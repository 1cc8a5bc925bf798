/* failure.c -- reports failed calls of the driver in the driver's words. */
#include "ops/cuda/device.h"
#include <stdio.h>

bool device_failed(Device *d, const char *call, CUresult r, char *why, size_t n) {
    const char *text = NULL;
    if (r == CUDA_ERROR_OUT_OF_MEMORY) d->no_memory = true;
    if (d->driver.cuGetErrorString_(r, &text) || !text) text = "unknown error";
    return snprintf(why, n, "%s: %s", call, text), false;
}
int device_done(Device *d, const char *call, CUresult r) {
    if (!r) return 0;
    return device_failed(d, call, r, d->failure, sizeof d->failure), -1;
}
bool device_enter(Device *d) {
    return !device_done(d, "cuCtxSetCurrent", d->driver.cuCtxSetCurrent_(d->context));
}
