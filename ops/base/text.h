/* text.h -- a growing string, and reading a text with line and column. */
#ifndef ISOMER_TEXT_H
#define ISOMER_TEXT_H
#include "arena.h"

typedef struct Text { /* data is always terminated; {0} plus an arena is an empty text */
    Arena *arena;
    char *data;
    size_t size, room;
} Text;
Text text_new(Arena *);
void text_add(Text *, const char *format, ...) __attribute__((nonnull, format(printf, 2, 3)));
void text_bytes(Text *, const char *, size_t);

/* A cursor over a text. Every function that takes a token first skips blanks, newlines and comments
   from # to the end of the line; where it takes nothing, the cursor stays. With `lines` set
   newlines are not skipped but taken by scan_char(s, '\n'). A token that is there but wrong is an
   error (scan_fail); one that is not there is not. */
typedef struct Scan {
    const char *name, *start, *at, *end;
    Error *error;
    bool lines;
} Scan;
Scan scan_new(const char *name, const char *text, size_t n, Error *);
/* E_INVALID with line, column, the source line and a caret; false. */
bool scan_fail(Scan *, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void scan_blank(Scan *);      /* to the next token */
void scan_blank_line(Scan *); /* likewise, but stays on this line */
bool scan_end(Scan *);        /* nothing left */
bool scan_char(Scan *, char); /* takes it if it is next */
/* Takes the identifier (the whole of it), or a sign such as "->", if it is next. */
bool scan_word(Scan *, const char *);
/* Letter or _, then letters, digits, _ . - where a digit or letter follows; false: none there. */
bool scan_name(Scan *, char *out, size_t n);
bool scan_int(Scan *, int64_t *); /* optional sign; overflow is an error */
bool scan_real(Scan *, double *);
bool scan_string(Scan *, Text *out); /* "..." with \" \\ \n \t \xHH */

/* Whole files. Results live in the arena. */
bool file_read(Arena *, const char *path, char **data, size_t *n, Error *);
/* An open file: cleanup_run closes it, or the arena's Escape. */
void file_cleanup(const Arena *, Cleanup *, int fd);
typedef struct Piece {
    const void *at; /* NULL: zeros */
    size_t n;
} Piece;
typedef struct Pieces { /* what a file will be, one after another; what is added is not copied */
    Arena *arena;
    int n, room;
    Piece *v;
    size_t size; /* of all together */
} Pieces;
Pieces pieces_new(Arena *);
void pieces_add(Pieces *, const void *at, size_t n);
void pieces_append(Pieces *, const Pieces *);
char *pieces_join(const Pieces *, Arena *); /* a copy in one */
/* One after the other, as file_write. */
bool file_write_pieces(const char *path, int n, const Piece *, Error *);
/* Whether a file of this path can be written, as far as that shows now: for finding out before long
   work. E_ENVIRONMENT: its folder is missing or may not be written to, or it is a folder. */
bool file_writable(const char *path, Error *);
/* Written next to it, synced, then renamed: completely or not at all. */
bool file_write(const char *path, const void *data, size_t n, Error *);
/* An anonymous file with these contents, at its start; -1: errno says why. */
int file_in_memory(int n, const Piece *);

/* Creates one folder, unless it exists. E_ENVIRONMENT: it cannot be created. */
bool folder_make(const char *path, Error *);
/* Creates the missing ones of the folders in which a file of this path lies. */
bool folders_make(const char *path, Error *);
/* isomer/FILE in the folder that an environment variable ($XDG_CACHE_HOME) names, or else in this
   one below $HOME (.cache); NULL: neither holds an absolute path. */
char *user_file(Arena *, const char *variable, const char *below_home, const char *file);
#endif
