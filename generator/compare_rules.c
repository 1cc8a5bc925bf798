/* compare_rules.c -- the program compare-rules: compares rules with rules. Its commands share one
   table of options; each command says which groups of options it accepts. */
#include "generator/relate.h"
#include "graphs/world.h"
#include "ops/base/file.h"
#include "ops/base/file_use.h"
#include "ops/base/main.h"
#include "rules/taso.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct CompareOptions {
    const char *out, *rest, *basis, *trades, *json, *help;
    StringList known;
    bool unproved, all, quiet, version;
} CompareOptions;
typedef struct CompareProgram {
    Arena *arena;
    CompareOptions o;
    StringList files; /* the arguments after the command */
    bool terminal;
    Error error;
} CompareProgram;

static const ProgramText program = {
    .name = "compare-rules",
    .usage = "compare-rules derive RULES KNOWN... | part VERDICTS | choose PROVED... [options]",
    .summary =
        "Says which rules follow from others, which are proved, which the search should use.",
    .more =
        "derive says for each rule in RULES (text, or TASO's file) whether it follows from the "
        "rules in the other files, and from which ones. The verdicts of the other files are "
        "checked first.\n\npart splits the output of verify-rules into proved rules and the rest, "
        "and finds a basis: proved rules from which the other proved rules follow.\n\nchoose "
        "writes the rules that have a side which is never more expensive. Rules whose direction it "
        "reverses must be proved again.\n\nKeeping the proved rules among candidates, and a basis "
        "of them:\n  verify-rules candidates.rules -o verdicts.rules\n  compare-rules part "
        "verdicts.rules -o proved.rules --basis basis.rules\nKeeping only the rules that help the "
        "search:\n  compare-rules choose proved.rules -o gains.rules --known library.rules",
};

static const OptionDef option_table[] = {
    {.kind = OPT_HEAD, .help = "All commands"},
    {.name = "output",
     .old_name = "out",
     .letter = 'o',
     .kind = OPT_TEXT,
     .at = offsetof(CompareOptions, out),
     .value = "FILE",
     .help = "Writes the result to FILE: the answers of derive, the proved rules of part, or "
             "the rules that choose selects. Default: standard output; part needs --output or "
             "--basis."},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPT_FLAG,
     .at = offsetof(CompareOptions, quiet),
     .help = "Suppresses the progress display and the counts."},
    OPTION_VERSION(offsetof(CompareOptions, version)),
    OPTION_HELP(offsetof(CompareOptions, help)),
    {.kind = OPT_HEAD, .help = "derive RULES KNOWN..."},
    {.name = "unproved",
     .kind = OPT_FLAG,
     .at = offsetof(CompareOptions, unproved),
     .help = "Accepts known rules without a valid proof."},
    {.kind = OPT_HEAD, .help = "part VERDICTS"},
    {.name = "rest",
     .kind = OPT_TEXT,
     .at = offsetof(CompareOptions, rest),
     .value = "FILE",
     .help = "Writes the rules that are not proved to FILE."},
    {.name = "basis",
     .kind = OPT_TEXT,
     .at = offsetof(CompareOptions, basis),
     .value = "FILE",
     .help = "Writes a basis to FILE: proved rules from which the other proved rules follow."},
    {.name = "all",
     .kind = OPT_FLAG,
     .at = offsetof(CompareOptions, all),
     .help = "Skips the search for a basis, which takes a long time."},
    {.name = "json",
     .kind = OPT_TEXT,
     .at = offsetof(CompareOptions, json),
     .value = "FILE",
     .help = "Writes the counts to FILE as JSON."},
    {.kind = OPT_HEAD, .help = "choose PROVED..."},
    {.name = "trades",
     .kind = OPT_TEXT,
     .at = offsetof(CompareOptions, trades),
     .value = "FILE",
     .help = "Writes to FILE, in both directions, the rules whose cheaper side depends on "
             "sizes or constants."},
    {.name = "known",
     .old_name = "beside",
     .kind = OPT_LIST,
     .at = offsetof(CompareOptions, known),
     .value = "FILE",
     .help = "Leaves out rules that follow from the rules in FILE. May be repeated."},
    {0},
};

