/* verify_rules.c -- the program verify-rules. It reads rules, proves or refutes each, and writes
   them with their verdicts. optimize-model uses the proved ones. */
#include "ops/base/file.h"
#include "verifier/verify_program.h"
#include "verifier/workers.h"
#include "ops/base/file_use.h"
#include "ops/base/intern.h"
#include "ops/base/main.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const ProgramText program = {
    .name = "verify-rules",
    .usage = "verify-rules FILE... [options]",
    .summary = "Proves each rule for all sizes or refutes it with a counterexample.",
    .more =
        "A verdict is PROVED (possibly under conditions, which are printed), REFUTED or UNKNOWN. "
        "With --output each verdict carries a digest of the rule, the verdict and the definitions "
        "of its operators; optimize-model uses only rules whose verdict is still valid. The exit "
        "status is 1 if any rule is not proved.\n\nVerifying the output of generate-rules with two "
        "processes:\n  verify-rules -j 2 candidates.rules -o verified.rules",
};

/* Z3 does not start with less memory than this. */
enum { MEMORY_LEAST = 16 << 20 };
static bool take_memory(VerifyProgram *p) {
    if (!option_bytes("--memory-limit", p->o.memory_limit, &p->memory, &p->error)) return false;
    if (p->o.memory_mib) p->memory = (size_t)p->o.memory_mib << 20;
    return p->memory >= MEMORY_LEAST ||
           error_set(&p->error, E_USAGE, "--memory-limit", "expects at least 16M, not \"%s\"",
                     p->o.memory_limit);
}
static const OptionDef option_table[] = {
    {.name = "output",
     .letter = 'o',
     .kind = OPT_TEXT,
     .at = offsetof(VerifyArguments, out),
     .value = "FILE",
     .help = "Writes the rules with their verdicts to FILE. Comments before and after rules are "
             "kept, those inside a rule are not."},
    {.name = "json",
     .kind = OPT_TEXT,
     .at = offsetof(VerifyArguments, json),
     .value = "FILE",
     .help = "Writes the verdicts to FILE as JSON (format: verifier/README.md)."},
    {.name = "counterexample-dir",
     .kind = OPT_TEXT,
     .at = offsetof(VerifyArguments, counterexample_dir),
     .value = "DIR",
     .help = "Writes the counterexample of each refuted rule to DIR/ID.txt; DIR is "
             "created if it is missing."},
    {.name = "explain",
     .kind = OPT_TEXT,
     .at = offsetof(VerifyArguments, explain),
     .value = "RULE",
     .help = "Prints how the rule with this identifier or name is proved: normal forms, changes "
             "of variables, cases, and what Z3 was asked. Other rules are skipped unless -o "
             "or --json is given."},
    {.name = "obligations",
     .kind = OPT_TEXT,
     .at = offsetof(VerifyArguments, obligations),
     .value = "DIR",
     .help = "Writes each question on which a proof rests (Z3 answered unsat) to DIR/DIGEST.smt2, "
             "and which rule asks which to DIR/index.tsv."},
    {.name = "budget",
     .kind = OPT_INT,
     .at = offsetof(VerifyArguments, budget),
     .value = "N",
     .help = "Budget of Z3 resource units for each combination of axis block lengths. Default: "
             "the prover's own, and a smaller one for each condition that it tries. With this "
             "option, the best condition that the smaller budget leaves undecided is tried again "
             "with N.",
     .least = 1,
     .most = 4e18},
    OPTION_JOBS(offsetof(VerifyArguments, jobs), "Worker processes. Default: 1."),
    {.name = "memory-limit",
     .kind = OPT_TEXT,
     .at = offsetof(VerifyArguments, memory_limit),
     .default_text = "4G",
     .value = "SIZE",
     .help = "Memory of each worker process, such as 500M or 8G; a rule that takes more is "
             "UNKNOWN. Default: 4G."},
    {.name = "memory", /* the earlier name of the option, in MiB */
     .kind = OPT_INT,
     .at = offsetof(VerifyArguments, memory_mib),
     .value = "MIB",
     .least = MEMORY_LEAST >> 20,
     .most = 1 << 20},
    {.name = "no-preconditions",
     .kind = OPT_FLAG,
     .at = offsetof(VerifyArguments, no_preconditions),
     .help = "Proves each rule as it stands, without inferring further conditions."},
    {.name = "resume",
     .kind = OPT_FLAG,
     .at = offsetof(VerifyArguments, resume),
     .help = "Continues an interrupted run with the same --json or -o file, reusing its answers."},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPT_FLAG,
     .at = offsetof(VerifyArguments, quiet),
     .help = "Prints only the rules that are not proved and the summary line."},
    OPTION_VERSION(offsetof(VerifyArguments, version)),
    OPTION_HELP(offsetof(VerifyArguments, help)),
    {0},
};

