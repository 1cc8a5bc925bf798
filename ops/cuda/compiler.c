/* compiler.c -- compiles CUDA C by NVRTC: to a cubin for one compute capability or, if the device
   is newer than NVRTC, to PTX for the newest one that NVRTC knows, which the driver compiles when
   it loads it. Fast mathematics is off: division, square roots and denormals are as IEEE 754
   demands. Products and sums may be fused. */
#include "ops/cuda/compiler.h"
#include "ops/cuda/library.h"
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NVRTC_FUNCTIONS(X)       \
    X(nvrtcVersion)              \
    X(nvrtcCreateProgram)        \
    X(nvrtcDestroyProgram)       \
    X(nvrtcCompileProgram)       \
    X(nvrtcGetProgramLogSize)    \
    X(nvrtcGetProgramLog)        \
    X(nvrtcGetCUBINSize)         \
    X(nvrtcGetCUBIN)             \
    X(nvrtcGetPTXSize)           \
    X(nvrtcGetPTX)               \
    X(nvrtcGetNumSupportedArchs) \
    X(nvrtcGetSupportedArchs)    \
    X(nvrtcGetErrorString)
struct Compiler {
#define X(f) __typeof__(f) *f##_;
    NVRTC_FUNCTIONS(X)
#undef X
    char target[40], identity[80], limit[40];
    bool ptx;
};
static const char *const name[] = {
#define X(f) #f,
    NVRTC_FUNCTIONS(X)
#undef X
};

/* The newest compute capability for which NVRTC compiles and which a device of this capability can
   run; 0: none. */
static int newest_known(const Compiler *c, int capability) {
    int count = 0, *all, best = 0;
    if (c->nvrtcGetNumSupportedArchs_(&count) || count < 1) return 0;
    all = calloc((size_t)count, sizeof *all);
    if (all && !c->nvrtcGetSupportedArchs_(all))
        for (int k = 0; k < count; k++)
            if (all[k] <= capability && all[k] > best) best = all[k];
    free(all);
    return best;
}

Compiler *compiler_open(const char *folder, int capability, int blocks, char *why, size_t n) {
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
    const int known = newest_known(c, capability);
    if (!known) {
        snprintf(why, n, "NVRTC %d.%d does not compile for GPUs as old as this one (sm_%d)", major,
                 minor, capability);
        return free(c), NULL;
    }
    c->ptx = known != capability;
    const char *form = c->ptx ? "compute" : "sm";
    snprintf(c->target, sizeof c->target, "--gpu-architecture=%s_%d", form, known);
    snprintf(c->identity, sizeof c->identity, "NVRTC %d.%d %s_%d", major, minor, form, known);
    if (!blocks) return c;
    snprintf(c->limit, sizeof c->limit, "--define-macro=BLOCKS=,%d", blocks);
    snprintf(c->identity, sizeof c->identity, "NVRTC %d.%d %s_%d, %d blocks", major, minor, form,
             known, blocks);
    return c;
}

void compiler_close(Compiler *c) { free(c); }
const char *compiler_identity(const Compiler *c) { return c->identity; }

/* The log of a compilation, which the caller frees; NULL: there is none. */
static char *log_of(Compiler *c, nvrtcProgram p) {
    size_t size = 0;
    char *log = NULL;
    if (p && !c->nvrtcGetProgramLogSize_(p, &size) && (log = calloc(size + 1, 1)))
        c->nvrtcGetProgramLog_(p, log);
    return log;
}
/* The greatest N of "N bytes spill stores" in the messages of ptxas. */
static long spilled(Compiler *c, nvrtcProgram p) {
    long most = 0;
    char *log = log_of(c, p);
    for (const char *at = log; at && (at = strstr(at, " bytes spill stores")); at++) {
        const char *number = at;
        while (number > log && number[-1] >= '0' && number[-1] <= '9') number--;
        const long bytes = strtol(number, NULL, 10);
        if (bytes > most) most = bytes;
    }
    free(log);
    return most;
}
static bool compile_failed(Compiler *c, nvrtcProgram p, nvrtcResult r, char *why, size_t n) {
    char *log = log_of(c, p);
    snprintf(why, n, "NVRTC: %s: %s", c->nvrtcGetErrorString_(r), log ? log : "");
    free(log);
    return false;
}

static bool take_image(Compiler *c, nvrtcProgram p, Image *image) {
    if (c->ptx ? c->nvrtcGetPTXSize_(p, &image->size) : c->nvrtcGetCUBINSize_(p, &image->size))
        return false;
    image->bytes = malloc(image->size + 1);
    if (!image->bytes) return image->no_memory = true, false;
    return !(c->ptx ? c->nvrtcGetPTX_(p, image->bytes) : c->nvrtcGetCUBIN_(p, image->bytes));
}

/* Compiles a text. limit: an option for how many thread blocks fit on a multiprocessor at a time;
   "": none. */
static bool compile(Compiler *c, const char *text, const char *limit, Image *image, char *why,
                    size_t n) {
    nvrtcProgram p = NULL;
    const char *option[4] = {c->target, "--diag-suppress=177"};
    int options = 2;
    if (!c->ptx) option[options++] = "--ptxas-options=-v";
    if (*limit) option[options++] = limit;
    *image = (Image){0};
    nvrtcResult r = c->nvrtcCreateProgram_(&p, text, "kernel.cu", 0, NULL, NULL);
    if (!r) r = c->nvrtcCompileProgram_(p, options, option);
    const bool done = !r && take_image(c, p, image);
    if (done) image->spilled = spilled(c, p);
    if (r) compile_failed(c, p, r, why, n);
    else if (!done) snprintf(why, n, "NVRTC gives no code for a kernel");
    if (!done) {
        const bool no_memory = r == NVRTC_ERROR_OUT_OF_MEMORY || (!r && image->no_memory);
        free(image->bytes);
        *image = (Image){.no_memory = no_memory};
    }
    if (p) c->nvrtcDestroyProgram_(&p);
    return done;
}
/* Without a limit, the compiler may spill registers to let more thread blocks fit on a
   multiprocessor, even if it need not. If it spills, the kernel is compiled again for one thread
   block per multiprocessor, and the image that spills less is taken. */
bool compiler_run(Compiler *c, const char *text, int args, Image *image, char *why, size_t n) {
    Image again;
    (void)args;
    if (!compile(c, text, c->limit, image, why, n)) return false;
    if (!image->spilled || *c->limit ||
        !compile(c, text, "--define-macro=BLOCKS=,1", &again, why, n))
        return true;
    Image *const worse = again.spilled < image->spilled ? image : &again;
    free(worse->bytes);
    if (worse == image) *image = again;
    return true;
}
