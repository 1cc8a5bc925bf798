/* discover_rules.c -- the program discover-rules: takes questions from models, finds graphs that
   compute the same and cost less, and writes them as candidate rules, which verify-rules then
   proves or refutes. */
#include "generator/discover/discover.h"
#include "graphs/onnx/onnx.h"
#include "ops/base/file.h"
#include "ops/base/file_use.h"
#include "ops/base/main.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct DiscoverProgram {
    Arena *arena;
    DiscoverOptions d;
    const char *out, *json, *memory, *shard, *help;
    int64_t operators, depth, steps, jobs, most, seed;
    bool list, quiet, version, terminal;
    Error error;
} DiscoverProgram;

static const ProgramText program = {
    .name = "discover-rules",
    .usage = "discover-rules FILE... [options]",
    .summary =
        "Finds candidate rules that models ask for: what equals a part of them and costs less.",
    .more = "FILE is a model (.onnx) or a file of questions (.questions), which --list writes. A "
            "question is a connected part of a few operators of a model, with sizes turned into "
            "symbols. The candidates are not proved; verify-rules does that. The same questions "
            "and seed give the same rules, whatever the number of threads.\n\nWhat a model asks, "
            "and the rules that answer it:\n  discover-rules model.onnx --list -o "
            "model.questions\n  discover-rules model.questions -o candidates.rules\n  verify-rules "
            "candidates.rules -o verdicts.rules",
};

