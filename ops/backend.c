/* backend.c -- the built-in back end by its name, others by dlopen; a plug-in of another ABI or of
   another struct size is refused. */
#include "ops/backend.h"
#include <dlfcn.h>
#include <string.h>

extern const Backend cpu_backend; /* cpu/cpu.c */

static bool complete(const Backend *b) {
    return b->name && b->open && b->close && b->identity && b->alloc && b->release && b->copy &&
           b->choices && b->compile && b->run && b->wait && b->forget;
}

const Backend *backend_open(const char *name, Error *e) {
    if (strcmp(name, "cpu") == 0) return &cpu_backend;
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return error_set(e, E_ENVIRONMENT, name, "the back end cannot be opened: %s", dlerror()),
               NULL;
    const Backend *(*entry)(uint32_t) = NULL;
    *(void **)&entry = dlsym(library, "isomer_backend");
    const Backend *b = entry ? entry(BACKEND_ABI) : NULL;
    if (b && b->abi == BACKEND_ABI && b->size == sizeof(Backend) && complete(b)) return b;
    if (!entry)
        error_set(e, E_ENVIRONMENT, name, "not a back end: it does not export isomer_backend");
    else if (!b)
        error_set(e, E_ENVIRONMENT, name, "the back end refuses interface version %d",
                  (int)BACKEND_ABI);
    else
        error_set(e, E_ENVIRONMENT, name,
                  "the back end has interface version %u of %u bytes; wanted are %d and %zu",
                  b->abi, b->size, (int)BACKEND_ABI, sizeof *b);
    dlclose(library);
    return NULL;
}

void backend_version(const char *name, Text *t) {
    Error e = {0};
    char identity[512] = "", why[256] = "";
    const Backend *b = backend_open(name, &e);
    Device *d = b ? b->open("", why, sizeof why) : NULL;
    if (!d || b->identity(d, identity, sizeof identity))
        text_add(t, "  back end %s does not open: %s\n", name, b ? why : e.reason);
    else text_add(t, "  back end %s\n", identity);
    if (d) b->close(d);
}