static bool parse_options(VerifyProgram *p, int argc, char **argv, StringList *files, Text *help) {
    VerifyArguments *o = &p->o;
    if (!options_parse(p->arena, option_table, o, argc, argv, files, &p->error) || !take_memory(p))
        return false;
    return !o->help || options_document(help, &program, option_table, o->help, &p->error);
}

/* ---- reporting */

static const char *const verdict_words[] = {"none", "PROVED", "REFUTED", "UNKNOWN"};

/* Prints each condition with the side from which it comes. */
static void print_conditions(const VerifyResult *r) {
    const char *sep = " where ";
    const char *text = r->condition, *side = r->condition_sources;
    while (*text) {
        int n = (int)verdict_condition_length(text), m = (int)verdict_condition_length(side);
        printf("%s%.*s (%.*s)", sep, n, text, m, side);
        sep = ", ";
        text += n + (text[n] ? 2 : 0);
        side += m + (side[m] ? 2 : 0);
    }
}
static void report_one(VerifyProgram *p, int k, const VerifyResult *r) {
    const Rule *rule = &p->set.v[k];
    if (p->journal && !p->skip[k]) journal_add(p->journal, rule, r, &p->error);
    p->result[k] = *r;
    p->done++;
    p->count[r->verdict]++;
    p->conditional += r->verdict == VERDICT_PROVED && *r->condition;
    p->invalid += !strcmp(r->category, "invalid");
    if (p->terminal) fprintf(stderr, "\r\033[K");
    if (!p->o.quiet || r->verdict != VERDICT_PROVED) {
        printf("%-7s %s %-32s %8.1f ms %5d queries", verdict_words[r->verdict], rule->id,
               rule->name, r->ms, r->queries);
        if (r->verdict == VERDICT_PROVED) printf("  %s", classes_text(p->arena, r->classes));
        if (*r->all_ranks) printf("  all ranks of %s", r->all_ranks);
        if (*r->condition) print_conditions(r);
        if (*r->category) printf("  %s", r->category);
        if (r->verdict != VERDICT_PROVED && *r->why) printf("  %s", r->why);
        printf("\n");
        if (r->counterexample) printf("%s\n", r->counterexample);
        if (r->explanation) printf("%s", r->explanation);
        fflush(stdout);
    }
    if (r->counterexample && p->o.counterexample_dir) program_write_counterexample(p, rule, r);
    if (r->obligations && p->o.obligations) program_index_obligations(p, rule, r->obligations);
    if (p->terminal) fprintf(stderr, "%d of %d", p->done, p->set.n);
}

/* Reports the verdict on a rule and on all rules that are equal to it. */
static void report_verdict(void *user, int k, const VerifyResult *r) {
    VerifyProgram *p = user;
    VerifyResult same = *r;
    report_one(p, k, r);
    same.ms = 0;
    while ((k = p->again[k])) report_one(p, k, &same);
}

/* ---- files */

