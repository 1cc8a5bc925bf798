/* export_rules.c -- the program export-rules: exports proved rules in formats of other programs.
   Rules without a verdict that holds are left out, and counted on standard error. */
#include "graphs/onnx/onnx.h"
#include "ops/base/file_use.h"
#include "ops/base/main.h"
#include "rules/export.h"
#include "rules/installed.h"
#include "graphs/world.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

typedef struct ExportProgramOptions {
    const char *out, *format, *classes, *operators, *help;
    bool unconditional, list, strict, version;
    StringList files;
} ExportProgramOptions;
typedef struct ExportProgram {
    Arena *arena;
    World *w;
    ExportProgramOptions o;
    const ExportFormat *format;
    ExportOptions choice;
    RuleSet set;
    Export x;
    Error error;
} ExportProgram;

static const ProgramText program = {
    .name = "export-rules",
    .usage = "export-rules [FILE...] -o OUT --format F [options]",
    .summary = "Exports proved rules (default: those that optimize-model uses) for other programs.",
    .more =
        "Only rules with a valid verdict are exported: proved, with the operator definitions of "
        "this program. Rules left out are counted on standard error with the reason; --strict "
        "makes a rule without a valid verdict an error. rules/EXPORT.md says what each format "
        "loses and what its user has to check.\n\nAll rules that hold without conditions and give "
        "the same bits:\n  export-rules -o exact.json --format json --class exact --unconditional",
};

static const OptionDef option_table[] = {
    {.name = "output",
     .letter = 'o',
     .kind = OPT_TEXT,
     .at = offsetof(ExportProgramOptions, out),
     .value = "OUT",
     .help = "The file or folder to write. It is written completely or not at all."},
    {.name = "format",
     .kind = OPT_TEXT,
     .at = offsetof(ExportProgramOptions, format),
     .value = "F",
     .help = "The format: " EXPORT_NAMES "."},
    {.name = "class",
     .kind = OPT_TEXT,
     .at = offsetof(ExportProgramOptions, classes),
     .value = "C,..",
     .help = "Only rules all of whose classes are among these, joined by + or commas; exact rules "
             "always qualify. Classes: " CLASS_WORDS "."},
    {.name = "unconditional",
     .kind = OPT_FLAG,
     .at = offsetof(ExportProgramOptions, unconditional),
     .help = "Only rules without conditions on sizes."},
    {.name = "operators",
     .kind = OPT_TEXT,
     .at = offsetof(ExportProgramOptions, operators),
     .value = "A,B,..",
     .help = "Only rules that use no operators but these."},
    {.name = "list",
     .kind = OPT_FLAG,
     .at = offsetof(ExportProgramOptions, list),
     .help = "Prints the selected rules, one per line: identifier, class, name."},
    {.name = "strict",
     .kind = OPT_FLAG,
     .at = offsetof(ExportProgramOptions, strict),
     .help = "Writes nothing and exits with status 1 if any rule lacks a valid verdict."},
    OPTION_VERSION(offsetof(ExportProgramOptions, version)),
    OPTION_HELP(offsetof(ExportProgramOptions, help)),
    {0},
};

static bool parse_options(ExportProgram *p, int argc, char **argv, Text *help) {
    ExportProgramOptions *o = &p->o;
    if (!options_parse(p->arena, option_table, o, argc, argv, &o->files, &p->error)) return false;
    return !o->help || options_document(help, &program, option_table, o->help, &p->error);
}

/* ---- options */

static bool read_operators(ExportProgram *p) {
    const char *text = p->o.operators;
    const Op **list = ARENA_NEW(p->arena, const Op *, strlen(text) + 1);
    for (;; text++) {
        size_t n = strcspn(text, ",");
        const char *name = arena_string(p->arena, text, n);
        const Op *op = op_find(name);
        if (!op)
            return error_set(&p->error, E_USAGE, "--operators", "unknown operator \"%s\"", name);
        list[p->choice.nop++] = op;
        text += n;
        if (!*text) break;
    }
    p->choice.op = list;
    return true;
}

