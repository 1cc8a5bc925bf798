/* backend.c -- finds back ends: the built-in one by its name, others by dlopen of a path, or of a
   file that is searched for by a word. A plug-in with another ABI or another size of struct Backend
   is refused. */
#include "ops/backend/backend.h"
#include "ops/base/process.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_ROOM = 1024 };

extern const Backend cpu_backend; /* cpu/cpu.c */

static bool complete(const Backend *b) {
    return b->name && b->open && b->close && b->identity && b->alloc && b->release && b->copy &&
           b->choices && b->compile && b->run && b->wait && b->forget &&
           !b->record == !b->recorded && !b->mark == !b->elapsed;
}

/* Opens isomer-WORD.so beside this library or program, where `make install` puts plug-ins, or in
   the loader's search path. */
static void *open_word(const char *word) {
    static const char *const place[] = {"", "../lib/isomer/", "isomer/"};
    char own[PATH_ROOM], path[2 * PATH_ROOM];
    char *slash = process_file(own, sizeof own) ? strrchr(own, '/') : NULL;
    if (slash) slash[1] = 0;
    for (size_t k = 0; slash && k < sizeof place / sizeof *place; k++) {
        snprintf(path, sizeof path, "%s%sisomer-%s.so", own, place[k], word);
        if (!access(path, F_OK)) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    snprintf(path, sizeof path, "isomer-%.*s.so", PATH_ROOM, word);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

const Backend *backend_open(const char *name, Error *e) {
    if (strcmp(name, "cpu") == 0) return &cpu_backend;
    void *library = strpbrk(name, "/.") ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : open_word(name);
    if (!library)
        return error_set(e, E_ENVIRONMENT, name, "the back end cannot be opened%s: %s",
                         strpbrk(name, "/.") ? ""
                                             : " (cpu is built in; cuda is built where CUDA's "
                                               "headers are found)",
                         dlerror()),
               NULL;
    const Backend *(*entry)(uint32_t) = NULL;
    *(void **)&entry = dlsym(library, "isomer_backend");
    const Backend *b = entry ? entry(BACKEND_ABI) : NULL;
    if (b && b->abi == BACKEND_ABI && b->size == sizeof(Backend) && complete(b)) return b;
    if (!entry)
        error_set(e, E_ENVIRONMENT, name, "not a back end: it does not export isomer_backend");
    else if (!b)
        error_set(e, E_ENVIRONMENT, name,
                  "the back end does not support interface version %d; rebuild it against this "
                  "isomer_backend.h",
                  (int)BACKEND_ABI);
    else
        error_set(e, E_ENVIRONMENT, name,
                  "the back end has interface version %u (%u bytes), but %d (%zu bytes) is needed; "
                  "rebuild it against this isomer_backend.h",
                  b->abi, b->size, (int)BACKEND_ABI, sizeof *b);
    dlclose(library);
    return NULL;
}

static void close_device(void *open) {
    OpenDevice *d = open;
    d->backend->close(d->device);
    d->device = NULL;
}

/* Whether a device opens without the options, which are then the reason of a failure. */
static bool opens_without_options(const Backend *b, const char *options) {
    char why[256];
    Device *d = options && *options ? b->open("", why, sizeof why) : NULL;
    if (d) b->close(d);
    return d != NULL;
}

bool device_open(OpenDevice *d, Escape *escape, const char *name, const char *options, Error *e) {
    char why[256] = "";
    *d = (OpenDevice){.backend = backend_open(name, e)};
    if (!d->backend) return false;
    d->device = d->backend->open(options, why, sizeof why);
    if (!d->device && opens_without_options(d->backend, options))
        return error_set(e, E_USAGE, "--backend-options", "%s", why);
    if (!d->device)
        return error_set(e, E_ENVIRONMENT, name, "the back end cannot open a device: %s", why);
    cleanup_add(escape, &d->cleanup, close_device, d);
    return true;
}

void device_close(OpenDevice *d) {
    if (d->device) cleanup_run(&d->cleanup);
}

bool device_channels_last(const OpenDevice *d) {
    return d->backend->channels_last && d->backend->channels_last(d->device);
}

const char *backend_options(Arena *a, int64_t threads, const char *more) {
    if (!more) more = "";
    return threads == 1 ? more : arena_format(a, "threads=%d,%s", (int)threads, more);
}

bool backend_threads_agree(int64_t threads, const char *more, Error *e) {
    if (threads == 1) return true;
    for (const char *p = more; p; p = strchr(p, ',')) {
        if (*p == ',') p++;
        if (!strncmp(p, "threads=", strlen("threads=")))
            return error_set(e, E_USAGE, "--backend-options",
                             "threads is given by --threads already");
    }
    return true;
}

void backend_version(const char *name, Text *t) {
    Error e = {0};
    char identity[512] = "";
    OpenDevice d;
    if (!device_open(&d, NULL, name, "", &e)) text_add(t, "  back end %s: %s\n", name, e.reason);
    else if (d.backend->identity(d.device, identity, sizeof identity))
        text_add(t, "  back end %s does not identify its device\n", name);
    else text_add(t, "  back end %s\n", identity);
    device_close(&d);
}
