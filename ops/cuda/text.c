/* text.c -- builds the text of a kernel from lines and the expressions in them. */
#include "ops/cuda/generate.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Saying {
    Saying *next;
    char text[];
};
const char *say(Gen *g, const char *format, ...) {
    va_list a;
    va_start(a, format);
    const int n = vsnprintf(NULL, 0, format, a);
    va_end(a);
    Saying *s = n < 0 ? NULL : malloc(sizeof *s + (size_t)n + 1);
    if (!s) return g->out->failed = true, "";
    va_start(a, format);
    vsnprintf(s->text, (size_t)n + 1, format, a);
    va_end(a);
    s->next = g->said;
    g->said = s;
    return s->text;
}

static void append(KernelSource *o, const char *text, size_t n) {
    if (o->failed) return;
    if (o->size + n + 1 > o->room) {
        const size_t room = 2 * (o->size + n) + 4096;
        char *more = realloc(o->text, room);
        if (!more) {
            o->failed = true;
            return;
        }
        o->text = more, o->room = room;
    }
    memcpy(o->text + o->size, text, n);
    o->size += n;
    o->text[o->size] = 0;
}

void line(Gen *g, const char *format, ...) {
    va_list a;
    va_start(a, format);
    const int n = vsnprintf(NULL, 0, format, a);
    va_end(a);
    char *text = n < 0 ? NULL : malloc((size_t)n + 2);
    if (!text) {
        g->out->failed = true;
        return;
    }
    va_start(a, format);
    vsnprintf(text, (size_t)n + 1, format, a);
    va_end(a);
    if (text[0] == '}') g->indent--;
    for (int k = 0; k < g->indent; k++) append(g->out, "    ", 4);
    if (n && text[n - 1] == '{') g->indent++;
    text[n] = '\n';
    append(g->out, text, (size_t)n + 1);
    free(text);
}

void said_free(Gen *g) {
    for (Saying *next; g->said; g->said = next) next = g->said->next, free(g->said);
}
