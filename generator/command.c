/* command.c -- the program generate-rules: enumerates small graphs over an operator set and writes
   those that are equal as candidate rules, which verify-rules then proves or refutes. With a link,
   every process reads the same options, and the first one writes. */
#include "generator/generate.h"
#include "ops/base/file.h"
#include "ops/base/file_use.h"
#include "ops/base/interrupt.h"
#include "ops/base/main.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct GenerateProgramOptions {
    const char *ops, *out, *resume, *shard, *json, *memory, *help;
    int64_t size, seed, jobs;
    bool exhaustive, all, quiet, version;
} GenerateProgramOptions;
typedef struct GenerateProgram {
    Arena *arena;
    GenerateProgramOptions o;
    GenerateOptions g;
    bool terminal;
    const GenerateLink *link;
    Error error;
} GenerateProgram;

static const ProgramText program = {
    .name = "generate-rules",
    .usage = "generate-rules --ops FILE --size N [options]",
    .summary = "Finds candidate rules: pairs of small graphs that compute the same values.",
    .more = "The candidates are not proved; verify-rules does that. The same seed gives the same "
            "rules, in one process or many.\n\nFinding the rules of up to two operators of a set, "
            "verifying them, and keeping the proved ones:\n  generate-rules --ops "
            "generator/sets/taso.set --size 2 -o candidates.rules\n  verify-rules candidates.rules "
            "-o verdicts.rules\n  "
            "compare-rules part verdicts.rules -o proved.rules",
};
static const ProgramText program_mpi = {
    .name = "generate-rules-mpi",
    .usage = "generate-rules-mpi --ops FILE --size N [options]",
    .summary = "Finds candidate rules as generate-rules does, by the processes of an MPI job.",
    .more = "Each process does its share of the tasks. The rules are those of generate-rules with "
            "the same options, and the first process writes them.\n\nOn four processes:\n  mpirun "
            "-n 4 generate-rules-mpi --ops generator/sets/taso.set --size 3 -o candidates.rules",
};
static const ProgramText *program_text(const GenerateLink *link) {
    return link ? &program_mpi : &program;
}

static const OptionDef option_table[] = {
    {.name = "ops",
     .kind = OPT_TEXT,
     .at = offsetof(GenerateProgramOptions, ops),
     .value = "FILE",
     .help = "The operator set, a .set file."},
    {.name = "size",
     .kind = OPT_INT,
     .at = offsetof(GenerateProgramOptions, size),
     .value = "N",
     .help = "Maximum number of operators in a term, 1 to 5.",
     .least = 1,
     .most = 5},
    {.name = "output",
     .old_name = "out",
     .letter = 'o',
     .kind = OPT_TEXT,
     .at = offsetof(GenerateProgramOptions, out),
     .value = "FILE",
     .help = "Writes the candidate rules to FILE. Default: standard output."},
    {.name = "seed",
     .kind = OPT_INT,
     .at = offsetof(GenerateProgramOptions, seed),
     .default_value = 1,
     .value = "S",
     .help = "Seed of the random sample points. Default: 1.",
     .least = 0,
     .most = 4e18},
    OPTION_JOBS(offsetof(GenerateProgramOptions, jobs), "Threads. Default: 1."),
    {.name = "memory-limit",
     .kind = OPT_TEXT,
     .at = offsetof(GenerateProgramOptions, memory),
     .default_text = "4G",
     .value = "SIZE",
     .help = "Memory for terms, such as 500M or 8G; terms beyond it are kept on disk. Default: "
             "4G."},
    {.name = "resume",
     .kind = OPT_TEXT,
     .at = offsetof(GenerateProgramOptions, resume),
     .value = "DIR",
     .help = "Keeps finished work in DIR and continues from what DIR already holds."},
    {.name = "shard",
     .kind = OPT_TEXT,
     .at = offsetof(GenerateProgramOptions, shard),
     .value = "I/N",
     .help = "Does part I (counted from 0) of N; all parts share one folder (--resume)."},
    {.name = "exhaustive",
     .kind = OPT_FLAG,
     .at = offsetof(GenerateProgramOptions, exhaustive),
     .help = "Extends every term, not only the representative of each class."},
    {.name = "all",
     .kind = OPT_FLAG,
     .at = offsetof(GenerateProgramOptions, all),
     .help = "Also writes rules that follow from other rules."},
    {.name = "json",
     .kind = OPT_TEXT,
     .at = offsetof(GenerateProgramOptions, json),
     .value = "FILE",
     .help = "Writes the statistics of the run to FILE as JSON."},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPT_FLAG,
     .at = offsetof(GenerateProgramOptions, quiet),
     .help = "Suppresses the progress display and the table."},
    OPTION_VERSION(offsetof(GenerateProgramOptions, version)),
    OPTION_HELP(offsetof(GenerateProgramOptions, help)),
    {0},
};

