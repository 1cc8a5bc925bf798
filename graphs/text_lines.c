/* text_lines.c -- parses node lines such as "%a %b = split %x axis=1 sizes=[2, 4]". A newline ends
   a line, because nothing else separates its inputs from the results of the next line. A block ends
   with its line `out`. Parsed lines only name values and operators; text_build.c makes nodes of
   them once the inputs have types. */
#include "graphs/text_constant.h"
#include <ctype.h>
#include <string.h>

enum { NAMES_MAX = 4096 };

static bool name_letter(const Scan *s, const char *p) {
    if (p >= s->end) return false;
    if (isalnum((unsigned char)*p) || *p == '_') return true;
    return (*p == '.' || *p == '-') && p + 1 < s->end && isalnum((unsigned char)p[1]);
}

bool value_parse(Scan *s, Arena *a, const char **name) {
    scan_blank(s);
    if (s->at >= s->end || *s->at != '%') return false;
    const char *start = s->at++, *at = s->at;
    if (at < s->end && *at == '"') {
        Text t = text_new(a);
        if (!scan_string(s, &t)) return false;
        *name = t.data ? t.data : "";
        return true;
    }
    while (name_letter(s, s->at)) s->at++;
    if (s->at == at) return scan_fail(s, start, "a value's name is missing after %%");
    *name = arena_string(a, at, (size_t)(s->at - at));
    return true;
}

void value_print(const char *name, Text *t) {
    Scan s = {.at = name, .end = name + strlen(name)};
    const char *p = name;
    while (name_letter(&s, p)) p++;
    if (p == s.end && p > name) {
        text_add(t, "%%%s", name);
        return;
    }
    text_add(t, "%%");
    text_string(t, name);
}

static bool scan_failed(const Scan *s) { return s->error && s->error->kind; }

static bool values_parse(Scan *s, Arena *a, bool blanks, int *n, const char ***list) {
    const char *name, **v = NULL;
    for (int room = *n = 0;; v[(*n)++] = name) {
        if (blanks && scan_word(s, "_")) name = NULL;
        else if (!value_parse(s, a, &name)) break;
        if (*n == NAMES_MAX)
            return scan_fail(s, s->at, "more than %d names in one line", NAMES_MAX);
        ARENA_GROW(a, v, room, *n + 1);
    }
    *list = v;
    return !scan_failed(s);
}

static bool word_of(const AttrDef *def, const char *name, int *word) {
    size_t n = strlen(name);
    *word = 0;
    for (const char *p = def->words; p && *p; (*word)++) {
        size_t length = strcspn(p, " ");
        if (length == n && !memcmp(p, name, n)) return true;
        p += length + strspn(p + length, " ");
    }
    return false;
}

/* Parses a variable: a bare name where a list, a word or an element type is expected, and no word
   or type of that name exists. */
static bool variable_parse(Scan *s, Arena *a, const AttrDef *def, const char **variable) {
    char name[128];
    const char *start = s->at;
    int word;
    *variable = NULL;
    if (def->kind != A_INTS && def->kind != A_ENUM && def->kind != A_DTYPE) return false;
    if (!scan_name(s, name, sizeof name)) return false;
    if ((def->kind == A_ENUM && word_of(def, name, &word)) ||
        (def->kind == A_DTYPE && dtype_parse(name))) {
        s->at = start;
        return false;
    }
    *variable = arena_string(a, name, strlen(name));
    return true;
}

static bool attr_value(World *w, Arena *a, Scan *s, const AttrDef *def, LineAttr *out) {
    const void *bytes;
    size_t n;
    if (variable_parse(s, a, def, &out->variable)) return true;
    if (def->kind != A_BLOB)
        return attr_parse(w, s, def, &out->value) ||
               (!scan_failed(s) && scan_fail(s, s->at, "expected a value for %s", def->name));
    if (!hex_parse(s, w->arena, &bytes, &n))
        return scan_failed(s) ? false : scan_fail(s, s->at, "%s expects hex\"..\"", def->name);
    out->value.blob = blob_put(w, bytes, n);
    return true;
}

/* Reports an attribute that the operator does not have, and says which ones it has. */
static bool unknown_attribute(Arena *a, Scan *s, const char *at, const Op *op, const char *name) {
    Text all = text_new(a);
    for (int k = 0; k < attrs_count(op->attrs); k++)
        text_add(&all, "%s%s", k ? ", " : "", op->attrs[k].name);
    return scan_fail(s, at, "%s has no attribute %s%s%s", op->name, name,
                     all.size ? "; it has " : "; it has none", all.size ? all.data : "");
}
static bool attrs_parse(World *w, Arena *a, Scan *s, NodeLine *l) {
    LineAttr list[ATTRS_MAX];
    char name[128];
    memset(list, 0, sizeof list);
    for (const char *at = (scan_blank(s), s->at); scan_name(s, name, sizeof name);
         at = (scan_blank(s), s->at)) {
        int def = attrs_find(l->op->attrs, name);
        if (def < 0) return unknown_attribute(a, s, at, l->op, name);
        for (int k = 0; k < l->nattr; k++)
            if (list[k].def == def) return scan_fail(s, at, "%s is given twice", name);
        if (!scan_char(s, '=')) return scan_fail(s, s->at, "expected = after %s", name);
        list[l->nattr].def = def;
        if (!attr_value(w, a, s, &l->op->attrs[def], &list[l->nattr++])) return false;
    }
    l->attr = arena_copy(a, list, (size_t)l->nattr * sizeof *list);
    return !scan_failed(s);
}