static const OptionDef option_table[] = {
    {.name = "list",
     .kind = OPT_FLAG,
     .at = offsetof(DiscoverProgram, list),
     .help = "Writes the questions, the most expensive first, instead of answering them."},
    {.name = "output",
     .old_name = "out",
     .letter = 'o',
     .kind = OPT_TEXT,
     .at = offsetof(DiscoverProgram, out),
     .value = "FILE",
     .help = "Writes the candidate rules, or the questions, to FILE. Default: standard output."},
    {.name = "input-shape",
     .kind = OPT_LIST,
     .at = offsetof(DiscoverProgram, d.sizes.shapes),
     .value = "NAME:1,3,..",
     .help = "Sizes of an input of the models; NAME: may be left out if there is one input. Open "
             "sizes that are not given are 1 on a first axis, 64 on others (16 where data decide "
             "the size), or what the model requires. May be repeated."},
    {.name = "dim",
     .kind = OPT_LIST,
     .at = offsetof(DiscoverProgram, d.sizes.dims),
     .value = "NAME=N",
     .help = "The value of a size that the models name, likewise. May be repeated."},
    {.name = "profile",
     .kind = OPT_TEXT,
     .at = offsetof(DiscoverProgram, d.profile),
     .value = "FILE",
     .help = "The output of scripts/profile-onnxruntime for the one model that is given: orders "
             "questions by the time that their nodes lose there. Default: by estimated "
             "times."},
    {.name = "operators",
     .kind = OPT_INT,
     .at = offsetof(DiscoverProgram, operators),
     .default_value = 5,
     .value = "N",
     .help = "Asks about parts of up to N operators, 8 at most; those on constants alone do "
             "not count. Default: 5.",
     .least = 1,
     .most = 8},
    {.name = "no-bodies",
     .kind = OPT_FLAG,
     .at = offsetof(DiscoverProgram, d.no_bodies),
     .help = "Takes no questions from the bodies of If, Loop and Scan, for a target on which "
             "they are not optimized."},
    {.name = "depth",
     .kind = OPT_INT,
     .at = offsetof(DiscoverProgram, depth),
     .default_value = 1,
     .value = "N",
     .help = "An answer may apply up to N operators, 0 to 4, to the question's inputs or to values "
             "that the question computes. Default: 1.",
     .least = 0,
     .most = 4},
    {.name = "steps",
     .kind = OPT_INT,
     .at = offsetof(DiscoverProgram, steps),
     .default_value = 4000,
     .value = "N",
     .help = "Evaluates at most N terms for a question. Default: 4000.",
     .least = 1,
     .most = 1e8},
    {.name = "most",
     .kind = OPT_INT,
     .at = offsetof(DiscoverProgram, most),
     .value = "N",
     .help = "Takes only the N most expensive questions. Default: all.",
     .least = 0,
     .most = 1e9},
    {.name = "worse",
     .kind = OPT_REAL,
     .at = offsetof(DiscoverProgram, d.cost_ratio_most),
     .default_value = 1,
     .value = "RATIO",
     .help = "Keeps answers that are estimated to cost at most RATIO times as much as the "
             "question; the target decides in the end. Default: 1.",
     .least = 0.1,
     .most = 1000},
    {.name = "models",
     .kind = OPT_TEXT,
     .at = offsetof(DiscoverProgram, d.models),
     .value = "DIR",
     .help = "Writes each question, and each answer, to DIR as a model with the sizes of the part "
             "of the model that asked, so that a target can time them. Inputs k.. are constants "
             "there."},
    {.name = "time",
     .kind = OPT_REAL,
     .at = offsetof(DiscoverProgram, d.seconds),
     .value = "SECONDS",
     .help = "Starts no question after this time. Default: no limit.",
     .least = 0,
     .most = 1e9},
    {.name = "memory-limit",
     .kind = OPT_TEXT,
     .at = offsetof(DiscoverProgram, memory),
     .value = "SIZE",
     .help = "Memory for the terms of all questions being answered, such as 500M or 8G, divided "
             "equally among the threads; a question that takes more is given up, and counted. "
             "Default: no limit."},
    {.name = "resume",
     .kind = OPT_TEXT,
     .at = offsetof(DiscoverProgram, d.folder),
     .value = "DIR",
     .help = "Keeps finished questions in DIR and continues from what DIR already holds."},
    {.name = "shard",
     .kind = OPT_TEXT,
     .at = offsetof(DiscoverProgram, shard),
     .value = "I/N",
     .help = "Answers part I (counted from 0) of N of the questions; all parts share one "
             "folder (--resume). When all are done, the same command without this option writes "
             "the rules."},
    {.name = "seed",
     .kind = OPT_INT,
     .at = offsetof(DiscoverProgram, seed),
     .default_value = 1,
     .value = "S",
     .help = "Seed of the random sample points. Default: 1.",
     .least = 0,
     .most = 4e18},
    OPTION_JOBS(offsetof(DiscoverProgram, jobs), "Threads. Default: 1."),
    {.name = "json",
     .kind = OPT_TEXT,
     .at = offsetof(DiscoverProgram, json),
     .value = "FILE",
     .help = "Writes the statistics of the run to FILE as JSON."},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPT_FLAG,
     .at = offsetof(DiscoverProgram, quiet),
     .help = "Suppresses the progress display, the table, and notes on bodies that are not "
             "asked."},
    OPTION_VERSION(offsetof(DiscoverProgram, version)),
    OPTION_HELP(offsetof(DiscoverProgram, help)),
    {0},
};

static bool parse_options(DiscoverProgram *m, int argc, char **argv, StringList *rest, Text *help) {
    if (!options_parse(m->arena, option_table, m, argc, argv, rest, &m->error)) return false;
    if (m->version)
        options_version(help, program.name), onnx_versions(help),
            text_add(help, "  cJSON %s\n", cJSON_Version());
    return !m->help || options_document(help, &program, option_table, m->help, &m->error);
}

static void progress(void *user, int done, int total, double seconds) {
    const DiscoverProgram *m = user;
    if (m->terminal && !m->quiet)
        fprintf(stderr, "\r\033[K%d of %d questions, %.0f s", done, total, seconds);
}

static void left(void *user, const char *model, const char *body, const char *why) {
    const DiscoverProgram *m = user;
    if (!m->quiet) fprintf(stderr, "discover-rules: %s: %s is not asked: %s\n", model, body, why);
}

static bool write_out(DiscoverProgram *m, const Text *t) {
    const char *text = t->data ? t->data : "";
    if (m->out) return file_write(m->out, text, t->size, &m->error);
    return fwrite(text, 1, t->size, stdout) == t->size;
}

static bool list_questions(DiscoverProgram *m, const Questions *q) {
    Text out = text_new(m->arena);
    for (int k = 0; k < q->n; k++) question_print(&q->v[k], &out);
    return write_out(m, &out);
}

