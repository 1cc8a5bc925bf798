/* compare_rules.c -- the program compare-rules: rules compared with rules. Its commands share one
   table of options; each says which of them it knows. */
#include "generator/relate.h"
#include "graphs/world.h"
#include "ops/base/main.h"
#include "rules/taso.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct CompareOptions {
    const char *out, *rest, *basis, *trades, *json, *help;
    StringList beside;
    bool unproved, all, quiet, version;
} CompareOptions;
typedef struct Main {
    Arena *arena;
    CompareOptions o;
    StringList files; /* behind the command */
    bool terminal;
    Error error;
} Main;

static const ProgramText program = {
    .name = "compare-rules",
    .usage = "compare-rules derive RULES KNOWN.. | part VERDICTS | choose PROVED.. [options]",
    .summary =
        "Compares rules with rules: which follow from others, which were proved, which search "
        "wants.",
    .more =
        "derive says of each rule of RULES (text, or TASO's file) whether the rules of the other "
        "files give it, and which. Their verdicts are checked first.\n\n"
        "part separates what verify-rules wrote into proved and not proved, and finds a basis: "
        "proved rules that give the others.\n\n"
        "choose writes the rules that have a side which is never more expensive. Those that it "
        "turns round are to be proved again.\n\n"
        "The proved rules among candidates, and a basis of them:\n"
        "  verify-rules candidates.rules -o verdicts.rules\n"
        "  compare-rules part verdicts.rules -o proved.rules --basis basis.rules\n"
        "What search has no use for is left out:\n"
        "  compare-rules choose proved.rules -o gains.rules --beside library.rules",
};

static bool parse(Main *m, int argc, char **argv, StringList *words, Text *help) {
    CompareOptions *o = &m->o;
    const OptionDef table[] = {
        {.kind = OPT_HEAD, .help = "All commands"},
        {.name = "out",
         .letter = 'o',
         .kind = OPT_TEXT,
         .into = &o->out,
         .value = "FILE",
         .help = "Writes what derive says, the proved rules, the chosen rules. Default: it is "
                 "printed; part writes none."},
        {.name = "quiet",
         .letter = 'q',
         .kind = OPT_FLAG,
         .into = &o->quiet,
         .help = "Prints no progress and no counts."},
        OPTION_VERSION(&o->version),
        OPTION_HELP(&o->help),
        {.kind = OPT_HEAD, .help = "derive RULES KNOWN.."},
        {.name = "unproved",
         .kind = OPT_FLAG,
         .into = &o->unproved,
         .help = "The known rules need no proof."},
        {.kind = OPT_HEAD, .help = "part VERDICTS"},
        {.name = "rest",
         .kind = OPT_TEXT,
         .into = &o->rest,
         .value = "FILE",
         .help = "Writes what is not proved."},
        {.name = "basis",
         .kind = OPT_TEXT,
         .into = &o->basis,
         .value = "FILE",
         .help = "Writes the proved rules that the others do not give."},
        {.name = "all",
         .kind = OPT_FLAG,
         .into = &o->all,
         .help = "Looks for no basis, which takes long."},
        {.name = "json",
         .kind = OPT_TEXT,
         .into = &o->json,
         .value = "FILE",
         .help = "Writes how many there are of each as JSON."},
        {.kind = OPT_HEAD, .help = "choose PROVED.."},
        {.name = "trades",
         .kind = OPT_TEXT,
         .into = &o->trades,
         .value = "FILE",
         .help = "Writes, in both directions, the rules of which it depends on sizes or constants "
                 "which side is cheaper."},
        {.name = "beside",
         .kind = OPT_LIST,
         .into = &o->beside,
         .value = "FILE",
         .help = "Leaves out what follows from the rules of this file."},
        {0},
    };
    if (!options_parse(m->arena, table, argc, argv, words, &m->error)) return false;
    if (o->version)
        options_version(help, program.name), text_add(help, "  cJSON %s\n", cJSON_Version());
    return !o->help || options_document(help, &program, table, o->help, &m->error);
}

static void told(void *user, int done, int total) {
    Main *m = user;
    if (m->terminal && !m->o.quiet) fprintf(stderr, "\r\033[Kchoosing: %d of %d", done, total);
}
static void told_all(const Main *m) {
    if (m->terminal && !m->o.quiet) fprintf(stderr, "\r\033[K");
}

static bool write_if(Main *m, const char *path, const Text *t) {
    return !path || file_write(path, t->data ? t->data : "", t->size, &m->error);
}
static bool write_or_print(Main *m, const Text *t) {
    if (m->o.out) return write_if(m, m->o.out, t);
    return !t->size || fwrite(t->data, 1, t->size, stdout) == t->size;
}