/* Parses a condition before a line: "[bias, causal=yes]". */
static bool condition_parse(Arena *a, Scan *s, const char **when) {
    if (!scan_char(s, '[')) return true;
    const char *start = s->at;
    while (s->at < s->end && *s->at != ']' && *s->at != '\n') s->at++;
    *when = arena_string(a, start, (size_t)(s->at - start));
    return scan_char(s, ']') || scan_fail(s, s->at, "expected ]");
}

/* The edit distance of two names: the number of letters to insert, delete or change; `most` + 1 if
   it exceeds `most`. */
static int letters_between(const char *a, const char *b, int most) {
    while (*a && *a == *b) a++, b++;
    if (!*a && !*b) return 0;
    if (most == 0) return 1;
    int least = most;
    for (int k = 0; k < 3; k++) { /* change, delete, insert */
        const bool from_a = k != 2, from_b = k != 1;
        if ((from_a && !*a) || (from_b && !*b)) continue;
        const int rest = letters_between(a + from_a, b + from_b, most - 1);
        if (rest < least) least = rest;
    }
    return 1 + least;
}
/* Reports an unknown operator and suggests one with a similar name. */
static bool unknown_operator(Scan *s, const char *at, const char *name) {
    enum { FEW = 2 };
    const char *near = NULL;
    int least = FEW + 1;
    for (int k = 0; k < op_count(); k++) {
        const int n = letters_between(name, op_at(k)->name, FEW);
        if (n < least && n < (int)strlen(name)) least = n, near = op_at(k)->name;
    }
    if (!near) return scan_fail(s, at, "unknown operator \"%s\"", name);
    return scan_fail(s, at, "unknown operator \"%s\"; did you mean \"%s\"?", name, near);
}

static bool line_parse(World *w, Arena *a, Scan *s, NodeLine *l) {
    char name[128];
    l->at = s->at;
    if (!condition_parse(a, s, &l->when)) return false;
    if (!values_parse(s, a, false, &l->nout, &l->out)) return false;
    if (!l->nout) return scan_fail(s, s->at, "expected a line %%y = operator .. or out %%y ..");
    if (!scan_char(s, '=')) return scan_fail(s, s->at, "expected =");
    scan_blank(s);
    const char *at = s->at;
    if (l->when && at < s->end && *at == '%') return values_parse(s, a, false, &l->nin, &l->in);
    if (!scan_name(s, name, sizeof name)) return scan_fail(s, at, "expected an operator");
    if (!(l->op = op_find(name))) return unknown_operator(s, at, name);
    if (l->op == &op_constant) return constant_parse(w, a, s, &l->constant);
    return values_parse(s, a, true, &l->nin, &l->in) && attrs_parse(w, a, s, l);
}

static void skip_lines(Scan *s) {
    do scan_blank(s);
    while (scan_char(s, '\n'));
}

static bool line_end(Scan *s) {
    scan_blank(s);
    return s->at >= s->end || scan_char(s, '\n') ||
           scan_fail(s, s->at, "unexpected text at the end of the line");
}

static bool block_parse(World *w, Arena *a, Scan *s, LineList *out) {
    int room = 0;
    for (skip_lines(s); !scan_word(s, "out"); skip_lines(s)) {
        if (s->at >= s->end)
            return scan_fail(s, s->at, "expected a line out %%y .. at the end of the node lines");
        ARENA_GROW(a, out->v, room, out->n + 1);
        if (!line_parse(w, a, s, &out->v[out->n++]) || !line_end(s)) return false;
    }
    return values_parse(s, a, false, &out->nout, &out->out) && line_end(s);
}

bool lines_parse(World *w, Arena *a, Scan *s, LineList *out) {
    bool lines = s->lines;
    s->lines = true;
    *out = (LineList){.text = *s};
    bool done = block_parse(w, a, s, out);
    s->lines = lines;
    return done;
}

bool graph_parse_nodes(World *w, Arena *a, Scan *s, Names *names, Value **out, int *nout,
                       Error *e) {
    LineList l;
    if (!s->error) s->error = e;
    if (!lines_parse(w, a, s, &l)) return false;
    if (nout) *nout = l.nout;
    return lines_build(w, a, &l, NULL, names, out, e);
}

bool graph_parse_inputs(World *w, Arena *a, Scan *s, Names *names, Value **in, int *nin) {
    const char *name;
    int room = *nin = 0;
    *in = NULL;
    for (const char *at = (scan_blank(s), s->at); value_parse(s, a, &name);
         at = (scan_blank(s), s->at)) {
        Type t;
        if (names_has(names, name)) return scan_fail(s, at, "%%%s is already defined", name);
        if (!scan_char(s, ':')) return scan_fail(s, s->at, "expected : after %%%s", name);
        if (!type_parse(w, s, &t))
            return scan_failed(s) ? false : scan_fail(s, s->at, "expected a type");
        ARENA_GROW(a, *in, room, *nin + 1);
        names_set(names, name, (*in)[(*nin)++] = graph_input(w, name, &t));
    }
    return !scan_failed(s);
}
