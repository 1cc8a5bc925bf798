/* text.h -- growing strings, a scanner for the text formats of the project, and whole files. */
#ifndef ISOMER_TEXT_H
#define ISOMER_TEXT_H
#include "arena.h"

typedef struct Text { /* a growing string, always terminated; {0} with an arena is an empty one */
    Arena *arena;
    char *data;
    size_t size, room;
} Text;
Text text_new(Arena *);
void text_add(Text *, const char *format, ...) __attribute__((nonnull, format(printf, 2, 3)));
void text_bytes(Text *, const char *, size_t);
void text_string(Text *, const char *); /* adds "..." with the escapes that scan_string reads */

/* A cursor over a text, from which the scan_* functions take tokens. Each first skips blanks,
   newlines and comments from # to the end of the line. It returns false and leaves the cursor where
   it is if the next token is of another kind; a token of the right kind that is malformed is an
   error (scan_fail). With `lines` set, newlines are not skipped, and scan_char(s, '\n') takes
   them. Names of sizes get the character `mark` at their end if it is not 0 (poly_parse). */
typedef struct Scan {
    const char *name, *start, *at, *end;
    Error *error;
    bool lines;
    char mark;
} Scan;
/* A cursor at the start of a text of n bytes, which is not copied and need not be terminated.
   Errors name the text `name`. */
Scan scan_new(const char *name, const char *text, size_t n, Error *);
/* Sets E_INVALID with line, column, the source line and a caret at `at`. Returns false. */
bool scan_fail(Scan *, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void scan_blank(Scan *);      /* skips to the next token */
void scan_blank_line(Scan *); /* likewise, but within this line */
bool scan_end(Scan *);        /* whether no token is left */
bool scan_char(Scan *, char); /* takes this character if it is next */
/* Takes this word if it is next: a whole identifier, or a sign such as "->". */
bool scan_word(Scan *, const char *);
/* Takes an identifier: a letter or _, then letters, digits and _, and dots and hyphens that are
   followed by one of these. False: there is none, or (an error) it does not fit into n bytes. */
bool scan_name(Scan *, char *out, size_t n);
bool scan_int(Scan *, int64_t *); /* with an optional sign; overflow is an error */
/* Takes a number with an optional sign: decimal, hexadecimal (as %a prints it), inf or nan. A
   finite number that is too large for a double is an error. */
bool scan_real(Scan *, double *);
bool scan_string(Scan *, Text *out); /* "..." with the escapes \" \\ \n \t \xHH; appends to *out */

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