static bool read_files(Main *m, const StringList *files, RuleSet *set) {
    *set = (RuleSet){.arena = m->arena};
    for (int k = 0; k < files->n; k++)
        if (!rules_read(m->arena, files->v[k], set, &m->error)) return false;
    return true;
}

/* ---- derive */

static bool proofs_hold(Main *m, const RuleSet *set) {
    World *w = graph_world_new(arena_escape(m->arena), 0);
    bool ok = true;
    for (int k = 0; ok && k < set->n; k++) ok = rule_check(w, &set->v[k], &m->error);
    world_free(w);
    return ok;
}

static bool derive(Main *m) {
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

static bool write_counts(Main *m, const RelateCounts *c) {
    cJSON *x = cJSON_CreateObject();
    const struct {
        const char *name;
        int v;
    } counts[] = {{"rules", c->rules},     {"proved", c->proved},   {"conditional", c->conditional},
                  {"refuted", c->refuted}, {"unknown", c->unknown}, {"basis", c->basis}};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        cJSON_AddNumberToObject(x, counts[k].name, counts[k].v);
    char *text = cJSON_Print(x);
    bool ok = text && file_write(m->o.json, text, strlen(text), &m->error);
    cJSON_free(text);
    cJSON_Delete(x);
    return ok;
}

static bool part(Main *m) {
    RuleSet set = {.arena = m->arena};
    Text proved = text_new(m->arena), basis = text_new(m->arena), rest = text_new(m->arena);
    Minimize how = {.arena = m->arena, .limits = minimize_limits, .told = told, .user = m};
    RelateCounts c;
    if (!m->o.out && !m->o.basis)
        return error_set(&m->error, E_USAGE, "part", "no file to write to: --out or --basis");
    if (!rules_read(m->arena, m->files.v[0], &set, &m->error)) return false;
    if (!relate_part(&how, &set, &proved, m->o.all ? NULL : &basis, &rest, &c, &m->error))
        return false;
    told_all(m);
    if (!write_if(m, m->o.out, &proved) || !write_if(m, m->o.basis, &basis) ||
        !write_if(m, m->o.rest, &rest))
        return false;
    if (!m->o.quiet)
        printf("%s: %d rules, %d proved, basis %d\n", m->files.v[0], c.rules, c.proved, c.basis);
    return !m->o.json || write_counts(m, &c);
}

/* ---- choose */

static bool choose(Main *m) {
    RuleSet set, beside;
    Text gains = text_new(m->arena), trades = text_new(m->arena);
    if (!read_files(m, &m->files, &set) || !read_files(m, &m->o.beside, &beside)) return false;
    Minimize how = {
        .arena = m->arena, .limits = minimize_limits, .beside = &beside, .told = told, .user = m};
    if (!relate_search(&how, &set, &gains, &trades, &m->error)) return false;
    told_all(m);
    return write_or_print(m, &gains) && write_if(m, m->o.trades, &trades);
}

/* ---- commands */

typedef struct Command {
    const char *name, *operands;
    bool (*run)(Main *);
    int least, most;              /* files */
    bool derives, parts, chooses; /* which options it knows beside those of all */
} Command;
static const Command commands[] = {
    {"derive", "RULES KNOWN..", derive, 2, INT32_MAX, .derives = true},
    {"part", "VERDICTS", part, 1, 1, .parts = true},
    {"choose", "PROVED..", choose, 1, INT32_MAX, .chooses = true}};

static bool options_fit(const Command *c, const CompareOptions *o, Error *e) {
    const struct {
        bool given, known;
        const char *name;
    } all[] = {
        {o->unproved, c->derives, "--unproved"},  {o->rest != NULL, c->parts, "--rest"},
        {o->basis != NULL, c->parts, "--basis"},  {o->all, c->parts, "--all"},
        {o->json != NULL, c->parts, "--json"},    {o->trades != NULL, c->chooses, "--trades"},
        {o->beside.n > 0, c->chooses, "--beside"}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (all[k].given && !all[k].known)
            return error_set(e, E_USAGE, all[k].name, "the command %s has no such option", c->name);
    return true;
}

static bool act(Main *m, const StringList *words) {
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
    return options_fit(c, &m->o, &m->error) && c->run(m);
}

static void command(void *user, Arena *a, int argc, char **argv) {
    Main *m = user;
    m->arena = a;
    StringList words = {0};
    Text help = text_new(a);
    if (!parse(m, argc, argv, &words, &help)) return;
    if (m->o.help || m->o.version) fputs(help.data, stdout);
    else act(m, &words);
}

int main(int argc, char **argv) {
    Main m = {.terminal = isatty(2)};
    return program_main(&program, argc, argv, command, &m, &m.error);
}
