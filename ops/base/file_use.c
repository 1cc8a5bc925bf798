/* file_use.c -- checks that no file of a command line overwrites another one. Existing files are
   the same if their device and inode numbers are; files that do not exist yet, if their folders and
   names are. */
#include "ops/base/file_use.h"
#include "ops/base/file.h"
#include "ops/base/text.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool file_same(const char *a, const char *b) {
    struct stat x, y;
    char folder[2][PATH_MAX], real[2][PATH_MAX];
    const bool has_a = !stat(a, &x), has_b = !stat(b, &y);
    if (has_a && has_b) return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    if (has_a || has_b) return false;
    if (strcmp(path_name(a), path_name(b)) != 0) return false;
    path_folder(a, folder[0], sizeof folder[0]);
    path_folder(b, folder[1], sizeof folder[1]);
    return realpath(folder[0], real[0]) && realpath(folder[1], real[1]) &&
           !strcmp(real[0], real[1]);
}

void file_use_add(FileUses *u, const char *name, const char *path, FileUseKind kind) {
    if (!path) return;
    ARENA_GROW(u->arena, u->v, u->room, u->n + 1);
    u->v[u->n++] = (FileUse){name, path, kind};
}

void file_use_add_list(FileUses *u, const char *name, StringList paths, FileUseKind kind) {
    for (int k = 0; k < paths.n; k++) file_use_add(u, name, paths.v[k], kind);
}

static bool is_written(const FileUse *x) {
    return x->kind == FILE_WRITTEN || x->kind == FILE_RESULT;
}

/* Whether writing `by`, or extending it, destroys the contents of `lost`. */
static bool would_lose(const FileUse *by, const FileUse *lost) {
    const bool replaces = by->kind == FILE_RESULT && lost->kind == FILE_OPERAND,
               both_extend = by->kind == FILE_ADDED_TO && lost->kind == FILE_ADDED_TO;
    return ((is_written(by) && !replaces) || both_extend) && file_same(lost->path, by->path);
}

bool files_apart(const FileUses *u, Error *e) {
    for (int k = 0; k < u->n; k++)
        for (int j = 0; j < k; j++) {
            const bool later = u->v[k].kind >= u->v[j].kind;
            const FileUse *lost = &u->v[later ? j : k], *by = &u->v[later ? k : j];
            if (would_lose(by, lost))
                return error_set(e, E_USAGE, by->name,
                                 "%s is also given as %s: each needs a file of its own", by->path,
                                 lost->name);
        }
    return true;
}

bool file_spared(const FileUses *u, const char *path, const char *what, Error *e) {
    for (int k = 0; k < u->n; k++)
        if (u->v[k].kind >= FILE_ADDED_TO && file_same(u->v[k].path, path))
            return error_set(e, E_USAGE, u->v[k].name, "%s %s: each needs a file of its own",
                             u->v[k].path, what);
    return true;
}

bool files_usable(const FileUses *u, Error *e) {
    if (!files_apart(u, e)) return false;
    for (int k = 0; k < u->n; k++)
        if (is_written(&u->v[k]) && !file_writable(u->v[k].path, e)) return false;
    return true;
}