static void print_table(const DiscoverReport *r) {
    printf("questions %d, asked %d, resumed %d, answered %d\n", r->questions, r->asked, r->resumed,
           r->answered);
    if (r->large) printf("given up for lack of memory %d\n", r->large);
    printf("terms typed %llu, evaluated %llu, holes solved %llu\n", (unsigned long long)r->typed,
           (unsigned long long)r->evaluated, (unsigned long long)r->solved);
    printf("equations %llu, untrue at other sizes %llu, rules %llu\n",
           (unsigned long long)r->equations, (unsigned long long)r->untrue,
           (unsigned long long)r->rules);
    printf("%.2f s\n", r->seconds);
}

static bool write_json(DiscoverProgram *m, const DiscoverReport *r) {
    cJSON *x = cJSON_CreateObject();
    const struct {
        const char *name;
        double v;
    } totals[] = {{"questions", r->questions},
                  {"asked", r->asked},
                  {"resumed", r->resumed},
                  {"large", r->large},
                  {"answered", r->answered},
                  {"typed", (double)r->typed},
                  {"evaluated", (double)r->evaluated},
                  {"solved", (double)r->solved},
                  {"equations", (double)r->equations},
                  {"untrue", (double)r->untrue},
                  {"rules", (double)r->rules},
                  {"seconds", r->seconds}};
    for (size_t c = 0; c < sizeof totals / sizeof *totals; c++)
        cJSON_AddNumberToObject(x, totals[c].name, totals[c].v);
    char *text = cJSON_Print(x);
    bool ok = text && file_write(m->json, text, strlen(text), &m->error);
    cJSON_free(text);
    cJSON_Delete(x);
    return ok;
}

static FileUses files_given(DiscoverProgram *m) {
    FileUses u = {.arena = m->arena};
    file_use_add_list(&u, "FILE", m->d.files, FILE_READ);
    file_use_add(&u, "--profile", m->d.profile, FILE_READ);
    file_use_add(&u, "--output", m->out, FILE_WRITTEN);
    file_use_add(&u, "--json", m->json, FILE_WRITTEN);
    return u;
}

static bool command_run(DiscoverProgram *m) {
    Questions q = questions_new(m->arena);
    DiscoverReport r;
    Text out = text_new(m->arena);
    const FileUses uses = files_given(m);
    m->d.uses = &uses;
    if (!files_usable(&uses, &m->error)) return false;
    if (!discover_questions(&m->d, &q, &m->error)) return false;
    if (m->most && q.n > m->most) q.n = (int)m->most;
    if (m->list) return list_questions(m, &q);
    bool ok = discover_answers(&m->d, &q, &out, &r, &m->error);
    if (m->terminal && !m->quiet) fprintf(stderr, "\r\033[K");
    if (!ok || !write_out(m, &out)) return false;
    if (m->out && !m->quiet) print_table(&r);
    return !m->json || write_json(m, &r);
}

static void program_act(void *user, Arena *a, int argc, char **argv) {
    DiscoverProgram *m = user;
    m->arena = a;
    StringList rest = {0};
    Text help = text_new(a);
    if (!parse_options(m, argc, argv, &rest, &help)) return;
    if (m->help || m->version) {
        fputs(help.data, stdout);
        return;
    }
    if (!rest.n) {
        error_set(&m->error, E_USAGE, "FILE", "missing: a model (.onnx) or a file of questions");
        return;
    }
    m->d.files = rest;
    m->d.operators = (int)m->operators;
    m->d.depth = (int)m->depth;
    m->d.steps = (int)m->steps;
    m->d.jobs = (int)m->jobs;
    m->d.seed = (uint64_t)m->seed;
    if (!option_shard(m->shard, m->d.folder, &m->d.shard, &m->d.nshard, &m->error)) return;
    if (!option_bytes("--memory-limit", m->memory, &m->d.memory, &m->error)) return;
    m->d.progress = progress;
    m->d.left = left;
    m->d.user = m;
    command_run(m);
}

int main(int argc, char **argv) {
    DiscoverProgram m = {.terminal = isatty(2)};
    return program_main(&program, argc, argv, program_act, &m, &m.error);
}
