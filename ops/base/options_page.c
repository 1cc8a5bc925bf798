/* options_page.c -- turns a table of options into a manual page (man(7)) or into completions for
   bash and zsh.

   The name of an option's value tells what can be completed: words in lower case are literal
   values, names that contain FILE, LOG or RULES are files, DIR is a folder. */
#include "ops/base/intern.h"
#include "ops/base/options.h"
#include <string.h>
#include <unistd.h>

static bool is_last(const OptionDef *o) { return !o->name && o->kind != OPT_HEAD; }
static bool is_shown(const OptionDef *o) { return o->kind != OPT_HEAD && o->help; }
static bool has_value(const OptionDef *o) { return o->kind != OPT_FLAG && o->kind != OPT_COUNT; }
static const char *value_of(const OptionDef *o) { return o->value ? o->value : "VALUE"; }

/* ---- manual page */

/* Escapes a text for roff: hyphens become minus signs, so that options can be copied from the page,
   and no line starts with a request. */
static void add_roff(Text *t, const char *s) {
    bool start = !t->size || t->data[t->size - 1] == '\n';
    if (start && (*s == '.' || *s == '\'')) text_add(t, "\\&");
    for (; *s; s++) {
        if (*s == '\\') text_add(t, "\\e");
        else if (*s == '-') text_add(t, "\\-");
        else text_bytes(t, s, 1);
    }
}

/* Adds paragraphs; lines that begin with two spaces are not filled. */
static void add_paragraphs(Text *t, const char *s) {
    bool raw = false;
    for (; *s; s += strcspn(s, "\n"), s += *s == '\n') {
        size_t n = strcspn(s, "\n");
        bool indented = n > 2 && !strncmp(s, "  ", 2);
        if (indented != raw) text_add(t, indented ? ".PP\n.nf\n" : ".fi\n.PP\n");
        raw = indented;
        if (!n) text_add(t, ".PP\n");
        else
            add_roff(t, arena_string(t->arena, s + (raw ? 2 : 0), n - (raw ? 2 : 0))),
                text_add(t, "\n");
    }
    if (raw) text_add(t, ".fi\n");
}

static void man_option(Text *t, const OptionDef *o) {
    text_add(t, ".TP\n");
    if (o->letter) text_add(t, "\\fB\\-%c\\fR, ", o->letter);
    text_add(t, "\\fB\\-\\-");
    add_roff(t, o->name);
    text_add(t, "\\fR");
    if (has_value(o)) {
        text_add(t, o->when_bare ? "[=\\fI" : " \\fI");
        add_roff(t, value_of(o));
        text_add(t, o->when_bare ? "\\fR]" : "\\fR");
    }
    text_add(t, "\n");
    add_roff(t, o->help);
    text_add(t, "\n");
}

static void man_exit_status(Text *t) {
    static const struct {
        int code;
        const char *meaning;
    } kinds[] = {
#define X(id, code, word, meaning) {code, meaning},
        ERROR_KINDS(X)
#undef X
    };
    text_add(t, ".SH EXIT STATUS\n");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (kinds[k].meaning) text_add(t, ".TP\n%d\n%s\n", kinds[k].code, kinds[k].meaning);
}

