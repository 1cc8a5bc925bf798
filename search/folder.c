/* folder.c -- creates a folder for files that exist only during a run, and removes it. Models
   written there may have their weights next to them, in subfolders. */
#include "search/folder.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void remove_all(void *folder) {
    const RunFolder *f = folder;
    char path[PATH_MAX];
    model_remove_external(f->model, f->path);
    DIR *d = opendir(f->path);
    for (struct dirent *x; d && (x = readdir(d));)
        if (snprintf(path, sizeof path, "%s/%s", f->path, x->d_name) < (int)sizeof path)
            unlink(path);
    if (d) closedir(d);
    rmdir(f->path);
}

RunFolder *run_folder(const Model *model, Arena *a, Error *e) {
    const char *tmp = getenv("TMPDIR");
    RunFolder *f = ARENA_NEW(a, RunFolder, 1);
    f->model = model;
    f->path = arena_format(a, "%s/isomer-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(f->path))
        return error_set(e, E_ENVIRONMENT, f->path, "cannot create a folder: %s", strerror(errno)),
               NULL;
    cleanup_add(arena_escape(a), &f->cleanup, remove_all, f);
    return f;
}
