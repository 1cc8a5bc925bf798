/* device.c -- opens a GPU, with its driver, context, stream, compiler and libraries, closes it, and
   describes it. */
#include "ops/cuda/device.h"
#include "ops/cuda/cache.h"
#include "ops/cuda/algorithms.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool find_gpu(Device *d, char *why, size_t n) {
    const Driver *f = &d->driver;
    int count = 0, major = 0, minor = 0;
    CUresult r = f->cuInit_(0);
    if (r) return device_failed(d, "no GPU can be used", r, why, n);
    f->cuDriverGetVersion_(&d->version);
    if (d->version < DRIVER_VERSION)
        return snprintf(why, n,
                        "the NVIDIA driver is for CUDA %d.%d: install driver 580 or later, "
                        "which is for 13.0",
                        d->version / 1000, d->version % 1000 / 10),
               false;
    f->cuDeviceGetCount_(&count);
    if (d->options.device >= count)
        return snprintf(why, n, "there is no GPU number %d: the driver has %d", d->options.device,
                        count),
               false;
    r = f->cuDeviceGet_(&d->gpu, d->options.device);
    if (r) return device_failed(d, "cuDeviceGet", r, why, n);
    f->cuDeviceGetName_(d->name, (int)sizeof d->name, d->gpu);
    f->cuDeviceGetAttribute_(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d->gpu);
    f->cuDeviceGetAttribute_(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d->gpu);
    f->cuDeviceGetAttribute_(&d->multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, d->gpu);
    d->capability = 10 * major + minor;
    return true;
}

static bool take_gpu(Device *d, char *why, size_t n) {
    const Driver *f = &d->driver;
    CUresult r = f->cuDevicePrimaryCtxRetain_(&d->context, d->gpu);
    if (r) return d->context = NULL, device_failed(d, "the GPU's context", r, why, n);
    r = f->cuCtxSetCurrent_(d->context);
    if (!r) r = f->cuStreamCreate_(&d->stream, CU_STREAM_NON_BLOCKING);
    if (!r) r = f->cuEventCreate_(&d->start, CU_EVENT_DEFAULT);
    if (!r) r = f->cuEventCreate_(&d->end, CU_EVENT_DEFAULT);
    return !r || device_failed(d, "a stream of the GPU", r, why, n);
}

void device_shut(Device *d) {
    const Driver *f = &d->driver;
    if (d->context) f->cuCtxSetCurrent_(d->context);
    for (int k = 0; k < LIBRARIES; k++)
        if (d->library[k]) d->library[k]->close(d->library[k]);
    if (d->stream) f->cuStreamSynchronize_(d->stream);
    record_close(d);
    memory_drop_all(d);
    memo_free(d);
    if (d->start) f->cuEventDestroy_(d->start);
    if (d->end) f->cuEventDestroy_(d->end);
    if (d->stream) f->cuStreamDestroy_(d->stream);
    if (d->context) f->cuDevicePrimaryCtxRelease_(d->gpu);
    if (d->compiler) compiler_close(d->compiler);
    free(d);
}

static bool device_start(Device *d, const char *options, char *why, size_t n) {
    if (!options_parse(options, &d->options, why, n) || !driver_open(&d->driver, why, n) ||
        !find_gpu(d, why, n))
        return false;
    d->compiler = compiler_open(d->options.lib, d->capability, d->options.blocks, why, n);
    d->cached = cache_folder(d->options.cache, d->cache, sizeof d->cache);
    return d->compiler && take_gpu(d, why, n) && lt_open(d, &d->library[0], why, n) &&
           dnn_open(d, &d->library[1], why, n);
}
Device *device_begin(const char *options, char *why, size_t n) {
    Device *d = calloc(1, sizeof *d);
    if (!d) return snprintf(why, n, "out of memory"), NULL;
    return device_start(d, options, why, n) ? d : (device_shut(d), NULL);
}

int device_identity(const Device *d, char *text, size_t n) {
    static const char *const arithmetic[] = {"fp32", "tf32", "fp16"};
    char libraries[200] = "";
    for (int k = 0; k < LIBRARIES; k++)
        if (d->library[k])
            strncat(libraries, d->library[k]->identity, sizeof libraries - strlen(libraries) - 1);
    const int used =
        snprintf(text, n, "cuda %s, %d SMs, driver for CUDA %d.%d, %s%s, %s, kernels %s", d->name,
                 d->multiprocessors, d->version / 1000, d->version % 1000 / 10,
                 compiler_identity(d->compiler), libraries, arithmetic[d->options.arithmetic],
                 ISOMER_CUDA_KERNELS);
    return used > 0 && (size_t)used < n ? 0 : -1;
}
