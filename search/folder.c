/* folder.c -- creates a folder for files that exist only during a run, and removes it. Models
   written there may have their weights next to them, in subfolders. */
#include "search/folder.h"
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
static void remove_all(void *folder) {
    enum { OPEN = 8 }; /* folders that are open at a time */
    nftw(((const RunFolder *)folder)->path, remove_one, OPEN, FTW_DEPTH | FTW_PHYS);
}

RunFolder *run_folder(Arena *a, Error *e) {
    const char *tmp = getenv("TMPDIR");
    RunFolder *f = ARENA_NEW(a, RunFolder, 1);
    f->path = arena_format(a, "%s/isomer-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(f->path))
        return error_set(e, E_ENVIRONMENT, f->path, "cannot create a folder: %s", strerror(errno)),
               NULL;
    cleanup_add(arena_escape(a), &f->cleanup, remove_all, f);
    return f;
}
