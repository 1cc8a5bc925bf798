/* memory.c -- memory on the device, and constants, of which equal ones share memory. */
#include "ops/cuda/cache.h"
#include "ops/cuda/device.h"
#include <stdint.h>
#include <stdlib.h>

struct SharedConstant {
    SharedConstant *next;
    Digest digest;
    size_t size, users;
    void *memory;
};

static CUdeviceptr address(const void *p) { return (CUdeviceptr)(uintptr_t)p; }

void *memory_take(Device *d, size_t bytes) {
    CUdeviceptr p = 0;
    if (d->lost || !device_enter(d) ||
        device_done(d, "cuMemAlloc", d->driver.cuMemAlloc_(&p, bytes ? bytes : 1)))
        return NULL;
    return (void *)(uintptr_t)p;
}
void memory_give(Device *d, void *p) {
    if (!p || !device_enter(d)) return;
    d->driver.cuStreamSynchronize_(d->stream);
    d->driver.cuMemFree_(address(p));
}

/* The copy runs after everything that was started, and is done when this returns, so that the
   host's memory may then be freed. */
int memory_copy(Device *d, void *to, const void *from, size_t bytes, CopyDirection direction) {
    const Driver *f = &d->driver;
    if (d->lost || !device_enter(d)) return -1;
    if (!bytes) return 0;
    CUresult r = CUDA_SUCCESS;
    if (direction == COPY_TO_DEVICE) r = f->cuMemcpyHtoDAsync_(address(to), from, bytes, d->stream);
    else if (direction == COPY_TO_HOST)
        r = f->cuMemcpyDtoHAsync_(to, address(from), bytes, d->stream);
    else r = f->cuMemcpyDtoDAsync_(address(to), address(from), bytes, d->stream);
    if (r) return device_done(d, "a copy", r);
    r = f->cuStreamSynchronize_(d->stream);
    d->lost = r != CUDA_SUCCESS; /* a kernel before the copy, or the copy itself, failed */
    return device_done(d, "a kernel or a copy", r);
}

void *memory_hold(Device *d, const void *bytes, size_t n) {
    const Digest digest = digest_of(bytes, n);
    for (SharedConstant *h = d->held; h; h = h->next)
        if (h->size == n && digest_same(h->digest, digest)) return h->users++, h->memory;
    SharedConstant *h = malloc(sizeof *h);
    if (!h) d->no_memory = true;
    void *memory = h ? memory_take(d, n) : NULL;
    if (!memory || memory_copy(d, memory, bytes, n, COPY_TO_DEVICE)) {
        memory_give(d, memory);
        return free(h), NULL;
    }
    *h = (SharedConstant){
        .next = d->held, .digest = digest, .size = n, .users = 1, .memory = memory};
    d->held = h;
    return memory;
}
void memory_drop(Device *d, void *memory) {
    for (SharedConstant **at = &d->held; *at && memory; at = &(*at)->next) {
        SharedConstant *h = *at;
        if (h->memory != memory) continue;
        if (--h->users) return;
        *at = h->next;
        memory_give(d, memory);
        free(h);
        return;
    }
}
void memory_drop_all(Device *d) {
    while (d->held) d->held->users = 1, memory_drop(d, d->held->memory);
}
