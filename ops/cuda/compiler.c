/* compiler.c -- NVRTC: CUDA C to a cubin for one kind of device. No fast mathematics: division,
   square roots and denormals are IEEE's; products and sums may be fused. */
#include "ops/cuda/compiler.h"
#include "ops/cuda/library.h"
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>

#define NVRTC_FUNCTIONS(X)    \
    X(nvrtcVersion)           \
    X(nvrtcCreateProgram)     \
    X(nvrtcDestroyProgram)    \
    X(nvrtcCompileProgram)    \
    X(nvrtcGetProgramLogSize) \
    X(nvrtcGetProgramLog)     \
    X(nvrtcGetCUBINSize)      \
    X(nvrtcGetCUBIN)          \
    X(nvrtcGetErrorString)
struct Compiler {
#define X(f) __typeof__(f) *f##_;
    NVRTC_FUNCTIONS(X)
#undef X
    char target[40], identity[80];
};
static const char *const name[] = {
#define X(f) #f,
    NVRTC_FUNCTIONS(X)
#undef X
};

Compiler *compiler_open(const char *folder, int capability, char *why, size_t n) {
    void *library = library_open(folder, "libnvrtc.so.13", "nvidia-cuda-nvrtc", why, n);
    Compiler *c = library ? calloc(1, sizeof *c) : NULL;
    if (!c) return NULL;
#define X(f) (void **)&c->f##_,
    void **const function[] = { NVRTC_FUNCTIONS(X) };
#undef X
    int major = 0, minor = 0;
    if (!library_functions(library, "libnvrtc.so.13", sizeof name / sizeof *name, name, function,
                           why, n))
        return free(c), NULL;
    c->nvrtcVersion_(&major, &minor);
    snprintf(c->target, sizeof c->target, "--gpu-architecture=sm_%d", capability);
    snprintf(c->identity, sizeof c->identity, "NVRTC %d.%d sm_%d", major, minor, capability);
    return c;
}

void compiler_close(Compiler *c) { free(c); }
const char *compiler_identity(const Compiler *c) { return c->identity; }

static bool compile_failed(Compiler *c, nvrtcProgram p, nvrtcResult r, char *why, size_t n) {
    size_t size = 0;
    char *log = NULL;
    if (p && !c->nvrtcGetProgramLogSize_(p, &size) && (log = calloc(size + 1, 1)))
        c->nvrtcGetProgramLog_(p, log);
    snprintf(why, n, "NVRTC: %s: %s", c->nvrtcGetErrorString_(r), log ? log : "");
    free(log);
    return false;
}

static bool take_image(Compiler *c, nvrtcProgram p, Image *image) {
    if (c->nvrtcGetCUBINSize_(p, &image->size)) return false;
    image->bytes = malloc(image->size + 1);
    return image->bytes && !c->nvrtcGetCUBIN_(p, image->bytes);
}

bool compiler_run(Compiler *c, const char *text, int args, Image *image, char *why, size_t n) {
    nvrtcProgram p = NULL;
    const char *const option[] = {c->target, "--diag-suppress=177"};
    (void)args;
    *image = (Image){0};
    nvrtcResult r = c->nvrtcCreateProgram_(&p, text, "kernel.cu", 0, NULL, NULL);
    if (!r) r = c->nvrtcCompileProgram_(p, 2, option);
    const bool done = !r && take_image(c, p, image);
    if (r) compile_failed(c, p, r, why, n);
    else if (!done) snprintf(why, n, "NVRTC gives no code for a kernel");
    if (!done) free(image->bytes), *image = (Image){0};
    if (p) c->nvrtcDestroyProgram_(&p);
    return done;
}
