/* folder.c -- creates a folder for files that exist only during a run, and removes it. Models
   written there may have their weights next to them, in subfolders. */
#include "ops/base/folder.h"
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at) {
    (void)s, (void)kind, (void)at;
    remove(path);
    return 0;
}

/* Symbolic links are removed, not followed. */
void folder_remove(RunFolder *f) {
    enum { OPEN = 8 }; /* folders that are open at a time */
    if (*f->path) nftw(f->path, remove_one, OPEN, FTW_DEPTH | FTW_PHYS);
    *f->path = 0;
}

bool folder_create(RunFolder *f, Error *e) {
    const char *tmp = getenv("TMPDIR");
    const int n = snprintf(f->path, sizeof f->path, "%s/isomer-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if ((size_t)n < sizeof f->path && mkdtemp(f->path)) return true;
    error_set(e, E_ENVIRONMENT, f->path, "cannot create a folder: %s",
              strerror((size_t)n < sizeof f->path ? errno : ENAMETOOLONG));
    *f->path = 0;
    return false;
}

static void remove_folder(void *folder) { folder_remove(folder); }

RunFolder *run_folder(Arena *a, Error *e) {
    RunFolder *f = ARENA_NEW(a, RunFolder, 1);
    if (!folder_create(f, e)) return NULL;
    cleanup_add(arena_escape(a), &f->cleanup, remove_folder, f);
    return f;
}
