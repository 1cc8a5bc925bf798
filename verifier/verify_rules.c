/* verify_rules.c -- the program verify-rules: reads rules, proves or refutes each, and writes them with their verdicts. Proved rules are what optimize-model believes. */
#include "verifier/workers.h"
#include "graphs/graph.h"
#include "ops/base/options.h"
#include "rules/taso.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct Options {
    const char *out, *json, *directory, *explain, *help;
    int64_t budget, jobs, memory;
    bool no_preconditions, quiet, version;
} Options;
typedef struct Program {
    Arena *arena;
    Options o;
    RuleSet set;
    VerifyResult *result; /* verdict NONE: not reached */
    TasoRefusals refused; /* rules of TASO's files that have no counterpart */
    int done, count[4], conditional;
    bool terminal;
    Error error;
} Program;

static const ProgramText program = {
    .name = "verify-rules",
    .usage = "verify-rules FILE... [options]",
    .summary = "Proves each rule for all sizes, or refutes it by a counterexample.",
    .more = "A verdict is PROVED, where needed with the conditions under which it holds, REFUTED or UNKNOWN. What --output writes has a "
            "digest over rule, verdict and the definitions of the "
            "operators; optimize-model uses rules with a valid verdict only. The exit status is 1 when any rule is not proved.\n\n"
            "Rules as generate-rules writes them, on two processes:\n"
            "  verify-rules -j 2 candidates.rules -o verified.rules",
};

static bool parse(Program *p, int argc, char **argv, StringList *files, Text *help) {
    Options *o = &p->o;
    const OptionDef table[] = {
        {.name = "output",
         .letter = 'o',
         .kind = OPT_TEXT,
         .into = &o->out,
         .value = "FILE",
         .help = "Write the rules with their verdicts."},
        {.name = "json", .kind = OPT_TEXT, .into = &o->json, .value = "FILE", .help = "Write the verdicts as JSON."},
        {.name = "counterexample-dir",
         .kind = OPT_TEXT,
         .into = &o->directory,
         .value = "DIR",
         .help = "Write the counterexample of each refuted rule to DIR/ID.txt."},
        {.name = "explain",
         .kind = OPT_TEXT,
         .into = &o->explain,
         .value = "ID",
         .help = "Print the normal forms of the rule of this identifier or name."},
        {.name = "budget",
         .kind = OPT_INT,
         .into = &o->budget,
         .value = "N",
         .help = "Z3 resource units for each combination of block lengths.",
         .least = 1,
         .most = 4e18},
        {.name = "jobs",
         .letter = 'j',
         .kind = OPT_INT,
         .into = &o->jobs,
         .value = "N",
         .help = "Worker processes.",
         .least = 1,
         .most = 256},
        {.name = "memory",
         .kind = OPT_INT,
         .into = &o->memory,
         .value = "MB",
         .help = "Memory of each worker.",
         .least = 64,
         .most = 1 << 20},
        {.name = "no-preconditions",
         .kind = OPT_FLAG,
         .into = &o->no_preconditions,
         .help = "Take each rule as it stands: add no condition."},
        {.name = "quiet",
         .letter = 'q',
         .kind = OPT_FLAG,
         .into = &o->quiet,
         .help = "Print only rules that are not proved, and the last line."},
        OPTION_VERSION(&o->version),
        OPTION_HELP(&o->help),
        {0},
    };
    if (!options_parse(p->arena, table, argc, argv, files, &p->error)) return false;
    return !o->help || options_document(help, &program, table, o->help, &p->error);
}

/* ---- reporting */

static const char *const words[] = {"none", "PROVED", "REFUTED", "UNKNOWN"};

static void write_counterexample(Program *p, const Rule *rule, const VerifyResult *r) {
    const char *text = arena_format(p->arena, "rule %s (%s)\n%s\n", rule->name, rule->id, r->counterexample);
    const char *path = arena_format(p->arena, "%s/%s.txt", p->o.directory, rule->id);
    file_write(path, text, strlen(text), &p->error);
}
static void report(void *user, int k, const VerifyResult *r) {
    Program *p = user;
    const Rule *rule = &p->set.v[k];
    p->result[k] = *r;
    p->done++;
    p->count[r->verdict]++;
    p->conditional += r->verdict == VERDICT_PROVED && *r->condition;
    if (p->terminal) fprintf(stderr, "\r\033[K");
    if (!p->o.quiet || r->verdict != VERDICT_PROVED) {
        printf("%-7s %s %-32s %8.1f ms %5d queries", words[r->verdict], rule->id, rule->name, r->ms, r->queries);
        if (r->verdict == VERDICT_PROVED) printf("  %s", classes_text(p->arena, r->classes));
        if (*r->condition) printf(" where %s", r->condition);
        if (r->verdict == VERDICT_UNKNOWN) printf("  %s", r->why);
        printf("\n");
        if (r->counterexample) printf("%s\n", r->counterexample);
        if (r->explanation) printf("%s", r->explanation);
        fflush(stdout);
    }
    if (r->counterexample && p->o.directory) write_counterexample(p, rule, r);
    if (p->terminal) fprintf(stderr, "%d of %d", p->done, p->set.n);
}

/* ---- files */

