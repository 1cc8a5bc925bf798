/* question.c -- questions as text; equal questions are merged. */
#include "generator/discover/question.h"
#include "ops/base/file.h"
#include "ops/base/intern.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Questions questions_new(Arena *a) { return (Questions){.arena = a, .ids = intern_new(a)}; }

static bool named_in(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at++)
        if ((at == list || at[-1] == ',') && (!at[n] || at[n] == ',')) return true;
    return false;
}

/* Appends to `list` the names of `more` that it lacks. */
static const char *names_joined(Arena *a, const char *list, const char *more) {
    while (*more) {
        size_t n = strcspn(more, ",");
        const char *name = arena_string(a, more, n);
        if (!named_in(list, name)) list = *list ? arena_format(a, "%s,%s", list, name) : name;
        more += n + (more[n] == ',');
    }
    return list;
}

void questions_add(Questions *q, const Question *x) {
    Arena *a = q->arena;
    uint32_t old = intern_count(q->ids), id = intern_put(q->ids, x->graph, strlen(x->graph));
    if (id > old) {
        ARENA_GROW(a, q->v, q->room, q->n + 1);
        Question *y = &q->v[q->n++];
        *y = *x;
        snprintf(y->id, sizeof y->id, "%016llx",
                 (unsigned long long)hash_bytes(x->graph, strlen(x->graph)));
        y->graph = arena_string(a, x->graph, strlen(x->graph));
        y->at = arena_string(a, x->at, strlen(x->at));
        y->from = arena_string(a, x->from, strlen(x->from));
        return;
    }
    Question *y = &q->v[id - 1];
    y->count += x->count;
    y->seconds += x->seconds;
    y->share = fmax(y->share, x->share);
    y->from = names_joined(a, y->from, x->from);
    if (x->most > y->most) y->most = x->most, y->at = arena_string(a, x->at, strlen(x->at));
}

void questions_join(Questions *q, const Questions *of_source) {
    double most = 0;
    for (int k = 0; k < of_source->n; k++) most = fmax(most, of_source->v[k].seconds);
    for (int k = 0; k < of_source->n; k++) {
        Question x = of_source->v[k];
        x.share = most > 0 ? x.seconds / most : 0;
        questions_add(q, &x);
    }
}

static int slower_first(const void *x, const void *y) {
    const Question *a = x, *b = y;
    size_t n = strlen(a->graph), m = strlen(b->graph);
    return a->share != b->share       ? (a->share < b->share) - (a->share > b->share)
           : a->seconds != b->seconds ? (a->seconds < b->seconds) - (a->seconds > b->seconds)
           : n != m                   ? (n > m) - (n < m)
                                      : strcmp(a->id, b->id);
}
void questions_sort(Questions *q) {
    if (q->n) qsort(q->v, (size_t)q->n, sizeof *q->v, slower_first);
    q->ids = intern_new(q->arena); /* numbers of questions follow the new order */
    for (int k = 0; k < q->n; k++) intern_put(q->ids, q->v[k].graph, strlen(q->v[k].graph));
}

void question_print(const Question *q, Text *out) {
    text_add(out, "question %s count=%lld seconds=%.9g most=%.9g from=%s\nat %s\n%s", q->id,
             (long long)q->count, q->seconds, q->most, *q->from ? q->from : "-", q->at, q->graph);
}

/* ---- reading */

typedef struct Lines {
    const char *path, *at;
    int line; /* line number of `at`, from 1 */
    Arena *arena;
    Error *error;
} Lines;

static const char *take_line(Lines *l) {
    size_t n = strcspn(l->at, "\n");
    const char *line = arena_string(l->arena, l->at, n);
    l->at += n + (l->at[n] == '\n');
    l->line++;
    return line;
}

static bool wrong(const Lines *l, const char *what) {
    return error_at(l->error, E_INVALID, l->path, l->line - 1, 1, "%s", what);
}

static bool read_question(Lines *l, Question *x) {
    char from[4000] = "";
    long long count;
    int n = 0;
    const char *line = take_line(l);
    *x = (Question){.from = ""};
    if (sscanf(line, "question %16s count=%lld seconds=%lf most=%lf from=%3999s%n", x->id, &count,
               &x->seconds, &x->most, from, &n) != 5 ||
        line[n] || count < 1)
        return wrong(l, "expected 'question ID count=N seconds=S most=S from=MODEL,..'");
    x->count = count;
    x->from = strcmp(from, "-") ? arena_string(l->arena, from, strlen(from)) : "";
    line = take_line(l);
    if (strncmp(line, "at", 2) || (line[2] && line[2] != ' '))
        return wrong(l, "expected 'at', and the sizes where the question was asked: at a=1 b=64");
    x->at = line + 2 + (line[2] == ' ');
    Text graph = text_new(l->arena);
    while (*l->at && strncmp(l->at, "question ", 9)) text_add(&graph, "%s\n", take_line(l));
    if (strncmp(graph.size ? graph.data : "", "graph ", 6))
        return wrong(l, "expected the question's graph: graph NAME, inputs, body, lines");
    x->graph = graph.data;
    return true;
}

bool questions_read(Questions *q, const char *path, Error *e) {
    char *data;
    size_t n;
    if (!file_read(q->arena, path, &data, &n, e)) return false;
    Lines l = {path, data, 1, q->arena, e};
    while (*l.at) {
        Question x;
        if (*l.at == '#' || *l.at == '\n') {
            take_line(&l);
            continue;
        }
        if (!read_question(&l, &x)) return false;
        questions_add(q, &x);
    }
    return true;
}
