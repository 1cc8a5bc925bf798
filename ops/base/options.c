/* options.c -- parses a command line and prints the help, both from the table of options alone.

   The value of an option is the next argument, or follows "=" (--steps=N) or the letter (-nVALUE).
   A value that may be left out (when_bare) is never the next argument, as that would be ambiguous.
   Letters of options without a value may be joined (-vvq). Texts are not copied: they point into
   argv. */
#include "ops/base/options.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HELP_WIDTH = 100, HELP_COLUMN = 30 };
#define ANY 1e12 /* ranges up to this number are described by their lower end only */

typedef struct Parse {
    Arena *arena;
    const OptionDef *table;
    void *options;  /* the program's struct of options */
    int argc, next; /* argv[next] is the next argument to look at */
    char *const *argv;
    Error *error;
} Parse;

static bool is_last(const OptionDef *o) { return !o->name && o->kind != OPT_HEAD; }

static bool has_value(const OptionDef *o) { return o->kind != OPT_FLAG && o->kind != OPT_COUNT; }

static bool is_text(const char *text, const char *name, size_t n) {
    return text && strlen(text) == n && memcmp(text, name, n) == 0;
}
static const OptionDef *find_name(const OptionDef *o, const char *name, size_t n) {
    for (; !is_last(o); o++)
        if (o->kind != OPT_HEAD && (is_text(o->name, name, n) || is_text(o->old_name, name, n)))
            return o;
    return NULL;
}

static const OptionDef *find_letter(const OptionDef *o, char letter) {
    for (; !is_last(o); o++)
        if (o->kind != OPT_HEAD && o->letter == letter) return o;
    return NULL;
}

static bool option_fail(Arena *a, Error *e, const OptionDef *o, const char *what,
                        const char *text) {
    return error_set(e, E_USAGE, arena_format(a, "--%s", o->name), "%s, not \"%s\"", what, text);
}

static const char *value_name(const OptionDef *o) { return o->value ? o->value : "VALUE"; }

/* Lists words separated by bars as "one, two or three". */
static const char *list_words(Arena *a, const char *value) {
    Text t = text_new(a);
    for (size_t n; *value; value += n + (value[n] == '|')) {
        n = strcspn(value, "|");
        text_add(&t, !t.size ? "%.*s" : value[n] ? ", %.*s" : " or %.*s", (int)n, value);
    }
    return t.data;
}

/* Says what an option expects, for messages. */
static const char *expected(Arena *a, const OptionDef *o) {
    if (o->kind == OPT_WORD) return arena_format(a, "expects %s", list_words(a, o->value));
    const char *kind = o->kind == OPT_INT ? "an integer" : "a number";
    if (o->least == 0 && o->most == 0) return arena_format(a, "expects %s", kind);
    if (o->most >= ANY) return arena_format(a, "expects %s of at least %.15g", kind, o->least);
    return arena_format(a, "expects %s from %.15g to %.15g", kind, o->least, o->most);
}

static bool in_range(const OptionDef *o, double x) {
    return (o->least == 0 && o->most == 0) || (x >= o->least && x <= o->most);
}

static bool is_word(const OptionDef *o, const char *text) {
    size_t length = strlen(text);
    const char *value = o->value;
    for (size_t n; *value; value += n + (value[n] == '|')) {
        n = strcspn(value, "|");
        if (n == length && !memcmp(value, text, n)) return true;
    }
    return false;
}

static void *value_at(const OptionDef *o, void *options) { return (char *)options + o->at; }

static void put_flag(const OptionDef *o, void *options, bool flag) {
    if (o->is_int) *(int *)value_at(o, options) = flag;
    else *(bool *)value_at(o, options) = flag;
}

static void put_integer(const OptionDef *o, void *options, int64_t i) {
    if (o->is_int) *(int *)value_at(o, options) = (int)i;
    else *(int64_t *)value_at(o, options) = i;
}

/* Stores a number. It is read by the scanner of text.h, which does not depend on the locale. */
static bool put_number(Parse *p, const OptionDef *o, const char *text) {
    Error ignored = {0};
    Scan s = scan_new("", text, strlen(text), &ignored);
    int64_t i = 0;
    double x = 0;
    bool ok = o->kind == OPT_INT ? scan_int(&s, &i) : scan_real(&s, &x);
    if (o->kind == OPT_INT) x = (double)i;
    if (!ok || s.at != s.end || text[0] == ' ' || isnan(x) || !in_range(o, x))
        return option_fail(p->arena, p->error, o, expected(p->arena, o), text);
    if (o->kind == OPT_INT) put_integer(o, p->options, i);
    else *(double *)value_at(o, p->options) = x;
    return true;
}