static bool parse_options(GenerateProgram *m, int argc, char **argv, StringList *rest, Text *help) {
    GenerateProgramOptions *o = &m->o;
    if (!options_parse(m->arena, option_table, o, argc, argv, rest, &m->error)) return false;
    if (o->version)
        options_version(help, program_text(m->link)->name),
            text_add(help, "  cJSON %s\n", cJSON_Version());
    return !o->help ||
           options_document(help, program_text(m->link), option_table, o->help, &m->error);
}

static bool settle_options(GenerateProgram *m, const StringList *rest) {
    GenerateProgramOptions *o = &m->o;
    GenerateOptions *g = &m->g;
    if (rest->n)
        return error_set(&m->error, E_USAGE, rest->v[0],
                         "unexpected argument; name the operator set with --ops");
    if (!o->ops)
        return error_set(&m->error, E_USAGE, "--ops", "missing: the operator set, a .set file");
    if (!o->size)
        return error_set(&m->error, E_USAGE, "--size",
                         "missing: the number of operators, from 1 to 5");
    *g = (GenerateOptions){.set = o->ops,
                           .size = (int)o->size,
                           .jobs = (int)o->jobs,
                           .nshard = 1,
                           .seed = (uint64_t)o->seed,
                           .folder = o->resume,
                           .exhaustive = o->exhaustive,
                           .all = o->all};
    if (!option_bytes("--memory-limit", o->memory, &g->memory, &m->error)) return false;
    if (m->link) {
        if (o->shard)
            return error_set(&m->error, E_USAGE, "--shard",
                             "not allowed under MPI, where each process is a shard");
        g->link = m->link;
        g->shard = m->link->rank;
        g->nshard = m->link->n;
        return true;
    }
    return option_shard(o->shard, o->resume, &g->shard, &g->nshard, &m->error);
}

static void progress(void *user, const GenerateProgress *p) {
    GenerateProgram *m = user;
    if (!m->terminal || m->o.quiet) return;
    fprintf(stderr, "\r\033[Ksize %d: %s %llu", p->level, p->stage, (unsigned long long)p->done);
    if (p->total)
        fprintf(stderr, " of %llu, %.0f s left", (unsigned long long)p->total,
                p->done ? p->seconds / (double)p->done * (double)(p->total - p->done) : 0);
    fprintf(stderr, ", %llu terms, %llu classes, %.0f terms/s", (unsigned long long)p->terms,
            (unsigned long long)p->classes, (double)p->terms / (p->seconds + 1e-9));
}

static void print_table(const GenerateReport *r) {
    printf("%-5s %12s %12s %12s %10s %10s %9s %9s\n", "size", "prefixes", "terms", "classes",
           "raw pairs", "kept", "terms s", "classes s");
    for (int k = 0; k < r->nlevel; k++) {
        const GenerateLevel *l = &r->level[k];
        printf("%-5d %12llu %12llu %12llu %10llu %10llu %9.2f %9.2f\n", k,
               (unsigned long long)l->prefixes, (unsigned long long)l->terms,
               (unsigned long long)l->classes, (unsigned long long)l->raw,
               (unsigned long long)l->kept, l->enumerate, l->merge);
    }
    printf("raw %llu, reduced by smaller rules %llu, with two results %llu, not reduced %llu\n",
           (unsigned long long)r->raw, (unsigned long long)r->reduced, (unsigned long long)r->pairs,
           (unsigned long long)r->candidates);
    printf("rejected by the second stage %llu, derived %llu, false at random sizes %llu, not tried "
           "%llu\n",
           (unsigned long long)r->coincidences, (unsigned long long)r->derived,
           (unsigned long long)r->untrue, (unsigned long long)r->untried);
    printf("rules %llu (equal texts %llu; any lists %llu, any sizes %llu, tied %llu, given numbers "
           "%llu, given types %llu)\n",
           (unsigned long long)r->rules, (unsigned long long)r->equal_texts,
           (unsigned long long)r->mode[0], (unsigned long long)r->mode[1],
           (unsigned long long)r->mode[2], (unsigned long long)r->mode[3],
           (unsigned long long)r->mode[4]);
    printf("%.2f s, including %.2f s at random sizes; %.0f MB\n", r->seconds, r->lift,
           (double)r->peak / (1 << 20));
}