static bool write_rules(Program *p) {
    Text t = text_new(p->arena);
    World *w = graph_world_new(NULL, 0);
    for (int k = 0; k < p->set.n; k++) {
        Rule *rule = &p->set.v[k];
        const VerifyResult *r = &p->result[k];
        rule->verdict = r->verdict;
        rule->classes = r->classes;
        rule->condition = r->verdict == VERDICT_PROVED ? r->condition : "";
        if (r->verdict == VERDICT_PROVED) rule_seal(w, p->arena, rule);
        text_add(&t, k ? "\n" : "");
        rule_print(rule, &t);
    }
    world_free(w);
    return file_write(p->o.out, t.data ? t.data : "", t.size, &p->error);
}
static void add_conditions(cJSON *list, const char *text) {
    for (const char *end; *text; text = *end ? end + 2 : end) {
        int depth = 0;
        for (end = text; *end && (depth || *end != ','); end++) depth += (*end == '(') - (*end == ')');
        char part[1000];
        snprintf(part, sizeof part, "%.*s", (int)(end - text), text);
        cJSON_AddItemToArray(list, cJSON_CreateString(part));
    }
}
static bool write_json(Program *p) {
    static const char *const verdict[] = {"unknown", "proved", "refuted", "unknown"};
    cJSON *list = cJSON_CreateArray();
    int index = 0;
    for (int k = 0; k < p->set.n; k++) {
        const Rule *rule = &p->set.v[k];
        const VerifyResult *r = &p->result[k];
        index = k && !strcmp(rule->file, p->set.v[k - 1].file) ? index + 1 : 0;
        cJSON *x = cJSON_CreateObject(), *where = cJSON_CreateArray();
        cJSON_AddNumberToObject(x, "index", index);
        cJSON_AddStringToObject(x, "id", rule->id);
        cJSON_AddStringToObject(x, "name", rule->name);
        cJSON_AddStringToObject(x, "verdict", verdict[r->verdict]);
        if (r->condition) add_conditions(where, r->condition);
        cJSON_AddItemToObject(x, "where", where);
        if (r->verdict == VERDICT_PROVED) cJSON_AddStringToObject(x, "class", classes_text(p->arena, r->classes));
        else cJSON_AddNullToObject(x, "class");
        cJSON_AddNumberToObject(x, "ms", r->ms);
        cJSON_AddNumberToObject(x, "queries", r->queries);
        if (r->counterexample) cJSON_AddStringToObject(x, "counterexample", r->counterexample);
        else cJSON_AddNullToObject(x, "counterexample");
        if (r->why && *r->why) cJSON_AddStringToObject(x, "why", r->why);
        cJSON_AddItemToArray(list, x);
    }
    char *text = cJSON_Print(list);
    bool ok = text && file_write(p->o.json, text, strlen(text), &p->error);
    cJSON_free(text);
    cJSON_Delete(list);
    return ok;
}

/* ---- */

/* Rule text, or a file of TASO's: what that has and we cannot express is unknown. */
static bool read_file(Program *p, const char *path) {
    int before = p->refused.n;
    if (!rules_load(p->arena, path, &p->set, &p->refused, &p->error)) return false;
    for (int k = before; k < p->refused.n; k++)
        printf("UNKNOWN %s: rule %d cannot be expressed: %s\n", path, p->refused.v[k].number, p->refused.v[k].reason);
    return true;
}

static bool run(Program *p, const StringList *files) {
    if (!files->n) return error_set(&p->error, E_USAGE, "verify-rules", "no file given");
    for (int k = 0; k < files->n; k++)
        if (!read_file(p, files->v[k])) return false;
    p->result = ARENA_NEW(p->arena, VerifyResult, p->set.n);
    for (int k = 0; k < p->set.n; k++) p->result[k] = (VerifyResult){.condition = "", .why = "not reached"};
    VerifyOptions o = verify_defaults();
    o.budget = (uint64_t)p->o.budget;
    o.no_preconditions = p->o.no_preconditions;
    WorkerOptions how = {.jobs = (int)p->o.jobs, .memory = (size_t)p->o.memory << 20, .explain_id = p->o.explain};
    bool ok = workers_run(p->arena, &p->set, &o, &how, report, p, &p->error);
    if (p->terminal) fprintf(stderr, "\r\033[K");
    printf("%d proved (%d with a precondition), %d refuted, %d unknown\n", p->count[VERDICT_PROVED], p->conditional,
           p->count[VERDICT_REFUTED], p->set.n + p->refused.n - p->count[VERDICT_PROVED] - p->count[VERDICT_REFUTED]);
    if (!ok && p->error.kind != E_INTERRUPTED) return false;
    return (!p->o.out || write_rules(p)) && (!p->o.json || write_json(p)) && ok && p->error.kind == E_NONE;
}
int main(int argc, char **argv) {
    Program p = {.arena = arena_new(NULL, 0), .o = {.jobs = 1, .memory = 4096}, .terminal = isatty(2)};
    StringList files = {0};
    Text help = text_new(p.arena);
    int code = 0;
    p.set.arena = p.arena;
    bool ok = parse(&p, argc, argv, &files, &help);
    if (ok && p.o.help) printf("%s", help.data);
    else if (ok && p.o.version) {
        options_version(&help, program.name);
        printf("%s  Z3 %s\n  cJSON %s\n", help.data, solver_version(), cJSON_Version());
    } else {
        ok = ok && run(&p, &files);
        if (ok && p.count[VERDICT_PROVED] < p.set.n + p.refused.n) code = 1;
    }
    if (!ok) {
        char text[800];
        error_print(&p.error, text, sizeof text);
        fprintf(stderr, "verify-rules: %s\n", text);
        code = error_exit_code(&p.error);
    }
    arena_free(p.arena);
    return code;
}