/* The environment variables that programs read, with the names of these programs. */
static const struct {
    const char *name, *programs, *meaning;
} variables[] = {
    {"ISOMER_VENV", "optimize-model",
     "The Python virtual environment in which ONNX Runtime is looked for. Default: .venv in the "
     "project's folder; without one, the python3 on the PATH."},
    {"XDG_CACHE_HOME", "optimize-model run-model",
     "The folder of isomer/costs.sqlite, the file of measured times. Default: ~/.cache."},
    {"XDG_DATA_HOME", "optimize-model",
     "The folder of isomer/rules, where rules that were discovered are kept. Default: "
     "~/.local/share."},
    {"ISOMER_CPU", "discover-rules generate-rules generate-rules-mpi optimize-model run-model",
     "If it is generic, portable code runs, whatever the processor supports."},
    {"TMPDIR", "generate-rules generate-rules-mpi optimize-model",
     "The folder for files that exist only during a run. Default: /tmp."},
};
static void man_environment(Text *t, const char *program) {
    bool any = false;
    for (size_t k = 0; k < sizeof variables / sizeof *variables; k++) {
        if (!strstr(variables[k].programs, program)) continue;
        text_add(t, "%s.TP\n\\fB", any ? "" : ".SH ENVIRONMENT\n");
        add_roff(t, variables[k].name);
        text_add(t, "\\fR\n");
        add_roff(t, variables[k].meaning);
        text_add(t, "\n");
        any = true;
    }
}

static void man_others(Text *t, const char *name) {
    static const char *const programs[] = {"compare-rules",  "discover-rules", "export-rules",
                                           "generate-rules", "optimize-model", "run-model",
                                           "verify-rules"};
    const char *before = "";
    text_add(t, ".SH SEE ALSO\n");
    for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
        if (!strcmp(programs[k], name)) continue;
        text_add(t, "%s\\fB", before);
        add_roff(t, programs[k]);
        text_add(t, "\\fR(1)");
        before = ",\n";
    }
    text_add(t, "\n");
}

/* The first sentence of the summary without its full stop, as it is shown after the program's
   name. */
static const char *short_summary(Arena *a, const char *summary) {
    const char *end = strstr(summary, ". ");
    size_t n = end ? (size_t)(end - summary) : strlen(summary);
    return arena_string(a, summary, n && summary[n - 1] == '.' ? n - 1 : n);
}

static void man_page(Text *t, const ProgramText *p, const OptionDef *table) {
    text_add(t,
             ".\\\" made from the program's table of options\n.TH %s 1 %s \"isomer %s\" \"User "
             "Commands\"\n.SH NAME\n",
             p->name, ISOMER_DATE, ISOMER_VERSION);
    add_roff(t, p->name);
    text_add(t, " \\- ");
    add_roff(t, short_summary(t->arena, p->summary));
    text_add(t, "\n.SH SYNOPSIS\n.nf\n\\fB");
    add_roff(t, p->name);
    text_add(t, "\\fR");
    add_roff(t, p->usage + strlen(p->name));
    text_add(t, "\n.fi\n.SH DESCRIPTION\n");
    add_roff(t, p->summary);
    text_add(t, "\n");
    if (p->more) text_add(t, ".PP\n"), add_paragraphs(t, p->more);
    text_add(t, ".SH OPTIONS\n");
    for (const OptionDef *o = table; !is_last(o); o++) {
        if (is_shown(o)) man_option(t, o);
        if (o->kind == OPT_HEAD) text_add(t, ".SS "), add_roff(t, o->help), text_add(t, "\n");
    }
    man_exit_status(t);
    man_environment(t, p->name);
    man_others(t, p->name);
}

/* ---- completion */

/* The literal words among the values separated by bars, separated by blanks. */
static const char *words_of(Arena *a, const char *value) {
    Text t = text_new(a);
    while (*value) {
        size_t n = strcspn(value, "|");
        if (strspn(value, "abcdefghijklmnopqrstuvwxyz-0123456789") >= n && n)
            text_add(&t, t.size ? " %.*s" : "%.*s", (int)n, value);
        value += n + (value[n] == '|');
    }
    return t.data;
}

static bool takes_file(const char *value) {
    static const char *const files[] = {"FILE", "LOG", "DIR", "RULES"};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++)
        if (strstr(value, files[k])) return true;
    return false;
}