/* Reads a file of rules, as text or in TASO's format. A rule of TASO's that cannot be expressed is
   reported as UNKNOWN. */
static bool read_file(VerifyProgram *p, const char *path) {
    int before = p->refused.n;
    if (!rules_load(p->arena, path, &p->set, &p->refused, &p->error)) return false;
    for (int k = before; k < p->refused.n; k++)
        printf("UNKNOWN %s: rule %d cannot be expressed: %s\n", path, p->refused.v[k].number,
               p->refused.v[k].reason);
    return true;
}

/* ---- what is to be explained */

static bool explained_is_there(VerifyProgram *p) {
    for (int k = 0; k < p->set.n; k++)
        if (rule_named(&p->set.v[k], p->o.explain)) return true;
    return error_set(&p->error, E_USAGE, "--explain",
                     "no rule in the given files has the identifier or name %s", p->o.explain);
}

/* Keeps only the rule to be explained. The others are needed only if verdicts are written. */
static void keep_explained(VerifyProgram *p) {
    int n = 0;
    for (int k = 0; k < p->set.n; k++)
        if (rule_named(&p->set.v[k], p->o.explain)) p->set.v[n++] = p->set.v[k];
    p->set.n = n;
    p->refused.n = 0;
}

/* ---- the journal, and rules that are the same */

static bool open_journal(VerifyProgram *p) {
    const char *of = p->o.json ? p->o.json : p->o.out;
    if (!of && p->o.resume)
        return error_set(&p->error, E_USAGE, "--resume",
                         "needs --json or -o: the journal of verdicts is kept next to that file");
    if (!of) return true;
    const char *mode = arena_format(p->arena, "%s-%lld", p->o.no_preconditions ? "asis" : "default",
                                    (long long)p->o.budget);
    return journal_open(p->arena, arena_format(p->arena, "%s.journal", of), mode, p->o.resume,
                        &p->journal, &p->error);
}
/* Finds rules that differ only in name and comments. A verdict depends on neither, so they are
   verified once. */
static void find_equal(VerifyProgram *p) {
    Intern *seen = intern_new(p->arena);
    int *last = ARENA_NEW(p->arena, int, p->set.n + 1);
    for (int k = 0; k < p->set.n; k++) {
        Rule bare = p->set.v[k];
        Text t = text_new(p->arena);
        bare.name = "same";
        bare.section = bare.comment = "";
        bare.verdict = VERDICT_NONE;
        rule_print(&bare, &t);
        uint32_t known = intern_find(seen, t.data, t.size),
                 id = known ? known : intern_put(seen, t.data, t.size);
        p->skip[k] = known;
        if (known) p->again[last[id]] = k;
        last[id] = k;
    }
    intern_free(seen);
}
/* Reports the verdicts that the journal has. */
static void take_known(VerifyProgram *p) {
    VerifyResult r;
    for (int k = 0; k < p->set.n && p->journal && p->o.resume; k++) {
        if (p->skip[k] || !journal_find(p->journal, &p->set.v[k], &r)) continue;
        p->skip[k] = true;
        report_verdict(p, k, &r);
    }
}
/* Returns whether all rules are decided; otherwise the journal is kept. */
static bool all_decided(const VerifyProgram *p) {
    for (int k = 0; k < p->set.n; k++)
        if (p->result[k].verdict != VERDICT_PROVED && p->result[k].verdict != VERDICT_REFUTED)
            return false;
    return true;
}
static bool verify_all(VerifyProgram *p) {
    VerifyOptions o = verify_defaults();
    o.budget = (uint64_t)p->o.budget;
    o.no_preconditions = p->o.no_preconditions;
    o.obligations = p->o.obligations;
    WorkerOptions how = {.jobs = (int)p->o.jobs,
                         .memory = p->memory,
                         .skip = p->skip,
                         .explain_id = p->o.explain,
                         .obligations = p->o.obligations};
    return workers_run(p->arena, &p->set, &o, &how, report_verdict, p, &p->error);
}
static bool files_given_usable(VerifyProgram *p, const StringList *files) {
    FileUses u = {.arena = p->arena};
    file_use_add_list(&u, "FILE", *files, FILE_OPERAND);
    file_use_add(&u, "--output", p->o.out, FILE_RESULT);
    file_use_add(&u, "--json", p->o.json, FILE_WRITTEN);
    return files_usable(&u, &p->error);
}