static bool write_json(GenerateProgram *m, const GenerateReport *r) {
    cJSON *x = cJSON_CreateObject(), *levels = cJSON_AddArrayToObject(x, "levels");
    for (int k = 0; k < r->nlevel; k++) {
        const GenerateLevel *l = &r->level[k];
        cJSON *y = cJSON_CreateObject();
        const struct {
            const char *name;
            double v;
        } columns[] = {{"size", k},
                       {"prefixes", (double)l->prefixes},
                       {"terms", (double)l->terms},
                       {"classes", (double)l->classes},
                       {"raw", (double)l->raw},
                       {"kept", (double)l->kept},
                       {"terms_seconds", l->enumerate},
                       {"classes_seconds", l->merge}};
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
            cJSON_AddNumberToObject(y, columns[c].name, columns[c].v);
        cJSON_AddItemToArray(levels, y);
    }
    const struct {
        const char *name;
        double v;
    } totals[] = {{"raw", (double)r->raw},
                  {"reduced", (double)r->reduced},
                  {"two_results", (double)r->pairs},
                  {"candidates", (double)r->candidates},
                  {"coincidences", (double)r->coincidences},
                  {"derived", (double)r->derived},
                  {"false", (double)r->untrue},
                  {"untried", (double)r->untried},
                  {"rules", (double)r->rules},
                  {"seconds", r->seconds},
                  {"peak_bytes", (double)r->peak}};
    for (size_t c = 0; c < sizeof totals / sizeof *totals; c++)
        cJSON_AddNumberToObject(x, totals[c].name, totals[c].v);
    char *text = cJSON_Print(x);
    bool ok = text && file_write(m->o.json, text, strlen(text), &m->error);
    cJSON_free(text);
    cJSON_Delete(x);
    return ok;
}

static bool files_given_usable(GenerateProgram *m) {
    FileUses u = {.arena = m->arena};
    file_use_add(&u, "--ops", m->o.ops, FILE_READ);
    file_use_add(&u, "--output", m->o.out, FILE_WRITTEN);
    file_use_add(&u, "--json", m->o.json, FILE_WRITTEN);
    return files_usable(&u, &m->error);
}

static bool command_run(GenerateProgram *m) {
    GenerateReport r;
    Text out = text_new(m->arena);
    bool first = !m->link || !m->link->rank;
    m->g.progress = first ? progress : NULL;
    m->g.user = m;
    m->g.cancel = interrupts_count(1); /* the second signal kills the process */
    /* not in an MPI job: if the check failed here, the other processes would wait forever */
    if (!m->link && !files_given_usable(m)) return false;
    bool ok = generate(&m->g, m->arena, &out, &r, &m->error);
    if (m->terminal && !m->o.quiet) fprintf(stderr, "\r\033[K");
    if (!ok || !first) return ok;
    const char *text = out.data ? out.data : "";
    if (m->o.out) ok = file_write(m->o.out, text, out.size, &m->error);
    else ok = fwrite(text, 1, out.size, stdout) == out.size;
    if (ok && m->o.out && !m->o.quiet) print_table(&r);
    return ok && (!m->o.json || write_json(m, &r));
}

static void program_act(void *user, Arena *a, int argc, char **argv) {
    GenerateProgram *m = user;
    m->arena = a;
    StringList rest = {0};
    Text help = text_new(a);
    if (!parse_options(m, argc, argv, &rest, &help)) return;
    bool told = m->o.help || m->o.version;
    if (!told && settle_options(m, &rest)) command_run(m);
    if (told && (!m->link || !m->link->rank)) fputs(help.data, stdout);
}

int generate_program(int argc, char **argv, const GenerateLink *link) {
    GenerateProgram m = {.terminal = isatty(2), .link = link};
    return program_main(program_text(link), argc, argv, program_act, &m, &m.error);
}
