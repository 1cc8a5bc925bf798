/* error.c -- fills and prints every Error, and runs the cleanups of an Escape.

   An Error is filled once: the first failure is kept, as later ones usually follow from it. Texts
   that are too long are cut off. A reason may have several lines (scan_fail adds the source line
   and a caret); error_print puts the kind at the end of the first line. */
#include "ops/base/error.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int code;
    const char *word;
} kinds[ERROR_KIND_COUNT] = {
#define X(id, status, text, meaning) [id] = {status, text},
    ERROR_KINDS(X)
#undef X
};

static void error_fill(Error *e, ErrorKind kind, const char *place, int line, int column,
                       const char *format, va_list rest) {
    if (!e || e->kind != E_NONE) return;
    e->kind = kind;
    e->line = line;
    e->column = column;
    snprintf(e->place, sizeof e->place, "%s", place ? place : "");
    vsnprintf(e->reason, sizeof e->reason, format, rest);
}

bool error_set(Error *e, ErrorKind kind, const char *place, const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    error_fill(e, kind, place, 0, 0, format, rest);
    va_end(rest);
    return false;
}

bool error_at(Error *e, ErrorKind kind, const char *place, int line, int column, const char *format,
              ...) {
    va_list rest;
    va_start(rest, format);
    error_fill(e, kind, place, line, column, format, rest);
    va_end(rest);
    return false;
}

void escape_raise(Escape *escape, ErrorKind kind, const char *format, ...) {
    if (!escape) abort();
    va_list rest;
    va_start(rest, format);
    error_fill(&escape->error, kind, "", 0, 0, format, rest);
    va_end(rest);
    longjmp(escape->here, 1);
}

void cleanup_add(Escape *escape, Cleanup *h, void (*release)(void *), void *what) {
    *h = (Cleanup){.release = release, .what = what};
    if (!escape) return;
    h->next = escape->cleanup;
    h->at = &escape->cleanup;
    if (h->next) h->next->at = &h->next;
    escape->cleanup = h;
}

void cleanup_cancel(Cleanup *h) {
    if (!h->at) return;
    *h->at = h->next;
    if (h->next) h->next->at = h->at;
    h->at = NULL;
}

void cleanup_run(Cleanup *h) {
    cleanup_cancel(h);
    h->release(h->what);
}

void escape_free(Escape *escape) {
    while (escape->cleanup) cleanup_run(escape->cleanup);
    cleanup_cancel(&escape->within);
}

static void free_inner(void *escape) { escape_free(escape); }

void escape_within(Escape *inner, Escape *outer) {
    cleanup_add(outer, &inner->within, free_inner, inner);
}

int error_exit_code(const Error *e) { return e ? kinds[e->kind].code : kinds[E_NONE].code; }

void error_print(const Error *e, char *text, size_t n) {
    char where[sizeof e->place + 32] = "";
    if (e->line && e->column)
        snprintf(where, sizeof where, "%s:%d:%d: ", e->place, e->line, e->column);
    else if (e->line) snprintf(where, sizeof where, "%s:%d: ", e->place, e->line);
    else if (e->place[0]) snprintf(where, sizeof where, "%s: ", e->place);
    int first = (int)strcspn(e->reason, "\n");
    snprintf(text, n, "%s%.*s (%s)%s", where, first, e->reason, kinds[e->kind].word,
             e->reason + first);
}