static bool verify_files(VerifyProgram *p, const StringList *files) {
    if (!files->n)
        return error_set(&p->error, E_USAGE, "", "expected a file of rules; usage: %s",
                         program.usage);
    p->file = ARENA_NEW(p->arena, VerifyFile, files->n);
    for (int k = 0; k < files->n; k++) {
        if (!read_file(p, files->v[k])) return false;
        p->file[p->nfile++] = (VerifyFile){files->v[k], p->set.n, p->refused.n};
    }
    if (p->o.explain && !explained_is_there(p)) return false;
    if (p->o.explain && !p->o.out && !p->o.json) keep_explained(p);
    p->result = ARENA_NEW(p->arena, VerifyResult, p->set.n);
    p->skip = ARENA_NEW(p->arena, bool, p->set.n);
    p->again = ARENA_NEW(p->arena, int, p->set.n);
    for (int k = 0; k < p->set.n; k++)
        p->result[k] = (VerifyResult){.condition = "",
                                      .all_ranks = "",
                                      .condition_sources = "",
                                      .category = "",
                                      .why = "not reached"};
    if (!files_given_usable(p, files)) return false;
    if (p->o.counterexample_dir && !folder_make(p->o.counterexample_dir, &p->error)) return false;
    if (!program_open_obligations(p) || !open_journal(p)) return false;
    if (!p->o.explain) find_equal(p);
    take_known(p);
    bool ok = verify_all(p);
    if (p->terminal) fprintf(stderr, "\r\033[K");
    printf("%d proved (%d under a condition), %d refuted, %d unknown\n", p->count[VERDICT_PROVED],
           p->conditional, p->count[VERDICT_REFUTED],
           p->set.n + p->refused.n - p->count[VERDICT_PROVED] - p->count[VERDICT_REFUTED]);
    bool write = ok || p->error.kind == E_INTERRUPTED;
    bool wrote = write && (!p->o.out || program_write_rules(p)) &&
                 (!p->o.json || program_write_json(p)) &&
                 (!p->o.obligations || program_write_index(p));
    journal_close(p->journal, wrote && all_decided(p));
    if (p->invalid)
        error_set(&p->error, E_INVALID, "",
                  "%d of the rules %s not a pair of graphs; the reason is next to %s", p->invalid,
                  p->invalid == 1 ? "is" : "are", p->invalid == 1 ? "its verdict" : "each verdict");
    return wrote && ok && p->error.kind == E_NONE;
}
static void program_act(void *user, Arena *a, int argc, char **argv) {
    VerifyProgram *p = user;
    StringList files = {0};
    p->set.arena = p->arena = a;
    Text help = text_new(a);
    if (!parse_options(p, argc, argv, &files, &help)) return;
    if (p->o.help) printf("%s", help.data);
    else if (p->o.version) {
        options_version(&help, program.name);
        printf("%s  Z3 %s\n  cJSON %s\n", help.data, solver_version(), cJSON_Version());
    } else verify_files(p, &files);
}
/* If memory runs out, the verdicts reached so far are in the journal. */
int main(int argc, char **argv) {
    VerifyProgram p = {.terminal = isatty(2)};
    int code = program_main(&program, argc, argv, program_act, &p, &p.error);
    bool all = p.count[VERDICT_PROVED] == p.set.n + p.refused.n;
    return code || all || p.o.help || p.o.version ? code : 1;
}
