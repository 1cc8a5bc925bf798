/* text.h -- growing strings, and a scanner for the text formats of the project. */
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
#endif