static void list_append(Arena *a, StringList *list, const char *text) {
    ARENA_APPEND(a, list->v, list->n, text);
}

/* Stores the value of an option; text is NULL for an option without a value. */
static bool option_set(Parse *p, const OptionDef *o, const char *text) {
    void *at = value_at(o, p->options);
    switch (o->kind) {
    case OPT_FLAG: put_flag(o, p->options, true); return true;
    case OPT_COUNT: ++*(int *)at; return true;
    case OPT_INT:
    case OPT_REAL: return put_number(p, o, text);
    case OPT_TEXT: *(const char **)at = text; return true;
    case OPT_WORD:
        *(const char **)at = text;
        return option_valid(p->arena, o, p->options, p->error);
    case OPT_LIST: list_append(p->arena, at, text); return true;
    case OPT_HEAD: break;
    }
    return false;
}

/* Whether the next argument is a number, probably meant as the value of an option that takes its
   value only joined; it would silently be taken for a file. */
static bool is_detached(const Parse *p, const OptionDef *o) {
    if (p->next >= p->argc || (o->kind != OPT_INT && o->kind != OPT_REAL)) return false;
    const char *text = p->argv[p->next];
    return *text && text[strspn(text, "0123456789")] == 0;
}
/* Takes the option's value. `joined` is the text after "=" or after the letter, or NULL. */
static bool take_value(Parse *p, const OptionDef *o, const char *joined) {
    if (joined) return option_set(p, o, joined);
    if (o->when_bare && is_detached(p, o))
        return error_set(p->error, E_USAGE, arena_format(p->arena, "--%s", o->name),
                         "its value is joined to it: --%s=%s; a file of this name is ./%s", o->name,
                         p->argv[p->next], p->argv[p->next]);
    if (o->when_bare) return option_set(p, o, o->when_bare);
    if (p->next < p->argc) return option_set(p, o, p->argv[p->next++]);
    return error_set(p->error, E_USAGE, arena_format(p->arena, "--%s", o->name),
                     "expects a value: --%s %s", o->name, value_name(o));
}

static bool parse_long(Parse *p, const char *arg) {
    size_t n = strcspn(arg + 2, "=");
    const OptionDef *o = find_name(p->table, arg + 2, n);
    const char *joined = arg[2 + n] ? arg + 2 + n + 1 : NULL;
    if (!o)
        return error_set(p->error, E_USAGE, arena_string(p->arena, arg, 2 + n),
                         "unknown option; --help lists all options");
    if (has_value(o)) return take_value(p, o, joined);
    return joined ? option_fail(p->arena, p->error, o, "expects no value", joined)
                  : option_set(p, o, NULL);
}

static bool parse_letters(Parse *p, const char *arg) {
    for (const char *c = arg + 1; *c; c++) {
        const OptionDef *o = find_letter(p->table, *c);
        if (!o)
            return error_set(p->error, E_USAGE, arg, "unknown option -%c; --help lists all options",
                             *c);
        if (has_value(o)) return take_value(p, o, !c[1] ? NULL : c[1] == '=' ? c + 2 : c + 1);
        if (!option_set(p, o, NULL)) return false;
    }
    return true;
}

static void set_default(const OptionDef *o, void *options) {
    void *at = value_at(o, options);
    switch (o->kind) {
    case OPT_FLAG: put_flag(o, options, o->default_value > 0); break;
    case OPT_COUNT: *(int *)at = (int)o->default_value; break;
    case OPT_INT: put_integer(o, options, (int64_t)o->default_value); break;
    case OPT_REAL: *(double *)at = o->default_value; break;
    case OPT_TEXT:
    case OPT_WORD: *(const char **)at = o->default_text; break;
    case OPT_LIST: *(StringList *)at = (StringList){0}; break;
    case OPT_HEAD: break;
    }
}

void options_defaults(const OptionDef *o, void *options) {
    for (; !is_last(o); o++) set_default(o, options);
}

/* The value of an option that is a number. */
static double number_at(const OptionDef *o, const void *options) {
    const void *at = (const char *)options + o->at;
    if (o->kind == OPT_REAL) return *(const double *)at;
    return o->is_int ? *(const int *)at : (double)*(const int64_t *)at;
}
bool option_unset(const OptionDef *o, const void *options, const void *defaults) {
    const bool number = o->kind == OPT_INT || o->kind == OPT_REAL;
    return number && number_at(o, options) < 0 && number_at(o, defaults) < 0;
}