static bool parse_options(CompareProgram *m, int argc, char **argv, StringList *words, Text *help) {
    CompareOptions *o = &m->o;
    if (!options_parse(m->arena, option_table, o, argc, argv, words, &m->error)) return false;
    if (o->version)
        options_version(help, program.name), text_add(help, "  cJSON %s\n", cJSON_Version());
    return !o->help || options_document(help, &program, option_table, o->help, &m->error);
}

static void show_progress(void *user, int done, int total) {
    CompareProgram *m = user;
    if (m->terminal && !m->o.quiet) fprintf(stderr, "\r\033[Kchoosing: %d of %d", done, total);
}
static void told_all(const CompareProgram *m) {
    if (m->terminal && !m->o.quiet) fprintf(stderr, "\r\033[K");
}

static bool write_if(CompareProgram *m, const char *path, const Text *t) {
    return !path || file_write(path, t->data ? t->data : "", t->size, &m->error);
}
static bool write_or_print(CompareProgram *m, const Text *t) {
    if (m->o.out) return write_if(m, m->o.out, t);
    return !t->size || fwrite(t->data, 1, t->size, stdout) == t->size;
}

static bool read_files(CompareProgram *m, const StringList *files, RuleSet *set) {
    *set = (RuleSet){.arena = m->arena};
    for (int k = 0; k < files->n; k++)
        if (!rules_read(m->arena, files->v[k], set, &m->error)) return false;
    return true;
}

static bool proofs_hold(CompareProgram *m, const RuleSet *set) {
    World *w = graph_world_new(arena_escape(m->arena), 0);
    bool ok = true;
    for (int k = 0; ok && k < set->n; k++) ok = rule_check(w, &set->v[k], &m->error);
    world_free(w);
    return ok;
}

/* ---- derive */

static bool print_derivable(CompareProgram *m) {
    RuleSet given = {.arena = m->arena}, known;
    TasoRefusals refused = {0};
    Text out = text_new(m->arena);
    int missing;
    StringList others = {m->files.n - 1, m->files.v + 1};
    return read_files(m, &others, &known) && (m->o.unproved || proofs_hold(m, &known)) &&
           rules_load(m->arena, m->files.v[0], &given, &refused, &m->error) &&
           relate_derive(m->arena, &given, &known, &out, &missing, &m->error) &&
           write_or_print(m, &out);
}

/* ---- part */

static bool write_counts(CompareProgram *m, const RelateCounts *c) {
    cJSON *x = cJSON_CreateObject();
    const struct {
        const char *name;
        int v;
    } counts[] = {{"rules", c->rules},
                  {"proved", c->proved},
                  {"conditional", c->conditional},
                  {"refuted", c->refuted},
                  {"unknown", c->unknown}};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        cJSON_AddNumberToObject(x, counts[k].name, counts[k].v);
    if (m->o.all) cJSON_AddNullToObject(x, "basis");
    else cJSON_AddNumberToObject(x, "basis", c->basis);
    char *text = cJSON_Print(x);
    bool ok = text && file_write(m->o.json, text, strlen(text), &m->error);
    cJSON_free(text);
    cJSON_Delete(x);
    return ok;
}

static bool print_part(CompareProgram *m) {
    RuleSet set = {.arena = m->arena};
    Text proved = text_new(m->arena), basis = text_new(m->arena), rest = text_new(m->arena);
    Minimize how = {.arena = m->arena, .limits = minimize_limits, .told = show_progress, .user = m};
    RelateCounts c;
    if (!m->o.out && !m->o.basis)
        return error_set(&m->error, E_USAGE, "part",
                         "give --output for the proved rules, or --basis");
    if (m->o.all && m->o.basis)
        return error_set(&m->error, E_USAGE, "--basis",
                         "--all skips the search for a basis: leave out one of the two");
    if (!rules_read(m->arena, m->files.v[0], &set, &m->error)) return false;
    if (!relate_part(&how, &set, &proved, m->o.all ? NULL : &basis, &rest, &c, &m->error))
        return false;
    told_all(m);
    if (!write_if(m, m->o.out, &proved) || !write_if(m, m->o.basis, &basis) ||
        !write_if(m, m->o.rest, &rest))
        return false;
    if (!m->o.quiet) {
        printf("%s: %d rule%s, %d proved", m->files.v[0], c.rules, c.rules == 1 ? "" : "s",
               c.proved);
        if (!m->o.all) printf(", basis %d", c.basis);
        puts("");
    }
    return !m->o.json || write_counts(m, &c);
}