static bool read_options(ExportProgram *p) {
    const ExportProgramOptions *o = &p->o;
    if (!o->list && !o->out)
        return error_set(&p->error, E_USAGE, "--output", "missing: the file or folder to write");
    if (!o->list && !o->format)
        return error_set(&p->error, E_USAGE, "--format",
                         "missing: the format, one of " EXPORT_NAMES);
    if (o->format && !(p->format = export_format(o->format)))
        return error_set(&p->error, E_USAGE, "--format",
                         "unknown format %s; expected one of " EXPORT_NAMES, o->format);
    if (o->classes && !classes_option("--class", o->classes, (unsigned)CLASSES_ANY,
                                      &p->choice.classes, &p->error))
        return false;
    p->choice.any_class = !o->classes;
    p->choice.conditional = !o->unconditional;
    return !o->operators || read_operators(p);
}

static bool read_rules(ExportProgram *p) {
    for (int k = 0; k < p->o.files.n; k++)
        if (!rules_read(p->arena, p->o.files.v[k], &p->set, &p->error)) return false;
    return p->o.files.n || installed_rules(p->arena, NULL, &p->set, &p->error);
}

/* ---- messages */

static void print_reasons(const ExportReasons *list, const char *what) {
    for (int k = 0; k < list->n; k++) {
        const ExportReason *r = &list->v[k];
        fprintf(stderr, "export-rules: %d left out, %s: %s (first: %s)\n", r->count, what, r->text,
                r->first);
    }
}

static int count_reasons(const ExportReasons *list) {
    int n = 0;
    for (int k = 0; k < list->n; k++) n += list->v[k].count;
    return n;
}

static void print_list(const ExportProgram *p) {
    for (int k = 0; k < p->x.n; k++)
        printf("%s %s %s\n", p->x.rule[k]->id, classes_text(p->arena, p->x.rule[k]->classes),
               p->x.rule[k]->name);
}

static bool export_run(ExportProgram *p) {
    FileUses u = {.arena = p->arena};
    if (!read_options(p) || !read_rules(p)) return false;
    file_use_add_list(&u, "FILE", p->o.files, FILE_READ);
    file_use_add(&u, "--output", p->o.out, FILE_WRITTEN);
    const bool folder = p->format && p->format->folder;
    if (!(folder ? files_apart : files_usable)(&u, &p->error)) return false;
    if (!export_choose(p->w, p->arena, &p->set, &p->choice, &p->x, &p->error)) return false;
    int unproved = count_reasons(&p->x.unproved);
    print_reasons(&p->x.unproved, "not proved");
    if (p->o.strict && unproved)
        return error_set(&p->error, E_CHECK, "--strict", "%d of %d rules %s no valid verdict",
                         unproved, p->set.n, unproved == 1 ? "has" : "have");
    if (p->o.list) print_list(p);
    if (!p->o.out) return true;
    if (!p->format->write(&p->x, p->o.out, &p->error)) return false;
    print_reasons(&p->x.lost, "not expressible");
    fprintf(
        stderr,
        "export-rules: %d rule%s: %d selected, %d not selected, %d not proved; %d written, as %d "
        "entr%s, %d not expressible\n",
        p->set.n, p->set.n == 1 ? "" : "s", p->x.n, p->x.passed_over, unproved, p->x.expressed,
        p->x.written, p->x.written == 1 ? "y" : "ies", p->x.n - p->x.expressed);
    return true;
}

static void program_act(void *user, Arena *a, int argc, char **argv) {
    ExportProgram *p = user;
    p->set.arena = p->arena = a;
    p->w = graph_world_new(arena_escape(a), 0);
    Text help = text_new(a);
    if (!parse_options(p, argc, argv, &help)) return;
    if (p->o.help) {
        printf("%s", help.data);
    } else if (p->o.version) {
        options_version(&help, program.name);
        onnx_versions(&help);
        printf("%s  cJSON %s\n", help.data, cJSON_Version());
    } else export_run(p);
}

int main(int argc, char **argv) {
    ExportProgram p = {0};
    return program_main(&program, argc, argv, program_act, &p, &p.error);
}
