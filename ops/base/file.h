/* file.h -- whole files, their folders and their paths. */
#ifndef ISOMER_FILE_H
#define ISOMER_FILE_H
#include "arena.h"

/* Reads a whole file into the arena. *data has a terminating 0 that *n does not count. */
bool file_read(Arena *, const char *path, char **data, size_t *n, Error *);
/* Registers an open file with the arena's Escape; cleanup_run closes it. */
void file_cleanup(const Arena *, Cleanup *, int fd);
typedef struct Piece {
    const void *at; /* NULL: n zeros */
    size_t n;
} Piece;
typedef struct Pieces { /* the contents of a file as a list of pieces, which are not copied */
    Arena *arena;
    int n, room;
    Piece *v;
    size_t size; /* the sum of all n */
} Pieces;
Pieces pieces_new(Arena *);
/* Appends n bytes; if `at` is NULL, n zeros. */
void pieces_add(Pieces *, const void *at, size_t n);
void pieces_append(Pieces *, const Pieces *);
char *pieces_join(const Pieces *, Arena *); /* a copy as one block, with a terminating 0 */
/* Writes the pieces one after the other, as file_write does. */
bool file_write_pieces(const char *path, int n, const Piece *, Error *);
/* Whether a file of this path can be written, as far as can be told now; meant for a check before
   long work. E_ENVIRONMENT: the folder is missing or cannot be written to, or the path is a
   folder. */
bool file_writable(const char *path, Error *);
/* Writes a file completely or not at all: the bytes go to a new file beside it, which is synced and
   renamed. */
bool file_write(const char *path, const void *data, size_t n, Error *);
/* Returns an anonymous file with these contents, positioned at its start; -1 with errno set on
   failure. */
int file_in_memory(int n, const Piece *);

/* Creates one folder, unless it exists; its parent must exist. E_ENVIRONMENT: it cannot be
   created. */
bool folder_make(const char *path, Error *);
/* Creates the missing folders on the path of a file. */
bool folders_make(const char *path, Error *);
/* The path isomer/FILE below the folder that an environment variable names (such as XDG_CACHE_HOME)
   or, if that is not an absolute path, below the folder `below_home` (such as .cache) of $HOME.
   NULL: $HOME is not an absolute path either. */
char *user_file(Arena *, const char *variable, const char *below_home, const char *file);

/* ---- paths */

const char *path_name(const char *path); /* what follows the last slash, or the whole path */
/* The folder part of a path, with its slash, or "." if the path has none. */
void path_folder(const char *path, char *folder, size_t size);
/* The path of a file that is given relative to the folder of another one. */
const char *path_beside(Arena *, const char *other, const char *path);
#endif
