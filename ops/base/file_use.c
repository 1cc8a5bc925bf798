/* file_use.c -- the files that a command line names: none that is written may be another one. What
   is there is known by its number on its device, what is not by its folder and name. */
#include "ops/base/file_use.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void folder_of(const char *path, char folder[PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    snprintf(folder, PATH_MAX, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
}

/* Whether both name one regular file, there or yet to be written. */
static bool same_path(const char *a, const char *b) {
    struct stat x, y;
    char folder[2][PATH_MAX], real[2][PATH_MAX];
    const bool has_a = !stat(a, &x), has_b = !stat(b, &y);
    if (has_a && has_b) return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    if (has_a || has_b) return false;
    const char *file_a = strrchr(a, '/'), *file_b = strrchr(b, '/');
    if (strcmp(file_a ? file_a + 1 : a, file_b ? file_b + 1 : b) != 0) return false;
    folder_of(a, folder[0]);
    folder_of(b, folder[1]);
    return realpath(folder[0], real[0]) && realpath(folder[1], real[1]) &&
           !strcmp(real[0], real[1]);
}

bool files_apart(int n, const FileUse *use, Error *e) {
    for (int k = 0; k < n; k++)
        for (int j = 0; j < k; j++) {
            const bool later = use[k].kind >= use[j].kind;
            const FileUse *lost = &use[later ? j : k], *by = &use[later ? k : j];
            if (!lost->path || !by->path || by->kind != FILE_WRITTEN) continue;
            if (same_path(lost->path, by->path))
                return error_set(e, E_USAGE, by->name,
                                 "%s is also given as %s: each needs a file of its own", by->path,
                                 lost->name);
        }
    return true;
}

bool operands_apart(Arena *a, int n, const char *const path[], int nuse, const FileUse *use,
                    Error *e) {
    FileUse *all = ARENA_NEW(a, FileUse, n + nuse);
    for (int k = 0; k < n; k++) all[k] = (FileUse){"FILE", path[k], FILE_READ};
    for (int k = 0; k < nuse; k++) all[n + k] = use[k];
    return files_apart(n + nuse, all, e);
}
