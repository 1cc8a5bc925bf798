/* trace.c -- records the steps of a proof and the questions on which it rests (trace.h). */
#include "verifier/trace.h"
#include "ops/base/intern.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Longer lines are cut off. */
enum { LINE_MAX_BYTES = 4000 };

void trace_end(Trace *t) {
    if (!t) return;
    intern_free(t->said);
    intern_free(t->named);
    t->said = t->named = NULL;
}
void trace_stage(Trace *t, const char *stage) {
    if (!t) return;
    trace_end(t);
    t->stage = stage;
    if (trace_reads(t)) text_add(t->words, "  %s\n", stage);
}
bool trace_reads(const Trace *t) { return t && t->words; }
bool trace_collects(const Trace *t) { return t && t->collect; }
void trace_line(Trace *t, const char *format, ...) {
    char line[LINE_MAX_BYTES];
    va_list args;
    if (!trace_reads(t)) return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (!t->said) t->said = intern_new(t->arena);
    if (intern_find(t->said, line, strlen(line))) return;
    intern_put(t->said, line, strlen(line));
    text_add(t->words, "    %s\n", line);
}

/* ---- names of constants */

/* Renames the constants of a question in order of appearance, so that equal questions have equal
   text. */
typedef struct Naming {
    Intern *seen;       /* the names that Z3 prints: Trace.named */
    int n[3];           /* how many there are of each kind */
    const char *number; /* the sort of numbers: Int or Real */
    Text head, body, legend;
    TraceName name;
    void *user;
    Arena *arena;
    char (*given)[16]; /* by number in `seen`: the new name */
    int room;
} Naming;
/* Recognizes a constant by its name: 0 is a variable (k!5), 1 a product that stands for one number
   (*5), 2 a truth value (here!5); -1 is none. */
static int constant_kind(const char *at, size_t n) {
    if (n > 2 && !memcmp(at, "k!", 2)) return 0;
    if (n > 1 && at[0] == '*' && isdigit((unsigned char)at[1])) return 1;
    return n > 5 && !memcmp(at, "here!", 5) ? 2 : -1;
}
static const char *name_constant(Naming *g, const char *at, size_t n, int kind) {
    uint32_t id = intern_find(g->seen, at, n);
    if (id) return g->given[id];
    id = intern_put(g->seen, at, n);
    ARENA_GROW(g->arena, g->given, g->room, (int)id + 1);
    snprintf(g->given[id], sizeof *g->given, "%c%d", "xpc"[kind], ++g->n[kind]);
    text_add(&g->head, "(declare-fun %s () %s)\n", g->given[id], kind == 2 ? "Bool" : g->number);
    const char *meaning = g->name(g->user, arena_string(g->arena, at, n));
    if (meaning) text_add(&g->legend, "; %s: %s\n", g->given[id], meaning);
    return g->given[id];
}
static void rename_constants(Naming *g, const char *text) {
    while (*text) {
        size_t n = strcspn(text, "() \t\n"), blank = strspn(text + n, "() \t\n");
        int kind = constant_kind(text, n);
        if (kind < 0) text_bytes(&g->body, text, n);
        else text_add(&g->body, "%s", name_constant(g, text, n, kind));
        text_bytes(&g->body, text + n, blank);
        text += n + blank;
    }
}

static bool is_known(const Trace *t, const Obligation *o) {
    for (int k = t->since; k < t->n; k++)
        if (!strcmp(t->v[k].digest, o->digest)) return true;
    return false;
}
void trace_obligation(Trace *t, const char *logic, const char *asserted, const char *purpose,
                      TraceName name, void *user) {
    if (!trace_collects(t)) return;
    t->named = intern_new(t->arena);
    Naming g = {.seen = t->named,
                .head = text_new(t->arena),
                .body = text_new(t->arena),
                .legend = text_new(t->arena),
                .name = name,
                .user = user,
                .arena = t->arena};
    Obligation o;
    Text all = text_new(t->arena);
    g.number = strcmp(logic, "QF_NRA") ? "Int" : "Real";
    text_add(&g.head, "(set-logic %s)\n(set-info :status unsat)\n", logic);
    rename_constants(&g, asserted);
    text_add(&g.head, "%s(check-sat)\n", g.body.data);
    snprintf(o.digest, sizeof o.digest, "%016llx",
             (unsigned long long)hash_bytes(g.head.data, g.head.size));
    o.purpose = arena_format(t->arena, "%s%s%s: %s", t->of, *t->of ? ", " : "", t->stage, purpose);
    text_add(&all, "; %s\n%s%s", o.purpose, g.legend.data ? g.legend.data : "", g.head.data);
    o.text = all.data;
    intern_free(t->named);
    t->named = NULL;
    trace_line(t, "Z3 %s: %s", o.digest, purpose);
    if (is_known(t, &o)) return;
    ARENA_GROW(t->arena, t->v, t->room, t->n + 1);
    t->v[t->n++] = o;
}