bool option_valid(Arena *a, const OptionDef *o, const void *options, Error *e) {
    const void *at = (const char *)options + o->at;
    if (o->kind == OPT_WORD) {
        const char *word = *(const char *const *)at;
        return !word || is_word(o, word) || option_fail(a, e, o, expected(a, o), word);
    }
    if (o->kind != OPT_INT && o->kind != OPT_REAL) return true;
    const double x = number_at(o, options);
    return (!isnan(x) && in_range(o, x)) ||
           option_fail(a, e, o, expected(a, o), arena_format(a, "%.17g", x));
}

bool options_parse(Arena *arena, const OptionDef *table, void *options, int argc,
                   char *const argv[], StringList *rest, Error *error) {
    Parse p = {arena, table, options, argc, 1, argv, error};
    bool more = true; /* options may follow; false after "--" */
    options_defaults(table, options);
    *rest = (StringList){0};
    while (p.next < argc) {
        const char *arg = argv[p.next++];
        if (!more || arg[0] != '-' || !arg[1]) list_append(arena, rest, arg);
        else if (strcmp(arg, "--") == 0) more = false;
        else if (!(arg[1] == '-' ? parse_long(&p, arg) : parse_letters(&p, arg))) return false;
    }
    return true;
}

/* ---- help */

static void pad(Text *t, size_t from, size_t to) {
    while (from++ < to) text_bytes(t, " ", 1);
}

/* Adds words in lines of at most HELP_WIDTH columns. `column` is the current column of the text;
   every line starts at column `from`. */
static void add_wrapped(Text *t, size_t column, size_t from, const char *words) {
    bool first = true;
    while (*words) {
        size_t n = strcspn(words, " ");
        if (first || column + 1 + n > HELP_WIDTH) {
            if (!first || (from && column + 2 > from)) {
                text_bytes(t, "\n", 1);
                column = 0;
            }
            pad(t, column, from);
            column = from;
        } else {
            text_bytes(t, " ", 1);
            column++;
        }
        text_bytes(t, words, n);
        column += n;
        words += n;
        words += strspn(words, " ");
        first = false;
    }
}

static void add_option(Text *t, const OptionDef *o) {
    size_t start = t->size;
    if (o->letter) text_add(t, "  -%c, --%s", o->letter, o->name);
    else text_add(t, "      --%s", o->name);
    if (has_value(o)) text_add(t, o->when_bare ? "[=%s]" : " %s", value_name(o));
    add_wrapped(t, t->size - start, HELP_COLUMN, o->help);
    text_bytes(t, "\n", 1);
}

bool option_bytes(const char *name, const char *text, size_t *bytes, Error *e) {
    double v = 0;
    Error ignored = {0};
    *bytes = 0;
    if (!text) return true;
    const size_t number = strspn(text, "0123456789.eE+-");
    const char *unit = strchr("KMG", text[number]); /* also finds the text's end */
    Scan s = scan_new("", text, number, &ignored);
    bool good = unit && (!*unit || !text[number + 1]) && scan_real(&s, &v) && s.at == s.end;
    for (const char *p = "KMG"; good && *unit && p <= unit; p++) v *= 1024;
    good = good && v >= 1 && v < 1e15;
    if (good) *bytes = (size_t)v;
    return good ||
           error_set(e, E_USAGE, name, "expects a size such as 500M or 8G, not \"%s\"", text);
}

bool option_shard(const char *text, const char *folder, int *shard, int *nshard, Error *e) {
    int end = 0;
    if (!text) return true;
    if (sscanf(text, "%d/%d%n", shard, nshard, &end) != 2 || text[end] || *shard < 0 ||
        *shard >= *nshard)
        return error_set(e, E_USAGE, "--shard", "expects I/N with 0 <= I < N, not \"%s\"", text);
    return folder || error_set(e, E_USAGE, "--shard", "shards need a common folder: --resume DIR");
}

void options_help(Text *t, const char *usage, const char *summary, const OptionDef *table) {
    text_add(t, "usage: %s\n", usage);
    add_wrapped(t, 0, 0, summary);
    text_bytes(t, "\n", 1);
    if (!is_last(table) && table->kind != OPT_HEAD) text_add(t, "\n");
    for (const OptionDef *o = table; !is_last(o); o++) {
        if (o->kind == OPT_HEAD) text_add(t, "\n%s\n", o->help);
        else if (o->help) add_option(t, o);
    }
}