static void bash_value(Text *t, const OptionDef *o) {
    const char *words = words_of(t->arena, value_of(o));
    if (o->letter) text_add(t, "    -%c|--%s)", o->letter, o->name);
    else text_add(t, "    --%s)", o->name);
    if (*words) text_add(t, " COMPREPLY=($(compgen -W \"%s\" -- \"$word\"))", words);
    if (takes_file(value_of(o)))
        text_add(t, "%s COMPREPLY+=($(compgen -f -- \"$word\"))", *words ? ";" : "");
    text_add(t, "%s return ;;\n", *words || takes_file(value_of(o)) ? ";" : "");
}

static void bash(Text *t, const ProgramText *p, const OptionDef *table) {
    char *function = arena_format(t->arena, "_%s", p->name);
    for (char *c = function; *c; c++)
        if (*c == '-') *c = '_';
    text_add(t,
             "# completion of %s for bash, made from the program's table of options\n%s() {\n"
             "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
             "    [ \"$word\" != = ] || word=\n    [ \"$before\" != = ] || "
             "before=${COMP_WORDS[COMP_CWORD-2]}\n    COMPREPLY=()\n    case "
             "$before in\n",
             p->name, function);
    for (const OptionDef *o = table; !is_last(o); o++)
        if (is_shown(o) && has_value(o) && (!o->when_bare || *words_of(t->arena, value_of(o))))
            bash_value(t, o);
    text_add(t, "    esac\n    case $word in\n    -*) COMPREPLY=($(compgen -W \"");
    for (const OptionDef *o = table; !is_last(o); o++)
        if (is_shown(o)) text_add(t, o == table ? "--%s" : " --%s", o->name);
    text_add(t,
             "\" -- \"$word\")) ;;\n    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n    "
             "esac\n}\ncomplete -o filenames -F %s %s\n",
             function, p->name);
}

static void add_zsh(Text *t, const char *s) {
    for (; *s; s++) {
        if (*s == '\'') text_add(t, "'\\''");
        else if (strchr("[]:\\", *s)) text_add(t, "\\%c", *s);
        else text_bytes(t, s, 1);
    }
}

static void zsh_option(Text *t, const OptionDef *o) {
    bool again = o->kind == OPT_LIST || o->kind == OPT_COUNT;
    const char *words = words_of(t->arena, value_of(o));
    text_add(t, " \\\n    '%s--%s%s[", again ? "*" : "", o->name,
             !has_value(o)  ? ""
             : o->when_bare ? "=-"
                            : "=");
    add_zsh(t, o->help);
    text_add(t, "]");
    if (has_value(o)) {
        text_add(t, o->when_bare ? "::" : ":");
        add_zsh(t, value_of(o));
        if (*words) text_add(t, ":(%s)", words);
        else text_add(t, takes_file(value_of(o)) ? ":_files" : ":");
    }
    text_add(t, "'");
}

static void zsh(Text *t, const ProgramText *p, const OptionDef *table) {
    text_add(t, "#compdef %s\n# made from the program's table of options\n_arguments -s", p->name);
    for (const OptionDef *o = table; !is_last(o); o++)
        if (is_shown(o)) zsh_option(t, o);
    text_add(t, " \\\n    '*:file:_files'\n");
}

bool options_document(Text *t, const ProgramText *p, const OptionDef *table, const char *form,
                      Error *e) {
    if (!strcmp(form, "text")) options_help(t, p->usage, p->summary, table);
    else if (!strcmp(form, "man")) man_page(t, p, table);
    else if (!strcmp(form, "bash")) bash(t, p, table);
    else if (!strcmp(form, "zsh")) zsh(t, p, table);
    else return error_set(e, E_USAGE, "--help", "expects text, man, bash or zsh, not \"%s\"", form);
    return true;
}

void options_version(Text *t, const char *program) {
    char c_library[64] = "?", hash[24];
    hash_version(hash);
    confstr(_CS_GNU_LIBC_VERSION, c_library, sizeof c_library);
    text_add(t, "%s %s\n  compiler %s\n  C library %s\n  xxHash %s\n", program, ISOMER_VERSION,
             __VERSION__, c_library, hash);
}
