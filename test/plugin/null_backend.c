/* null_backend.c -- the smallest possible plug-in. Its device allocates and copies memory; of the
   steps it accepts only fill, and running that does nothing. It includes isomer_backend.h and no
   other header of this project. */
#include "isomer_backend.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Device {
    int opened;
};
struct Kernel {
    int runs;
};

static Device *null_open(const char *options, char *why, size_t n) {
    if (options && *options) return snprintf(why, n, "the null back end has no options"), NULL;
    return calloc(1, sizeof(Device));
}
static void null_close(Device *d) { free(d); }
static int null_identity(Device *d, char *text, size_t n) {
    return (void)d, snprintf(text, n, "null") < (int)n ? 0 : -1;
}
static void *null_alloc(Device *d, size_t bytes) {
    return (void)d, aligned_alloc(64, (bytes + 64) / 64 * 64);
}
static void null_release(Device *d, void *p) { (void)d, free(p); }
static int null_copy(Device *d, void *to, const void *from, size_t bytes, CopyDirection direction) {
    (void)d, (void)direction;
    memmove(to, from, bytes);
    return 0;
}
static int null_choices(Device *d, const Step *s) { return (void)d, s->kind == S_FILL; }
static Kernel *null_compile(Device *d, const Step *s, int choice, const void *const weights[],
                            size_t *workspace, CompileFailure *failure, char *why, size_t n) {
    (void)d, (void)choice, (void)weights;
    *workspace = 0;
    if (failure) *failure = s->kind == S_FILL ? COMPILE_NO_MEMORY : COMPILE_REFUSED;
    if (s->kind != S_FILL) return snprintf(why, n, "the null back end runs nothing"), NULL;
    return calloc(1, sizeof(Kernel));
}
static int null_run(Kernel *k, void *const slot[], void *workspace) {
    return (void)slot, (void)workspace, k->runs++, 0;
}
static int null_wait(Device *d, double *ns) {
    (void)d;
    if (ns) *ns = 0;
    return 0;
}
static void null_forget(Kernel *k) { free(k); }

static const Backend backend = {.abi = BACKEND_ABI,
                                .size = sizeof(Backend),
                                .name = "null",
                                .open = null_open,
                                .close = null_close,
                                .identity = null_identity,
                                .alloc = null_alloc,
                                .release = null_release,
                                .copy = null_copy,
                                .choices = null_choices,
                                .compile = null_compile,
                                .run = null_run,
                                .wait = null_wait,
                                .forget = null_forget};
const Backend *isomer_backend(uint32_t abi) { return abi == BACKEND_ABI ? &backend : NULL; }
