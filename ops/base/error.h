/* error.h -- how failures are reported: as an Error with kind, place and reason, or, where a
   function cannot return, by a jump to an Escape.

   Bugs are not reported this way, they are assertions; a verdict of the prover is not an error
   either. */
#ifndef ISOMER_ERROR_H
#define ISOMER_ERROR_H
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>

/* The table of kinds: X(id, exit status of the programs, word, what this status means, for manual
   pages). The meaning is NULL where another kind with the same status has it. */
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
    int line, column; /* counted from 1; 0: not a place in a text */
    char place[160];  /* file, node, rule or option; "" if none */
    char reason[600];
} Error;

/* Fills *e and returns false, so that a failing function can end with `return error_set(...)`. Does
   nothing if e is NULL or already holds an error: the first error is kept. */
bool error_set(Error *e, ErrorKind, const char *place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool error_at(Error *e, ErrorKind, const char *place, int line, int column, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
int error_exit_code(const Error *); /* the exit status of a program that ends with this error */
/* formats "place:line:column: reason (kind)" */
void error_print(const Error *, char *text, size_t n);

/* Registers with an Escape that release(what) must be called if the Escape is taken. Used for
   everything that is not memory of an arena: arenas and tables themselves, mapped and open files,
   devices, processes. The Cleanup must be stored in the resource itself or in something that lives
   longer. */
typedef struct Cleanup {
    struct Cleanup *next, **at; /* at: the pointer to this one; NULL: not registered */
    void (*release)(void *what);
    void *what;
} Cleanup;

/* Where control goes when an allocation fails. A library entry point sets `here` with setjmp, hands
   the Escape to its arenas and ends with escape_free, whether the jump was taken or not. An Escape
   belongs to one thread. */
typedef struct Escape {
    jmp_buf here;
    Error error;
    Cleanup *cleanup; /* the registered ones, latest first */
    Cleanup within;   /* frees this Escape with the one around it (escape_within) */
} Escape;
/* Registers a resource and what releases it. Without an Escape it registers nothing. */
void cleanup_add(Escape *, Cleanup *, void (*release)(void *), void *what);
void cleanup_cancel(Cleanup *); /* unregisters it without releasing, if it is registered */
void cleanup_run(Cleanup *);    /* unregisters it and releases the resource */
void escape_free(Escape *);     /* releases all that is registered, latest first */
/* Puts an Escape within another one, until it is freed: if `outer` is taken before, what is
   registered with the inner one is released, too. The inner one must live in an arena of `outer`,
   which may be NULL. */
void escape_within(Escape *inner, Escape *outer);
/* Jumps to `here` with this error; aborts if escape is NULL. error.kind must be E_NONE before. */
_Noreturn void escape_raise(Escape *, ErrorKind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#endif
