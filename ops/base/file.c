/* file.c -- reads and writes whole files.

   A regular file is replaced atomically: the bytes are written to a new file beside it, synced, and
   renamed. Readers see the old contents or the new ones, and after a failure only the old ones
   remain. What is not a regular file (a pipe, a device) cannot be replaced and is written to
   directly. */
#include "ops/base/file.h"
#include "ops/base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 100, PIECE = 1 << 26 };

static bool file_fail(Error *e, const char *path, const char *what) {
    return error_set(e, E_ENVIRONMENT, path, "%s: %s", what, strerror(errno));
}

/* ---- reading */

static void close_file(void *fd) { close((int)(intptr_t)fd); }

void file_cleanup(const Arena *a, Cleanup *h, int fd) {
    cleanup_add(arena_escape(a), h, close_file, (void *)(intptr_t)fd);
}

/* Reads n bytes, or fewer at the end of the file. Returns the number read, or -1 with errno set. */
static ssize_t read_fully(int fd, char *to, size_t n) {
    size_t done = 0;
    while (done < n) {
        ssize_t got = read(fd, to + done, n - done < PIECE ? n - done : PIECE);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* Reads the rest of fd into `bytes`, which has room for `room` bytes and a terminator. If there is
   more, as from a pipe, whose size is not known, the room is doubled. */
static bool read_open(Arena *a, int fd, char *bytes, size_t room, char **data, size_t *n) {
    for (size_t size = 0;; room *= 2) {
        ssize_t got = read_fully(fd, bytes + size, room + 1 - size);
        if (got < 0) return false;
        size += (size_t)got;
        if (size <= room) {
            bytes[size] = 0;
            *data = bytes;
            *n = size;
            return true;
        }
        char *more = arena_alloc_raw(a, 2 * room + 1);
        bytes = memcpy(more, bytes, size);
    }
}

bool file_read(Arena *a, const char *path, char **data, size_t *n, Error *e) {
    struct stat s;
    if (stat(path, &s) != 0) return file_fail(e, path, "cannot read");
    if (S_ISDIR(s.st_mode)) return error_set(e, E_ENVIRONMENT, path, "cannot read: it is a folder");
    size_t room = S_ISREG(s.st_mode) && s.st_size > 0 ? (size_t)s.st_size : 65536;
    char *bytes = arena_alloc_raw(a, room + 1);
    Cleanup *file = ARENA_NEW(a, Cleanup, 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return file_fail(e, path, "cannot read");
    file_cleanup(a, file, fd);
    bool ok = read_open(a, fd, bytes, room, data, n);
    if (!ok) file_fail(e, path, "cannot read");
    cleanup_run(file);
    return ok;
}

/* ---- writing */

static bool write_fully(int fd, const char *from, size_t n) {
    while (n > 0) {
        ssize_t put = write(fd, from, n < PIECE ? n : PIECE);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        from += put;
        n -= (size_t)put;
    }
    return true;
}

static bool write_zeros(int fd, size_t n) {
    static const char zeros[4096];
    bool ok = true;
    for (size_t part; ok && n; n -= part) {
        part = n < sizeof zeros ? n : sizeof zeros;
        ok = write_fully(fd, zeros, part);
    }
    return ok;
}

/* Writes n zeros. If there are many and the file allows it, they become a hole: only the last one
   is written, which gives the file its length. */
static bool write_hole(int fd, size_t n) {
    enum { LEAST = 1 << 20 };
    if (n < LEAST || lseek(fd, (off_t)(n - 1), SEEK_CUR) < 0) return write_zeros(fd, n);
    return write_zeros(fd, 1);
}

static bool write_pieces(int fd, int n, const Piece *piece) {
    bool ok = true;
    for (int k = 0; ok && k < n; k++)
        ok = piece[k].at ? write_fully(fd, piece[k].at, piece[k].n) : write_hole(fd, piece[k].n);
    return ok;
}

static bool write_device(const char *path, int n, const Piece *piece, Error *e) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return file_fail(e, path, "cannot write");
    bool ok = write_pieces(fd, n, piece);
    if (!ok) file_fail(e, path, "cannot write");
    if (close(fd) != 0 && ok) ok = file_fail(e, path, "cannot write");
    return ok;
}

/* Opens a new file beside the target, and writes its name, the target's with a suffix, to `name`.
   Returns -1 with errno set on failure. */
static int open_beside(const char *target, char *name, size_t size) {
    for (int i = 0; i < TRIES; i++) {
        int length = snprintf(name, size, "%s.new-%ld-%d", target, (long)getpid(), i);
        if (length < 0 || (size_t)length >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

const char *path_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *path_beside(Arena *a, const char *other, const char *path) {
    return arena_format(a, "%.*s%s", (int)(path_name(other) - other), other, path);
}

void path_folder(const char *path, char *folder, size_t size) {
    const int n = (int)(path_name(path) - path);
    snprintf(folder, size, "%.*s", n ? n : 1, n ? path : ".");
}

/* Syncs the folder of a file, without which a new name may not survive a loss of power. Errors are
   ignored: some file systems cannot do this, and the bytes of the file are safe anyway. */
static void sync_folder(const char *path) {
    char folder[PATH_MAX];
    path_folder(path, folder, sizeof folder);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

/* Writes the pieces, sets the mode of the file that will be replaced, syncs and closes. Returns
   false with errno set on failure. */
static bool fill_new(int fd, int n, const Piece *piece, const struct stat *old) {
    bool ok = write_pieces(fd, n, piece) && (!old || fchmod(fd, old->st_mode & 07777) == 0) &&
              fsync(fd) == 0;
    int why = errno;
    if (close(fd) != 0 && ok) return false;
    errno = why;
    return ok;
}

static bool replace_file(const char *target, int n, const Piece *piece, const struct stat *old,
                         Error *e) {
    char name[PATH_MAX];
    int fd = open_beside(target, name, sizeof name);
    if (fd < 0) return file_fail(e, target, "cannot write");
    if (!fill_new(fd, n, piece, old) || rename(name, target) != 0) {
        file_fail(e, target, "cannot write");
        unlink(name);
        return false;
    }
    sync_folder(target);
    return true;
}

/* ---- pieces */

Pieces pieces_new(Arena *arena) { return (Pieces){.arena = arena}; }

/* A piece that begins where the last one ends extends the last one. */
void pieces_add(Pieces *p, const void *at, size_t n) {
    Piece *last = p->n ? &p->v[p->n - 1] : NULL;
    if (!n) return;
    p->size += n;
    if (last && last->at && (const char *)last->at + last->n == at) {
        last->n += n;
        return;
    }
    ARENA_GROW(p->arena, p->v, p->room, p->n + 1);
    p->v[p->n++] = (Piece){at, n};
}

void pieces_append(Pieces *p, const Pieces *more) {
    for (int k = 0; k < more->n; k++) pieces_add(p, more->v[k].at, more->v[k].n);
}

char *pieces_join(const Pieces *p, Arena *a) {
    char *all = arena_alloc_raw(a, p->size + 1), *to = all;
    for (int k = 0; k < p->n; to += p->v[k++].n) {
        if (p->v[k].at) memcpy(to, p->v[k].at, p->v[k].n);
        else memset(to, 0, p->v[k].n);
    }
    *to = 0;
    return all;
}

/* Replaces a path that names no file by the path to which its symbolic links lead, since realpath
   follows them only to files that are there. Returns false with errno set if that is too long or
   has too many links. */
static bool follow_links(const char *path, char target[PATH_MAX]) {
    char link[PATH_MAX], folder[PATH_MAX];
    enum { LINKS = 40 };
    errno = ENAMETOOLONG;
    if (strlen(path) >= PATH_MAX) return false;
    strcpy(target, path);
    for (int k = 0; k < LINKS; k++) {
        const ssize_t n = readlink(target, link, sizeof link - 1);
        if (n < 0) return true;
        link[n] = 0;
        path_folder(target, folder, sizeof folder);
        const bool alone = *link == '/' || !strchr(target, '/');
        if (strlen(link) + (alone ? 0 : strlen(folder)) >= PATH_MAX) return false;
        strcpy(target, alone ? "" : folder);
        strcat(target, link);
    }
    errno = ELOOP;
    return false;
}

bool file_write_pieces(const char *path, int n, const Piece *piece, Error *e) {
    struct stat old;
    char target[PATH_MAX];
    if (stat(path, &old) != 0) {
        if (errno != ENOENT || !follow_links(path, target))
            return file_fail(e, path, "cannot write");
        return replace_file(target, n, piece, NULL, e);
    }
    if (S_ISDIR(old.st_mode))
        return error_set(e, E_ENVIRONMENT, path, "cannot write: it is a folder");
    if (!S_ISREG(old.st_mode)) return write_device(path, n, piece, e);
    /* A symbolic link is kept, and the file that it names is replaced. */
    if (!realpath(path, target)) return file_fail(e, path, "cannot write");
    return replace_file(target, n, piece, &old, e);
}

bool file_writable(const char *path, Error *e) {
    struct stat old;
    char target[PATH_MAX], folder[PATH_MAX];
    const bool there = !stat(path, &old);
    if (!there && errno != ENOENT) return file_fail(e, path, "cannot write");
    if (there && S_ISDIR(old.st_mode))
        return error_set(e, E_ENVIRONMENT, path, "cannot write: it is a folder");
    if (there && !S_ISREG(old.st_mode))
        return !access(path, W_OK) || file_fail(e, path, "cannot write");
    if (!(there ? realpath(path, target) != NULL : follow_links(path, target)))
        return file_fail(e, path, "cannot write");
    path_folder(target, folder, sizeof folder);
    if (!*path) strcpy(folder, path); /* the empty path must fail, not mean "." */
    return !access(folder, W_OK | X_OK) || file_fail(e, path, "cannot write");
}

int file_in_memory(int n, const Piece *piece) {
    int fd = memfd_create("isomer", MFD_CLOEXEC);
    if (fd >= 0 && write_pieces(fd, n, piece) && lseek(fd, 0, SEEK_SET) == 0) return fd;
    int why = errno;
    if (fd >= 0) close(fd);
    errno = why;
    return -1;
}

bool file_write(const char *path, const void *data, size_t n, Error *e) {
    return file_write_pieces(path, 1, &(Piece){data, n}, e);
}

/* ---- folders */

bool folder_make(const char *path, Error *e) {
    struct stat s;
    if (!mkdir(path, 0777) || (errno == EEXIST && !stat(path, &s) && S_ISDIR(s.st_mode)))
        return true;
    return file_fail(e, path, "cannot create the folder");
}

bool folders_make(const char *path, Error *e) {
    char folder[PATH_MAX];
    for (const char *slash = *path ? strchr(path + 1, '/') : NULL; slash;
         slash = strchr(slash + 1, '/')) {
        if ((size_t)(slash - path) >= sizeof folder) {
            errno = ENAMETOOLONG;
            return file_fail(e, path, "cannot create its folder");
        }
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        if (!folder_make(folder, e)) return false;
    }
    return true;
}

char *user_file(Arena *a, const char *variable, const char *below_home, const char *file) {
    const char *folder = getenv(variable), *home = getenv("HOME");
    if (folder && *folder == '/') return arena_format(a, "%s/isomer/%s", folder, file);
    if (!home || *home != '/') return NULL;
    return arena_format(a, "%s/%s/isomer/%s", home, below_home, file);
}