/* ---- choose */

static bool print_choice(CompareProgram *m) {
    RuleSet set, known;
    Text gains = text_new(m->arena), trades = text_new(m->arena);
    if (!read_files(m, &m->files, &set) || !read_files(m, &m->o.known, &known) ||
        !proofs_hold(m, &set))
        return false;
    Minimize how = {.arena = m->arena,
                    .limits = minimize_limits,
                    .known = &known,
                    .told = show_progress,
                    .user = m};
    if (!relate_search(&how, &set, &gains, &trades, &m->error)) return false;
    told_all(m);
    return write_or_print(m, &gains) && write_if(m, m->o.trades, &trades);
}

/* ---- commands */

typedef struct Command {
    const char *name, *operands;
    bool (*run)(CompareProgram *);
    int least, most;              /* least and greatest number of files */
    bool derives, parts, chooses; /* which options it accepts besides those of all commands */
} Command;
static const Command commands[] = {
    {"derive", "RULES KNOWN...", print_derivable, 2, INT32_MAX, .derives = true},
    {"part", "VERDICTS", print_part, 1, 1, .parts = true},
    {"choose", "PROVED...", print_choice, 1, INT32_MAX, .chooses = true}};

static bool options_fit(const Command *c, const CompareOptions *o, Error *e) {
    const struct {
        bool given, known;
        const char *name;
    } all[] = {{o->unproved, c->derives, "--unproved"}, {o->rest != NULL, c->parts, "--rest"},
               {o->basis != NULL, c->parts, "--basis"}, {o->all, c->parts, "--all"},
               {o->json != NULL, c->parts, "--json"},   {o->trades != NULL, c->chooses, "--trades"},
               {o->known.n > 0, c->chooses, "--known"}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (all[k].given && !all[k].known)
            return error_set(e, E_USAGE, all[k].name, "the command %s has no such option", c->name);
    return true;
}

static bool files_given_usable(CompareProgram *m) {
    const CompareOptions *o = &m->o;
    FileUses u = {.arena = m->arena};
    file_use_add_list(&u, "FILE", m->files, FILE_READ);
    file_use_add_list(&u, "--known", o->known, FILE_READ);
    file_use_add(&u, "--output", o->out, FILE_WRITTEN);
    file_use_add(&u, "--rest", o->rest, FILE_WRITTEN);
    file_use_add(&u, "--basis", o->basis, FILE_WRITTEN);
    file_use_add(&u, "--trades", o->trades, FILE_WRITTEN);
    file_use_add(&u, "--json", o->json, FILE_WRITTEN);
    return files_usable(&u, &m->error);
}

static bool run_subcommand(CompareProgram *m, const StringList *words) {
    const char *name = words->n ? words->v[0] : "";
    size_t k = 0, n = sizeof commands / sizeof *commands;
    while (k < n && strcmp(commands[k].name, name)) k++;
    if (k == n)
        return error_set(&m->error, E_USAGE, name, "expected a command: derive, part or choose");
    const Command *c = &commands[k];
    m->files = (StringList){words->n - 1, words->v + 1};
    if (m->files.n < c->least || m->files.n > c->most)
        return error_set(&m->error, E_USAGE, name, "expected compare-rules %s %s", c->name,
                         c->operands);
    return options_fit(c, &m->o, &m->error) && files_given_usable(m) && c->run(m);
}

static void program_act(void *user, Arena *a, int argc, char **argv) {
    CompareProgram *m = user;
    m->arena = a;
    StringList words = {0};
    Text help = text_new(a);
    if (!parse_options(m, argc, argv, &words, &help)) return;
    if (m->o.help || m->o.version) fputs(help.data, stdout);
    else run_subcommand(m, &words);
}

int main(int argc, char **argv) {
    CompareProgram m = {.terminal = isatty(2)};
    return program_main(&program, argc, argv, program_act, &m, &m.error);
}
