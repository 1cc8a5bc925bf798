/* library.c -- opens libraries where drivers, CUDA's own installer and pip put them. */
#include "ops/cuda/library.h"
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_ROOM = 1024 };

static void *open_first(const char *pattern) {
    glob_t found;
    void *library = NULL;
    if (glob(pattern, 0, NULL, &found)) return NULL;
    for (size_t k = 0; k < found.gl_pathc && !library; k++)
        library = dlopen(found.gl_pathv[k], RTLD_NOW | RTLD_GLOBAL);
    globfree(&found);
    return library;
}

/* Looks in the folder itself, in the wheels of a site-packages folder, and in those of an
   environment. */
static void *open_below(const char *folder, const char *name) {
    static const char *const form[] = {"%s/%s", "%s/nvidia/*/lib/%s",
                                       "%s/lib/python3*/site-packages/nvidia/*/lib/%s",
                                       "%s/lib/python3*/dist-packages/nvidia/*/lib/%s"};
    void *library = NULL;
    for (size_t k = 0; k < sizeof form / sizeof *form && !library; k++) {
        char pattern[PATH_ROOM];
        const int n = snprintf(pattern, sizeof pattern, form[k], folder, name);
        if (n > 0 && n < PATH_ROOM) library = open_first(pattern);
    }
    return library;
}

/* Looks below the folder that an environment variable names, with `more` appended. */
static void *open_of(const char *variable, const char *more, const char *name) {
    const char *folder = getenv(variable);
    char path[PATH_ROOM];
    if (!folder || !*folder) return NULL;
    const int n = snprintf(path, sizeof path, "%s%s", folder, more);
    return n > 0 && n < PATH_ROOM ? open_below(path, name) : NULL;
}

/* Looks in the environments whose python3 is on the PATH; such an environment has bin/python3 and
   lib/ in one folder. */
static void *open_beside_python(const char *name) {
    void *library = NULL;
    for (const char *at = getenv("PATH"); at && *at && !library; at += *at == ':') {
        char folder[PATH_ROOM], python[PATH_ROOM + 16];
        const size_t size = strcspn(at, ":");
        const int n = snprintf(folder, sizeof folder, "%.*s/..", (int)size, at);
        at += size;
        if (!size || n < 0 || n >= PATH_ROOM) continue;
        snprintf(python, sizeof python, "%s/bin/python3", folder);
        if (!access(python, X_OK)) library = open_below(folder, name);
    }
    return library;
}

void *library_open(const char *folder, const char *name, const char *wheel, char *why, size_t n) {
    void *library = NULL;
    if (*folder) library = open_below(folder, name);
    else {
        library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
        if (!library) library = open_below("/usr/local/cuda/lib64", name);
        if (!library) library = open_of("CUDA_HOME", "/lib64", name);
        if (!library) library = open_of("VIRTUAL_ENV", "", name);
        if (!library) library = open_of("CONDA_PREFIX", "", name);
        if (!library) library = open_beside_python(name);
        if (!library) library = open_of("HOME", "/.local", name);
        if (!library) library = open_below("/usr/local", name);
    }
    if (!library)
        snprintf(why, n, "%s is missing%s%s: pip install %s, or name its folder with lib=DIR", name,
                 *folder ? " below " : "", folder, wheel);
    return library;
}

bool library_functions(void *library, const char *what, int count, const char *const name[],
                       void **const function[], char *why, size_t n) {
    for (int k = 0; k < count; k++) {
        *function[k] = dlsym(library, name[k]);
        if (!*function[k]) return snprintf(why, n, "%s lacks %s", what, name[k]), false;
    }
    return true;
}
