/* error.h -- how a failure travels: a value with kind, place and reason. A bug is an assert, a
   verdict is not an error. */
#ifndef ISOMER_ERROR_H
#define ISOMER_ERROR_H
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>

/* X(id, exit code of the programs, word, what the code means in a manual page: NULL where another
   kind of the same code says it) -- the one table of kinds. */
#define ERROR_KINDS(X)                                                                        \
    X(E_NONE, 0, "done", "Done.")                                                             \
    X(E_CHECK, 1, "check failed", "A check failed: results differ, or a rule is not proved.") \
    X(E_USAGE, 2, "usage", "Wrong options or arguments.")                                     \
    X(E_INVALID, 3, "invalid input", "An input file is damaged or not what it should be.")    \
    X(E_LIMIT, 4, "resource limit", "A limit on sizes, work or memory was reached.")          \
    X(E_ENVIRONMENT, 5, "environment",                                                        \
      "A file cannot be read or written, or a device, a library or another program fails.")   \
    X(E_MEMORY, 4, "out of memory", NULL)                                                     \
    X(E_INTERRUPTED, 130, "interrupted", "Interrupted by the user.")
typedef enum ErrorKind {
#define X(id, code, word, meaning) id,
    ERROR_KINDS(X) ERROR_KIND_COUNT
#undef X
} ErrorKind;

typedef struct Error {
    ErrorKind kind;
    int line, column; /* from 1; 0: no place in a text */
    char place[160];  /* file, node, rule or option; "" if none */
    char reason[600];
} Error;

/* Sets *e (if e is not NULL) and returns false, so that `return error_set(...)` ends a failing
   function. The first error stands: one already set is kept. */
bool error_set(Error *e, ErrorKind, const char *place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool error_at(Error *e, ErrorKind, const char *place, int line, int column, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
int error_exit_code(const Error *);                    /* of the programs */
void error_print(const Error *, char *text, size_t n); /* "place:line:column: reason (kind)" */

/* What must be released by a call, here release(what), is registered with an Escape while it is in
   use: arenas and tables, mapped and open files, devices, processes. The Cleanup is a part of what
   it releases, or of something older. */
typedef struct Cleanup {
    struct Cleanup *next, **at; /* at: what points to this one; NULL: it is not registered */
    void (*release)(void *what);
    void *what;
} Cleanup;

/* Where allocation failure lands: a library entry point sets `here` with setjmp, hands the Escape
   to its arenas and ends with escape_free, whether it was taken or not. For one thread. */
typedef struct Escape {
    jmp_buf here;
    Error error;
    Cleanup *cleanup; /* the latest first */
} Escape;
void cleanup_add(Escape *, Cleanup *, void (*release)(void *),
                 void *what);   /* no Escape: does nothing */
void cleanup_cancel(Cleanup *); /* its owner releases it; nothing happens if it is not registered */
void cleanup_run(Cleanup *);    /* releases it now */
void escape_free(Escape *);     /* releases all that is registered, the latest first */
/* Goes to `here` with the error; aborts if escape is NULL. error.kind must be E_NONE before. */
_Noreturn void escape_raise(Escape *, ErrorKind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#endif
